# SPDX-License-Identifier: MIT
"""Turns a text file into a C source that defines it as a string: embed_text.py IN OUT SYMBOL HEADER."""
import sys


def c_string(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'    "{escaped}"'


def main() -> None:
    source, target, symbol, header = sys.argv[1:]
    with open(source, encoding="ascii") as stream:
        body = "\n".join(c_string(line) for line in stream)
    with open(target, "w", encoding="ascii") as stream:
        stream.write(f'#include "{header}"\n\n')
        stream.write(f"const char {symbol}[] =\n{body};\n")


main()
