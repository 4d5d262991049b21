# SPDX-License-Identifier: MIT
"""gradprof run: sets the preload, checks that it took, passes the exit on."""

import os
import signal
import subprocess
import unittest

import harness


class LauncherTest(harness.PreloadTest):
    def launch(self, *arguments, env=None):
        return self.run_host(harness.LAUNCHER, *arguments, preload=False, env=env)

    def test_records(self):
        run = self.launch("run", "--", harness.HOSTS / "leave")
        self.assertEqual(run.status, 5)
        self.assertEqual(run.files(), ["run.db"])
        self.assertEqual(run.err, "gradprof: peak 1000 bytes; see: gradprof-report run.db\n")

    def test_names_the_database(self):
        run = self.launch("run", "-o", "mine.db", harness.HOSTS / "leave")
        self.assertEqual((run.status, run.files()), (5, ["mine.db"]))

    def test_passes_signals_on(self):
        for how, number in (("abort", signal.SIGABRT), ("kill", signal.SIGKILL)):
            run = self.launch("run", harness.HOSTS / "leave", how)
            self.assertEqual(run.status, -number)

    def test_forwards_a_signal(self):
        self.assert_unsanitized("sh")
        process = subprocess.Popen(
            [harness.LAUNCHER, "run", "/bin/sh", "-c",
             "trap 'exit 44' TERM; echo ready; while :; do sleep 0.05; done"],
            stdout=subprocess.PIPE, env=harness.clean_environment(), cwd=self.folder)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 44)
        process.stdout.close()

    def test_keeps_an_earlier_preload(self):
        self.assert_unsanitized("sh")
        run = self.launch("run", "/bin/sh", "-c", "echo $LD_PRELOAD; echo ${GRADPROF_LAUNCHER-gone}",
                          env={"LD_PRELOAD": "libm.so.6"})
        self.assertEqual(run.out, f"{os.path.realpath(harness.LIBRARY)}:libm.so.6\ngone\n")

    def test_static_program(self):
        if not (harness.HOSTS / "static").exists():
            self.skipTest("no static C library")
        run = self.launch("run", harness.HOSTS / "static")
        self.assertEqual((run.status, run.out), (7, "static\n"))
        self.assertEqual(run.err, f"gradprof: the profiler was not loaded into "
                                  f"{harness.HOSTS / 'static'}: it is a static executable, which "
                                  f"reads no LD_PRELOAD; nothing is recorded\n")

    def test_commands_that_cannot_run(self):
        for command, status in (("no-such-program", 127), ("/etc/passwd", 126), ("/etc", 126)):
            run = self.launch("run", command)
            self.assertEqual(run.status, status, run.err)
            self.assertRegex(run.err, rf"^gradprof: cannot run {command}: [^\n]*\n$")

    def test_usage(self):
        for arguments in ((), ("nonsense",), ("run",), ("run", "-x", "true"), ("run", "-o")):
            run = self.launch(*arguments)
            self.assertEqual((run.status, run.out), (2, ""))
            self.assertRegex(run.err, r"^gradprof: [^\n]*\n$")
        self.assertIn("usage:", self.launch("--help").out)

    def test_script_without_interpreter_line(self):
        self.assert_unsanitized("sh")
        script = self.folder / "script"
        script.write_text("exit 8\n")
        script.chmod(0o755)
        self.assertEqual(self.launch("run", "./script").status, 8)


if __name__ == "__main__":
    harness.main()
