#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plants one breach of each rule in a copy of a tiny tree and expects source_rules.py to name it."""
import os
import subprocess
import sys
import tempfile

HEAD = "/* SPDX-License-Identifier: MIT */\n"
CASES = {
    "samples/a.c": ('#include "libgradprof/store/db.h"\n', "includes only gradprof/gradprof.h"),
    "viewer/a.c": ('#include "libgradprof/core/state.h"\n', "includes only libgradprof/store/"),
    "libgradprof/core/a.c": ('#include "viewer/load.h"\n', "neither engine nor viewer"),
    "libgradprof/core/b.c": ("#include <sqlite3.h>\n", "belongs to libgradprof/store/db"),
    "engine/a.c": ("\tint x;\n", "tab"),
    "engine/b.c": ("int x; /* TODO */\n", "unfinished work"),
    "engine/c.h": ("int x;\n", "no include guard"),
    "engine/d.c": ("int x;\n" * 800, "one responsibility"),
}


def run(rules, root):
    return subprocess.run([sys.executable, rules, root], capture_output=True, text=True)


def main():
    rules = sys.argv[1]
    failures = 0
    for path, (text, expected) in CASES.items():
        with tempfile.TemporaryDirectory() as root:
            for i in range(12):
                with open(os.path.join(root, f"ok{i}.c"), "w", encoding="utf-8") as out:
                    out.write(HEAD + "int x;\n")
            if run(rules, root).returncode != 0:
                print("a clean tree was refused:", run(rules, root).stdout)
                failures += 1
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                out.write(HEAD + text)
            result = run(rules, root)
            if result.returncode != 1 or expected not in result.stdout or path.split(".")[0] not in result.stdout:
                print(f"{path}: expected '{expected}', got {result.returncode}: {result.stdout}")
                failures += 1
    print(f"{len(CASES)} planted breaches, {failures} not found")
    sys.exit(1 if failures else 0)


main()
