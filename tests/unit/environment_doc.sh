#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/ENVIRONMENT.md is what `gradprof env --markdown` prints.   environment_doc.sh GRADPROF DOCUMENT
if ! "$1" env --markdown | diff "$2" -; then
    echo "run: gradprof env --markdown > docs/ENVIRONMENT.md" >&2
    exit 1
fi
