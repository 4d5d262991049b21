#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rules of the source tree that no compiler checks. docs/ARCHITECTURE.md explains each.

usage: source_rules.py ROOT        exit 0: all hold; 1: each breach on a line, file:line: rule
"""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# Vendor header -> the file pair (path without extension) that may include it.
VENDOR_HEADERS = {
    r"sqlite3\.h": {"libgradprof/store/db"},
    r"libunwind\.h": {"libgradprof/stack/unwind"},
    r"zlib\.h": None,
    r"jansson\.h": None,  # one pair, wherever it is
    r"(elfutils/libdw(fl)?|dwarf|libelf|gelf)\.h": None,
    r"(oneapi/dnnl/|dnnl).*\.h": None,
    r"(cuda|cuda_runtime|cuda_runtime_api|cupti|cudnn.*|cublas.*|nvToolsExt|nvtx3/.*)\.h": None,
}


def sources(root):
    try:
        out = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files"], check=True,
                             capture_output=True, text=True).stdout.split("\n")
        files = [f for f in out if f]
    except (OSError, subprocess.CalledProcessError):
        files = [os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs
                 if not os.path.relpath(d, root).startswith(("build", ".git"))]
    return [f for f in sorted(files) if f.endswith((".c", ".h", ".cc")) and
            os.path.exists(os.path.join(root, f))]


def may_include(path, header, project_files):
    """The dependency rule between the folders; None when allowed, else the reason."""
    part = path.split("/")[0]
    target = header if header in project_files else None
    if part in ("engine", "samples"):
        if header.startswith("gradprof/"):
            return None if header == "gradprof/gradprof.h" else "only gradprof/gradprof.h is public"
        if header.startswith(("libgradprof/", "viewer/")):
            return f"{part}/ includes only gradprof/gradprof.h of the profiler"
    if part == "viewer" and (header.startswith(("engine/", "samples/", "ag/")) or
                             (header.startswith("libgradprof/") and
                              not header.startswith("libgradprof/store/"))):
        return "viewer/ includes only libgradprof/store/"
    if part == "libgradprof" and header.startswith(("engine/", "samples/", "viewer/", "ag/")):
        return "libgradprof/ includes neither engine nor viewer"
    if path.startswith("libgradprof/store/") and target and \
            not target.startswith(("libgradprof/store/", "libgradprof/log/format.h")):
        return "the store stands alone: only its own files and log/format.h"
    return None


def check_includes(root, files):
    breaches, users = [], {}
    project = set(files)
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                header = match.group(1)
                reason = may_include(path, header, project)
                if reason:
                    breaches.append(f"{path}:{number}: {reason} (includes {header})")
                for pattern in VENDOR_HEADERS:
                    if re.fullmatch(pattern, header) and not path.startswith("tests/"):
                        users.setdefault(pattern, {}).setdefault(os.path.splitext(path)[0], number)
    for pattern, pairs in users.items():
        allowed = VENDOR_HEADERS[pattern]
        if allowed is not None:
            breaches += [f"{pair}: {pattern} belongs to {', '.join(allowed)}" for pair in pairs
                         if pair not in allowed]
        elif len(pairs) > 1:
            breaches.append(f"{pattern}: included by {len(pairs)} file pairs: {', '.join(sorted(pairs))}")
    return breaches


def check_text(root, files):
    breaches = []
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8") as text:
            lines = text.read().split("\n")
        if "SPDX-License-Identifier: MIT" not in lines[0]:
            breaches.append(f"{path}:1: no SPDX line")
        if len(lines) > 701:
            breaches.append(f"{path}: {len(lines) - 1} lines; a file has one responsibility (700 at most)")
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                breaches.append(f"{path}:{number}: tab")
            if line != line.rstrip():
                breaches.append(f"{path}:{number}: space at the end of the line")
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                breaches.append(f"{path}:{number}: unfinished work goes into an issue, not into the source")
        if path.endswith(".h") and not re.search(r"^#ifndef [A-Z0-9_]+_H_?$", "\n".join(lines), re.M):
            breaches.append(f"{path}: no include guard")
    return breaches


def main():
    root = sys.argv[1]
    files = sources(root)
    if len(files) < 10:
        sys.exit(f"source_rules.py: only {len(files)} C files under {root}: wrong folder?")
    breaches = check_includes(root, files) + check_text(root, files)
    print("\n".join(breaches) if breaches else f"{len(files)} files, every rule holds")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
