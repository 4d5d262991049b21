#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: runtime_kinds.py PROGRAM LIBGRADPROF   Runs the program under the profiler and compares
run.db with what the program itself counted. Exit 77 without a GPU."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

PINNED = 5


def check(what, got, want):
    print(f"{'ok  ' if got == want else 'FAIL'} {what}: {got}" + ("" if got == want else f", expected {want}"))
    return got == want


def main():
    program, library = (os.path.abspath(p) for p in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, LD_PRELOAD=library, GRADPROF_QUIET="1")
        run = subprocess.run([program], cwd=folder, env=env, capture_output=True, text=True)
        if run.returncode == 77:
            print(run.stdout.strip())
            sys.exit(77)
        if run.returncode:
            sys.exit(f"{program} failed under the profiler: {run.stderr}")
        told = json.loads(run.stdout)
        db = sqlite3.connect(os.path.join(folder, "run.db"))

        def one(sql):
            return db.execute(sql).fetchone()[0]

        good = [
            check("peak of device bytes", one("SELECT peak_bytes FROM device WHERE id = 0"), told["peak_bytes"]),
            check("live at exit", one("SELECT sum(size_bytes) FROM allocation WHERE free_seq IS NULL"),
                  told["exit_bytes"]),
            check("pinned host bytes", one("SELECT sum(size_bytes) FROM allocation "
                                           f"WHERE (traits >> 10 & 63) = {PINNED}"), told["pinned_bytes"]),
            check("refused bytes", one("SELECT asked_bytes FROM failure"), told["refused_bytes"]),
            check("refused error", one("SELECT error FROM failure"), told["refused_error"]),
            check("allocations", one("SELECT count(*) FROM allocation"), 7),
            check("integrity", one("PRAGMA integrity_check"), "ok"),
        ]
        # The driver hands out granules and commits managed memory late, so this one is only shown.
        print(f"note cudaMemGetInfo fell by {told['driver_delta_bytes']} for {told['device_bytes']} asked")
        sys.exit(0 if all(good) else 1)


main()
