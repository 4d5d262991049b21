# SPDX-License-Identifier: MIT
"""Shared by the preload tests: runs a host program in an empty folder, with libgradprof.so preloaded,
and reads the database it left."""

import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

LIBRARY = os.environ["GRADPROF_TEST_LIBRARY"]
HOSTS = pathlib.Path(os.environ["GRADPROF_TEST_HOSTS"])
LAUNCHER = os.environ["GRADPROF_TEST_LAUNCHER"]
SANITIZER = os.environ.get("GRADPROF_TEST_SANITIZER", "none")
PYTHON = "/usr/bin/python3"


def clean_environment():
    """The tests' own environment without what would change a run."""
    drop = ("GRADPROF_", "HOSTCUDA_", "FAKE_", "RANK", "LD_PRELOAD")
    result = {key: value for key, value in os.environ.items() if not key.startswith(drop)}
    # the sanitizer's runtime comes with the host program, but after the preloaded library
    result["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
    result["UBSAN_OPTIONS"] = "halt_on_error=1"
    result["TSAN_OPTIONS"] = "halt_on_error=1"
    return result


class Run:
    def __init__(self, result, folder):
        self.status = result.returncode
        self.out = result.stdout.decode()
        self.err = result.stderr.decode()
        self.folder = folder

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


class PreloadTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gradprof-preload-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_host(self, program, *arguments, preload=True, env=None, timeout=120, stdin=None,
                 folder=None):
        """`program`: one of hosts/, or a path."""
        path = str(program) if "/" in str(program) else str(HOSTS / program)
        environment = clean_environment()
        if preload:
            environment["LD_PRELOAD"] = LIBRARY
        environment.update(env or {})
        result = subprocess.run([path, *map(str, arguments)], cwd=folder or self.folder,
                                env=environment, timeout=timeout, stdin=stdin or subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return Run(result, self.folder)

    def recover(self, name="run.db"):
        result = self.run_host("recover_tool", name, preload=False)
        self.assertEqual(result.status, 0, result.err)
        return [int(word) for word in result.out.split()]

    def query(self, sql, name="run.db"):
        connection = sqlite3.connect(f"file:{self.folder / name}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def counters(self, name="run.db"):
        return dict(self.query("SELECT name, value FROM counter", name))

    def meta(self, name="run.db"):
        return dict(self.query("SELECT key, value FROM meta", name))

    def assert_sound(self, name="run.db"):
        self.assertEqual(self.query("PRAGMA integrity_check", name), [("ok",)])

    def assert_unsanitized(self, what):
        if SANITIZER != "none":
            self.skipTest(f"{what} is not built with the sanitizer")


def main():
    """Exit status 77 when every test was skipped, with the reasons on stderr."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        raise SystemExit(1)
    raise SystemExit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
