# SPDX-License-Identifier: MIT
"""Runs a script with the PyTorch of this system, plain or under the profiler, in a folder of its own.
Exit 77 where there is no PyTorch."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = os.environ["GRADPROF_LIBRARY"]
REPORT = os.environ["GRADPROF_REPORT"]
PYTHON = os.environ.get("GRADPROF_TORCH_PYTHON", "/usr/bin/python3")


class TorchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gradprof-torch-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_script(self, name, *arguments, profiled=True, code=0, **environment):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith("GRADPROF_")} | environment
        if profiled:
            variables["LD_PRELOAD"] = LIBRARY
        result = subprocess.run([PYTHON, HERE / "scripts" / name, *map(str, arguments)],
                                cwd=self.folder, env=variables, timeout=300, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        self.stderr = result.stderr
        return result.stdout

    def rows(self, sql, *values, database="run.db"):
        with sqlite3.connect(self.folder / database) as connection:
            return connection.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def meta(self, key):
        return self.one("SELECT max(value) FROM meta WHERE key = ?", key)

    def report(self, *arguments):
        result = subprocess.run([REPORT, "run.db", *arguments], cwd=self.folder, timeout=120,
                                text=True, capture_output=True, check=True)
        return result.stdout

    def document(self, *arguments):
        return json.loads(self.report("--format", "json", *arguments))


def main():
    probe = subprocess.run([PYTHON, "-c", "import torch, torchvision"], capture_output=True,
                           check=False)
    if probe.returncode:
        print(f"no PyTorch for {PYTHON} (python3-torch, python3-torchvision)")
        sys.exit(77)
    unittest.main()
