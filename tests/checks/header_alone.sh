#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: header_alone.sh ROOT CC...   Each header compiles alone, twice in one file; the public one as
# strict C99 and, when a C++ compiler is there, as C++ too.
set -eu
root=$1
shift
bad=0
count=0
try() { # try LANGUAGE-OPTIONS HEADER COMPILER...
    options=$1 header=$2
    shift 2
    count=$((count + 1))
    # shellcheck disable=SC2086
    printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$header" "$header" |
        "$@" $options -Wall -Wextra -Werror -Wundef -I"$root" -I"$root/engine/include" \
            -I"$root/libgradprof/include" -fsyntax-only - || {
        echo "does not compile alone: $header ($options)"
        bad=$((bad + 1))
    }
}
cd "$root"
for header in $(find libgradprof engine viewer samples -name '*.h' | sort); do
    # Headers whose whole purpose is a vendor's types need that vendor's package.
    if grep -qE '^#include <(elfutils|dnnl|oneapi|jansson|sqlite3|libunwind)' "$header" &&
        ! printf '#include "%s"\n' "$header" | "$@" -std=gnu11 -xc -D_GNU_SOURCE -I. -Iengine/include \
            -Ilibgradprof/include -fsyntax-only - 2>/dev/null; then
        echo "left out (its library is not installed): $header"
        continue
    fi
    try '-std=gnu11 -xc -D_GNU_SOURCE -Wno-unused-parameter' "$header" "$@"
done
try '-std=c99 -pedantic -xc' libgradprof/include/gradprof/gradprof.h "$@"
try '-std=gnu11 -xc' engine/include/ag/ag.h "$@"
if command -v c++ >/dev/null; then
    try '-std=c++11 -pedantic -xc++' libgradprof/include/gradprof/gradprof.h c++
fi
echo "$count header compilations, $bad failed"
[ "$bad" -eq 0 ] && [ "$count" -gt 10 ]
