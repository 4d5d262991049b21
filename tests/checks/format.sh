#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: format.sh ROOT   Every C file is as .clang-format has it (clang-format 14, Debian 12's).
set -eu
cd "$1"
case $(clang-format --version) in
*"version 14."*) ;;
*)
    echo "clang-format 14 is needed (other versions lay out differently); found: $(clang-format --version)"
    exit 77
    ;;
esac
find libgradprof engine viewer samples tests \( -name '*.c' -o -name '*.h' \) -print | sort |
    xargs clang-format --dry-run -Werror --ferror-limit=1
