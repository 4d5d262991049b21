# SPDX-License-Identifier: MIT
"""Turns text files, one after the other, into a C source that defines them as a string:
embed_text.py IN... OUT SYMBOL HEADER."""
import sys


def c_string(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'    "{escaped}"'


def main() -> None:
    *sources, target, symbol, header = sys.argv[1:]
    lines: list[str] = []
    for source in sources:
        with open(source, encoding="ascii") as stream:
            lines += [c_string(line) for line in stream]
    body = "\n".join(lines)
    with open(target, "w", encoding="ascii") as stream:
        stream.write(f'#include "{header}"\n\n')
        stream.write(f"const char {symbol}[] =\n{body};\n")


main()
