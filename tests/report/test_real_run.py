# SPDX-License-Identifier: MIT
"""The samples under the preloaded profiler, and what the report says of them: every published figure to
the byte, everything attributed, everything adding up. Skipped where the samples are not built.
--compute=real repeats the rows that a small machine can compute."""

import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import harness
from real_run import SAMPLES, RealRun, line_of
from test_sums import Ledger

PARAMETERS, INPUT, OUTPUT, GRAPH = 244403360, 616562688, 4096000, 3173515264
HELD, STEP_ONE, STEP_MORE = 865062048, 4038577312, 3790077952

# One forward at batch 1024 (PyTorch 2.11 on a GPU): (node, slot) -> saved slots, bytes in them.
PUBLISHED = {
    ("AddmmBackward0", "mat1"): (3, 71303168),
    ("AddmmBackward0", "mat2"): (3, 234487808),
    ("ReluBackward0", "result"): (7, 2020081664),
    ("NativeDropoutBackward0", "result1"): (2, 13631488),
    ("AdaptiveAvgPool2DBackward0", "self"): (1, 37748736),
    ("MaxPool2DWithIndicesBackward0", "result1"): (3, 723517440),
    ("MaxPool2DWithIndicesBackward0", "self"): (3, 1543503872),
    ("ConvolutionBackward0", "input"): (5, 1383596032),
    ("ConvolutionBackward0", "weight"): (5, 9874176),
}
OPERATIONS = {
    "ConvolutionBackward0": 5, "ReluBackward0": 7, "MaxPool2DWithIndicesBackward0": 3,
    "AdaptiveAvgPool2DBackward0": 1, "ViewBackward0": 1, "NativeDropoutBackward0": 2,
    "AddmmBackward0": 3, "TBackward0": 3, "AccumulateGrad": 16,
}


