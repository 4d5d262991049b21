#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds up meson's testlog.json: prints "PASSED FAILED SKIPPED", and each skip's reason to stderr."""
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
counts = {"passed": 0, "failed": 0, "skipped": 0}
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        test = json.loads(line)
        result = test["result"]
        kind = "passed" if result in PASSED else "skipped" if result == "SKIP" else "failed"
        counts[kind] += 1
        if kind == "skipped":
            text = (test.get("stderr") or "") + (test.get("stdout") or "")
            reason = text.strip().splitlines()
            print(f"skipped: {test['name']}: {reason[-1] if reason else 'no reason given'}", file=sys.stderr)
print(counts["passed"], counts["failed"], counts["skipped"])
