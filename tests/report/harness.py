# SPDX-License-Identifier: MIT
"""Shared by the tests of gradprof-report: a folder with the golden databases, and a way to run the
program there. GRADPROF_REPORT names the binary; paths in the output are relative to that folder."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import make_golden

HERE = pathlib.Path(__file__).resolve().parent
SOURCE_ROOT = HERE.parents[1]
REPORT = os.environ.get("GRADPROF_REPORT", "gradprof-report")
NAMES = [function.__name__ for function in make_golden.GOLDEN]


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="gradprof-report-")
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "tests").symlink_to(SOURCE_ROOT / "tests")
        make_golden.make(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_report(self, *arguments, env=None):
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        environment.update(env or {})
        return subprocess.run([REPORT, *arguments], cwd=self.folder, env=environment, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)

    def text(self, *arguments):
        result = self.run_report(*arguments)
        self.assertEqual(result.returncode, 0, (arguments, result.stderr))
        self.assertEqual(result.stderr, b"", arguments)
        return result.stdout.decode()

    def document(self, *arguments):
        return json.loads(self.text(*arguments, "--format", "json"))

    def assert_refused(self, arguments, *parts):
        """Exit 2, nothing on stdout, one line on stderr that holds every part."""
        result = self.run_report(*arguments)
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 2, (arguments, error))
        self.assertEqual(result.stdout, b"", arguments)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertTrue(error.startswith("gradprof-report: "), error)
        for part in parts:
            self.assertIn(part, error, arguments)
        return error