class SampleRuns(RealRun):
    def test_detach(self):
        self.assertEqual(self.sample("sample_detach", "--detach=on"), [HELD])
        document = self.checked()
        self.assertEqual(self.step_bytes(document), [HELD])
        self.assertEqual(document["graph"]["nodes"], 0)
        self.assertEqual(self.root(document, "parameters")["retained_bytes"], PARAMETERS)
        self.assertEqual(self.root(document, "x")["retained_bytes"], INPUT)
        self.assertEqual(self.root(document, "y")["retained_bytes"], OUTPUT)

    def test_no_detach(self):
        self.assertEqual(self.sample("sample_detach", "--detach=off"), [STEP_ONE])
        document = self.checked()
        self.assertEqual(self.step_bytes(document), [STEP_ONE])
        root = self.root(document, "y")
        self.assertEqual(root["retained_bytes"], GRAPH + OUTPUT)
        self.assertEqual((root["graphs"], root["nodes"], root["keeps_old_graphs"]), (1, 41, False))
        self.assertEqual({(n["op"], n["slot"]): (n["count"], n["bytes"])
                          for n in document["nodes"]}, PUBLISHED)
        self.assertEqual({o["op"]: o["nodes"] for o in document["graph"]["ops"]}, OPERATIONS)

    def test_no_grad(self):
        self.assertEqual(self.sample("sample_no_grad"), [HELD])
        document = self.checked()
        self.assertEqual(self.step_bytes(document), [HELD])
        self.assertEqual(document["graph"]["nodes"], 0)

    def test_accumulate_detach(self):
        if self.compute == "real":
            self.skipTest("ten forwards take too long here")
        self.assertEqual(self.sample("sample_accumulate", "--detach=on"), 10 * [HELD])
        document = self.checked()
        self.assertEqual(self.step_bytes(document), 10 * [HELD])
        self.assertEqual((document["findings"], document["judged"]["verdict"]), ([], "CLEAN"))
        self.gate(0)
        self.assertFalse(any(r["keeps_old_graphs"] for r in document["roots"]))

    def test_accumulate_no_detach(self):
        if self.compute == "real":
            self.skipTest("38 GB of activations")
        published = [STEP_ONE + i * STEP_MORE for i in range(10)]
        self.assertEqual(published[-1], 38149278880)
        self.assertEqual(self.sample("sample_accumulate", "--memory=80GiB"), published)
        document = self.checked()
        self.assertEqual(self.step_bytes(document), published)
        self.check_finding(document, 9)
        cut = self.replay("--detach", "y_sum")  # the run of --detach=on, to the byte
        self.assertEqual([step["end_bytes"] for step in cut["steps"]], 10 * [HELD])
        self.assertEqual([step["recorded_end_bytes"] for step in cut["steps"]], published)
        self.assertEqual(self.replay("--limit", "8GiB")["after"]["fails_in_step"], 3)
        self.assertFalse(self.replay("--limit", "8GiB", "--detach", "y_sum")["after"]["fails"])
        for step in range(1, 11):
            document = self.checked("--at", f"step:{step}")
            self.assertEqual(document["moment"]["bytes"], published[step - 1])
            root = self.root(document, "y_sum")
            self.assertEqual(root["retained_bytes"],
                             step * GRAPH + (step - 1) * INPUT + OUTPUT)
            self.assertEqual((root["graphs"], root["first_step"], root["last_step"]),
                             (step, 1, step))
            self.assertEqual(root["nodes"], 26 * step + 16)

    def replay(self, *arguments):
        return json.loads(self.text("whatif", *arguments, "--format", "json", "s.db"))

    def gate(self, status):
        result = self.run_report("check", "--policy",
                                 str(harness.SOURCE_ROOT / "docs/CI/gradprof.policy"), "s.db")
        self.assertEqual(result.returncode, status, result.stdout)

    def check_finding(self, document, steps):
        [finding] = document["findings"]
        self.assertEqual((finding["class"], finding["root"], pathlib.Path(finding["file"]).name,
                          finding["line"]),
                         ("GRAPH", "y_sum", "sample_accumulate.c",
                          line_of("sample_accumulate", "ag_add(y_sum, y)")))
        self.assertEqual((finding["bytes_per_step"], finding["nodes_per_step"]), (STEP_MORE, 26))
        self.assertEqual((finding["since_step"], finding["steps"]), (1, steps))
        self.assertEqual(finding["frees_bytes"], steps * STEP_MORE)
        self.assertIn("structural", finding["evidence"])
        return finding

    def test_out_of_memory(self):
        self.assertEqual(self.sample("sample_accumulate", status=3), [STEP_ONE, 7828655264])
        document = self.checked()
        self.assertEqual(document["moment"]["moment"], "oom")
        self.assertEqual(document["moment"]["bytes"], 7828655264 + INPUT)
        finding = self.check_finding(document, 2)
        self.gate(1)
        self.assertEqual((finding["fails_in_step"], finding["capacity_bytes"]), (3, 8 << 30))
        failure = document["failures"][-1]
        self.assertEqual((failure["asked_bytes"], failure["step"], failure["scope"]),
                         (792985600, 3, "features.0 > ConvolutionBackward0 > output"))
        program = "sample_accumulate"
        self.assertEqual((pathlib.Path(failure["file"]).name, failure["line"]),
                         (f"{program}.c", line_of(program, "ag_alexnet_forward")))
        root = document["roots"][0]
        self.assertEqual((root["name"], root["retained_bytes"], root["graphs"]),
                         ("y_sum", 2 * GRAPH + INPUT + INPUT + OUTPUT, 2))
        self.assertEqual((pathlib.Path(root["file"]).name, root["line"]),
                         (f"{program}.c", line_of(program, "ag_add(y_sum")))
        self.assertIn("ag_add(y_sum", root["source"])
        self.assertEqual(root["detach_frees_bytes"], 2 * GRAPH + 2 * INPUT)
        text = self.text("s.db")
        for part in ("OUT OF MEMORY in step 3", "792,985,600 bytes",
                     "output of ConvolutionBackward0 in module features.0",
                     "y_sum KEEPS OLD GRAPHS ALIVE", "2 graphs, of steps 1 to 2",
                     "detach()", "7,580,155,904 bytes"):
            self.assertIn(part, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_memory_limit_beats_the_programs_own(self):
        """The sample sets the stand-in's capacity to 100 GiB; the profiler still refuses at 16."""
        if self.compute == "real":
            self.skipTest("16 GB of activations")
        steps = self.sample("sample_accumulate", "--memory=100GiB", status=3,
                            GRADPROF_MEMORY_LIMIT="16GiB")
        self.assertEqual(steps, [STEP_ONE + step * STEP_MORE for step in range(4)])
        failure = self.checked()["failures"][-1]
        self.assertEqual((failure["step"], failure["limit_bytes"]), (5, 16 << 30))
        self.assertGreater(failure["live_bytes"] + failure["asked_bytes"], 16 << 30)

    def test_after_the_exit_nothing_is_left(self):
        self.sample("sample_detach", "--detach=off", "--batch=2")
        document = self.checked("--at", "exit")
        self.assertEqual(document["moment"]["bytes"], 0)

    def test_rebuilt_program(self):
        """Lines of a program that was rebuilt since would be wrong: none are shown, and it is said."""
        self.sample("sample_detach", "--batch=2")
        database = sqlite3.connect(self.folder / "s.db")
        database.execute("UPDATE module SET build_id = x'00112233' WHERE path_id IN "
                         "(SELECT id FROM string WHERE text LIKE '%sample_detach')")
        database.commit()
        database.close()
        document = self.document("s.db")
        self.assertTrue(any("was rebuilt since this run" in p for p in document["problems"]))
        self.assertIsNone(self.root(document, "x")["line"])
        self.assertIn("sample_detach+0x", self.text("s.db"))

    def test_killed(self):
        """SIGKILL in the middle: the report imports the log by itself and says so in one line."""
        with subprocess.Popen([SAMPLES / "sample_accumulate", "--compute=skip", "--device=host",
                               "--detach=on", "--iterations=1000000", "--batch=8"],
                              cwd=self.folder, env=self.environment("killed.db"),
                              stdout=subprocess.DEVNULL) as program:
            time.sleep(1)
            program.send_signal(signal.SIGKILL)
            program.wait()
        self.assertTrue((self.folder / "killed.db-log").exists())
        result = self.run_report("--format", "json", "killed.db")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr.decode(), r"^gradprof-report: .*imported [\d,]+ events.*\n$")
        self.assertFalse((self.folder / "killed.db-log").exists())
        document = json.loads(result.stdout)
        self.assertFalse(document["run"]["clean_exit"])
        self.assertGreater(document["run"]["completed_steps"], 10)
        self.assertIn("the program was killed", document["problems"][0])
        again = self.document("killed.db")
        self.assertEqual(again["moment"], document["moment"])
        self.check_document(again, Ledger(self.folder / "killed.db"))
        self.assertIn("nothing to recover", self.text("recover", "killed.db"))


def free_bytes():
    """What the kernel says is available, cut by this process's memory cgroup."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    available = int(re.search(r"MemAvailable: +(\d+) kB", text).group(1)) * 1024
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            available = min(available, int(pathlib.Path("/sys/fs/cgroup", name).read_text()))
        except (OSError, ValueError):
            pass
    return available


if __name__ == "__main__":
    if "--compute=real" in sys.argv:
        if free_bytes() < 10 * 10**9:
            print(f"needs 10 GB of free memory, {free_bytes() / 1e9:.1f} GB are there")
            sys.exit(77)
        sys.argv.remove("--compute=real")
        RealRun.compute = "real"
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.testsRun == 0 else 0)
