#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libhostcuda.so exports what its two headers declare, no more and no less, without version nodes
(which would hide a preloaded wrapper), and needs libc and its loader alone.

usage: hostcuda_exports.py LIBHOSTCUDA HEADER...
"""
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(library, headers):
    exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
    declared = set()
    for header in headers:
        with open(header, encoding="utf-8") as text:
            declared |= set(re.findall(r"^(?:cudaError_t|const char \*|int) ?((?:host)?cuda\w+)\(",
                                       text.read(), re.MULTILINE))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))
    # Sanitizers bring their own runtime.
    needed = [name for name in needed if not re.match(r"lib(asan|ubsan|tsan|clang_rt)", name)]
    problems = ["exported, not declared: " + name for name in sorted(exported - declared)]
    problems += ["declared, not exported: " + name for name in sorted(declared - exported)]
    problems += ["needs " + name for name in needed if name not in ("libc.so.6", "ld-linux-x86-64.so.2")]
    if len(declared) < 50:
        problems.append("only %d declarations found" % len(declared))
    print("\n".join(problems) or "%d symbols" % len(exported))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
