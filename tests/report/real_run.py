# SPDX-License-Identifier: MIT
"""A sample under the preloaded profiler, and its report: what the tests of real runs share. Skipped where
the samples are not built."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness
from test_sums import Ledger, Sums

LIBRARY = os.environ.get("GRADPROF_LIBRARY", "")
SAMPLES = pathlib.Path(os.environ.get("GRADPROF_SAMPLES", "/nonexistent"))


def line_of(program, text):
    """Number of the line of samples/<program>.c that holds `text`."""
    lines = (harness.SOURCE_ROOT / "samples" / f"{program}.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


class RealRun(Sums):
    compute = "skip"

    # the golden databases have their own test
    test_every_database = test_peak_is_the_highest = None

    @classmethod
    def setUpClass(cls):
        if not pathlib.Path(LIBRARY).exists() or not (SAMPLES / "sample_detach").exists():
            raise unittest.SkipTest("the samples or libgradprof.so are not built")
        cls.temporary = tempfile.TemporaryDirectory(prefix="gradprof-real-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.documents = {}

    def environment(self, database, **more):
        return {**os.environ, "LD_PRELOAD": LIBRARY, "GRADPROF_DB": database, "GRADPROF_QUIET": "1",
                **more}

    def sample(self, name, *arguments, status=0, **environment):
        """Runs a sample; its own printed byte counts."""
        result = subprocess.run([SAMPLES / name, f"--compute={self.compute}", "--device=host",
                                 *arguments], cwd=self.folder,
                                env=self.environment("s.db", **environment),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=500,
                                check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return [int(number.replace(",", ""))
                for number in re.findall(rb"\(([\d,]+) bytes\)".decode(), result.stdout.decode())]

    def checked(self, *at):
        document = self.document(*at, "s.db")
        ledger = Ledger(self.folder / "s.db")
        self.check_document(document, ledger)
        for account in ("moment", "peak", "end"):
            self.assertEqual(document[account]["attributed_percent"], 100.0, account)
            self.assertEqual(document[account]["unattributed_bytes"], 0, account)
        self.assertEqual(document["problems"], [])
        self.assertEqual(document["run"]["counters"], {})
        return document

    def root(self, document, name):
        return next(r for r in document["roots"] if r["name"] == name)

    def step_bytes(self, document):
        return [s["end_bytes"] for s in document["steps"]]
