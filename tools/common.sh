# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Shared by tools/quickstart and tools/test: messages, packages, build. Sourced, never run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each step needs, as Debian package names. docs/HACKING.md says what each is for.
packages_build=(gcc libc6-dev meson ninja-build pkg-config libsqlite3-dev libdnnl-dev libunwind8
    libdw-dev libjansson-dev zlib1g-dev)
packages_test=(g++ clang clang-format libclang-rt-14-dev libcmocka-dev sqlite3 valgrind python3
    python3-jsonschema python3-numpy python3-torch python3-torchvision libopenblas0-pthread mandoc
    shellcheck git util-linux)

say() {
    if [ -t 1 ]; then printf '\n\033[1m== %s\033[0m\n' "$*"; else printf '\n== %s\n' "$*"; fi
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# missing_packages NAME...: those that dpkg does not know as installed, one a line.
missing_packages() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
            printf '%s\n' "$name"
    done
}

# need_packages NAME...: install what is missing, as root or through sudo.
need_packages() {
    local missing as_root=()
    command -v dpkg-query >/dev/null ||
        die "this is no Debian system; install what docs/HACKING.md lists, then run with --no-install"
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "packages are missing and neither root nor sudo is at hand. As root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq || die "apt-get update failed; is a package mirror reachable?"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null ||
        die "apt-get could not install: ${missing[*]}"
}

# build FOLDER MESON-OPTION...: configure if needed, then compile. $CC chooses the compiler.
build() {
    local folder=$1
    shift
    if [ -f "$folder/build.ninja" ]; then
        meson configure "$folder" "$@" >/dev/null
    else
        meson setup "$folder" "$top" "$@" >"$folder.log" 2>&1 || {
            cat "$folder.log" >&2
            die "meson setup failed"
        }
        sed -n '/^gradprof/,$p' "$folder.log"
    fi
    ninja -C "$folder" >"$folder.log" 2>&1 || {
        grep -vE '^\[[0-9]+/[0-9]+\] (Compiling|Linking|Generating)' "$folder.log" >&2
        die "the build in $folder failed"
    }
    grep -A4 'warning:' "$folder.log" || true
    rm -f "$folder.log"
}
