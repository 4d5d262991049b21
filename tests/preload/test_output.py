# SPDX-License-Identifier: MIT
"""Where recordings go, what happens to older ones, and what is said when there is no place."""

import contextlib
import os
import subprocess
import unittest

import harness


class OutputTest(harness.PreloadTest):
    def leave(self, how="return", **arguments):
        return self.run_host("leave", how, **arguments)

    def test_older_recording_is_kept_once(self):
        self.leave()
        first = self.meta()["run_id"]
        run = self.leave()
        self.assertEqual(run.files(), ["run.db", "run.db.old"])
        self.assertEqual(self.meta("run.db.old")["run_id"], first)
        second = self.meta()["run_id"]
        self.assertNotEqual(second, first)
        self.leave()
        self.assertEqual(self.meta("run.db.old")["run_id"], second)

    def test_leftover_of_a_killed_run_is_kept_with_its_log(self):
        self.leave("kill")
        run = self.leave()
        self.assertIn("run.db.old-log", run.files())
        found, _, imported, _, _ = self.recover("run.db.old")
        self.assertEqual(found, 1)
        self.assertGreater(imported, 0)
        self.assertEqual(self.query("SELECT size_bytes FROM allocations ORDER BY id", "run.db.old"),
                         [(600,), (400,)])

    def test_patterns(self):
        run = self.leave(env={"GRADPROF_DB": "out-%r.db", "RANK": "3"})
        self.assertEqual(run.files(), ["out-3.db"])
        self.assertIn("see: gradprof-report out-3.db", run.err)

    def test_rank_is_in_the_default_name(self):
        run = self.leave(env={"OMPI_COMM_WORLD_RANK": "12"})
        self.assertEqual(run.files(), ["run.rank12.db"])

    def test_folder_that_is_not_there(self):
        run = self.leave(env={"GRADPROF_DB": "missing/run.db"})
        self.assertEqual((run.status, run.files()), (5, []))
        self.assertEqual(run.err, "gradprof: cannot record to missing/run.db: No such file or "
                                  "directory; nothing is recorded\n")

    def test_folder_that_cannot_be_written(self):
        if os.geteuid() == 0:
            folder = "/proc/self" # where even root creates nothing
        else:
            self.folder.chmod(0o500)
            folder = self.folder
        run = self.leave(folder=folder)
        self.assertEqual(run.status, 5)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertRegex(run.err, r"^gradprof: cannot record to run\.db: .*; nothing is recorded$")

    def test_bad_values_are_told_and_the_program_runs(self):
        run = self.leave(env={"GRADPROF_UNWIND": "fast", "GRADPROF_DBB": "x"})
        self.assertEqual(run.status, 5)
        self.assertEqual(sorted(run.err.splitlines()[:2]), [
            "gradprof: GRADPROF_DBB is no variable of gradprof; did you mean GRADPROF_DB?",
            "gradprof: GRADPROF_UNWIND=fast is not understood (allowed: auto, libunwind, libgcc, "
            "fp, off); using auto"])
        self.assertEqual(run.files(), ["run.db"])

    @contextlib.contextmanager
    def mounted(self, kind, options):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a file system")
        folder = self.folder / kind
        folder.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", kind, "-o", options, kind, folder], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(f"no {kind} can be mounted here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)

    def test_full_disk(self):
        for size, said in (("100k", "cannot make"), ("3m", "run.db")):
            with self.mounted("tmpfs", f"size={size}") as folder:
                run = self.run_host("threads", 2, 100000, 0, folder=folder)
                self.assertEqual((run.status, run.out), (0, ""), run.err)
                self.assertIn(said, run.err)
                self.assertLessEqual(len(run.err.splitlines()), 2, run.err)

    def test_file_system_that_guarantees_no_space(self):
        with self.mounted("ramfs", "mode=0755") as folder:
            run = self.leave(folder=folder)
            self.assertEqual(run.status, 5, run.err)
            self.assertEqual(self.meta("ramfs/run.db")["log"], "memory")
            self.assertEqual(self.query("SELECT count(*) FROM allocation", "ramfs/run.db"), [(2,)])
        self.leave()
        self.assertEqual(self.meta()["log"], "file")

    def test_many_at_once_in_one_folder(self):
        environment = harness.clean_environment()
        environment["LD_PRELOAD"] = harness.LIBRARY
        processes = [subprocess.Popen([harness.HOSTS / "leave"], cwd=self.folder, env=environment,
                                      stderr=subprocess.PIPE) for _ in range(12)]
        for process in processes:
            _, error = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 5)
            self.assertRegex(error.decode(),
                             r"^gradprof: peak [^\n]*; see: gradprof-report run(\.\d+)?\.db\n$")
        for path in self.folder.iterdir():
            self.assertNotIn("-log", path.name)
            self.assert_sound(path.name)


if __name__ == "__main__":
    harness.main()
