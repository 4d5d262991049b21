# SPDX-License-Identifier: MIT
"""Every call becomes the event it should, and the program sees what it would see without us."""

import unittest

import harness

MIB = 1 << 20


class LedgerTest(harness.PreloadTest):
    def every_call(self, *arguments):
        run = self.run_host("every_call", *arguments, env={"HOSTCUDA_MEMORY": "1GiB"})
        self.assertEqual(run.status, 0, run.err)
        expected = [tuple(line.split()[1:]) for line in run.out.splitlines()]
        self.assertEqual(len(expected), 14)
        return [(kind, address, int(size)) for kind, address, size in expected]

    def test_every_allocation_function(self):
        expected = self.every_call()
        rows = self.query("SELECT kind, address, size_bytes FROM allocations ORDER BY id")
        self.assertEqual(rows, expected)
        self.assertEqual(self.query("SELECT count(*) FROM allocations WHERE free_seq IS NOT NULL"),
                         [(0,)])
        self.assertEqual(self.query("SELECT count(*) FROM allocations WHERE stack_id IS NULL"),
                         [(0,)])
        self.assertEqual(self.query("SELECT DISTINCT device_id FROM allocations"), [(0,)])

    def test_every_free_function(self):
        self.every_call("free")
        self.assertEqual(self.query("SELECT count(*) FROM allocations WHERE free_seq IS NULL"),
                         [(0,)])
        self.assertNotIn("unknown_frees", self.counters())
        self.assertEqual(self.query("SELECT live_bytes FROM device"), [(0,)])

    def test_stack_names_the_caller(self):
        self.every_call()
        modules = self.query(
            "SELECT f.module FROM allocations a JOIN stack s ON s.id = a.stack_id "
            "JOIN frames f ON f.id = s.frame_id")
        self.assertEqual({pathname.rsplit("/", 1)[-1] for (pathname,) in modules}, {"every_call"})

    def test_threads_and_reused_addresses(self):
        threads, pairs, storm = 4, 5000, 160
        run = self.run_host("threads", threads, pairs, storm)
        self.assertEqual((run.status, run.out), (0, ""), run.err)
        self.assertEqual(self.query("SELECT count(*) FROM allocation"),
                         [(threads * pairs + 2 * storm,)])
        self.assertEqual(self.query("SELECT count(*) FROM allocation WHERE free_seq IS NULL"),
                         [(0,)])
        self.assertNotIn("unknown_frees", self.counters())
        self.assertNotIn("dropped_events", self.counters())
        reused = self.query("SELECT count(*) FROM (SELECT address FROM allocation "
                            "GROUP BY address HAVING count(DISTINCT thread_id) > 1)")
        self.assertGreater(reused[0][0], 0, "no address went from thread to thread")
        # an address is free before it is handed out again
        self.assertEqual(self.query(
            "SELECT count(*) FROM (SELECT alloc_seq, lag(free_seq) OVER "
            "(PARTITION BY address ORDER BY alloc_seq) AS freed FROM allocation) "
            "WHERE freed > alloc_seq"), [(0,)])
        self.assert_sound()

    def test_thread_storm(self):
        run = self.run_host("threads", 1, 1, 1600)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.query("SELECT count(*) FROM allocation"), [(1 + 2 * 1600,)])

    def test_full_log_loses_nothing(self):
        """52 MB of events through a log of 16 MiB: threads wait for the database."""
        run = self.run_host("threads", 4, 100000, 0, env={"GRADPROF_LOG_LIMIT": "16MiB"})
        self.assertEqual((run.status, run.out), (0, ""), run.err)
        self.assertEqual(self.query("SELECT count(*), count(free_seq) FROM allocation"),
                         [(400000, 400000)])
        self.assertNotIn("dropped_events", self.counters())
        self.assert_sound()

    def test_memory_limit_on_a_device(self):
        env = {"GRADPROF_MEMORY_LIMIT": "0=1GiB"}
        run = self.run_host("limited", env=env)
        lines = run.out.splitlines()
        self.assertEqual(lines[0], f"info {1024 * MIB} {1024 * MIB}")
        self.assertEqual(lines[1:5], ["600 0", "500 2", "last 2", "400 0"])
        self.assertEqual(lines[5], f"info {24 * MIB} {1024 * MIB}")
        self.assertEqual(lines[6:], ["pitch 2", "pinned 0", "managed 0", "500 0", "device1 0",
                                     "all 0"])
        self.assertEqual(
            self.query("SELECT asked_bytes, api, error, limit_bytes, device_id FROM failures"),
            [(500 * MIB, "cudaMalloc", 2, 1024 * MIB, 0),
             (200 * MIB, "cudaMallocPitch", 2, 1024 * MIB, 0)])

    def test_without_a_limit_nothing_is_refused(self):
        run = self.run_host("limited")
        self.assertEqual({line.split()[1] for line in run.out.splitlines() if "info" not in line},
                         {"0"})

    def test_limit_sets_the_stand_ins_capacity(self):
        run = self.run_host("capacity", env={"GRADPROF_MEMORY_LIMIT": "64MiB"})
        self.assertEqual(run.out, f"{64 * MIB} {64 * MIB}\n0 2\n", run.err)
        self.assertEqual(self.query("SELECT asked_bytes, limit_bytes FROM failures"),
                         [(65 * MIB, 64 * MIB)])
        self.assertEqual(self.query("SELECT total_bytes, limit_bytes FROM device"),
                         [(64 * MIB, 64 * MIB)])

    def test_failing_calls(self):
        env = {"HOSTCUDA_FAIL": "cudaMallocAsync:1:2"}
        run = self.run_host("every_call", env=env)
        self.assertEqual((run.status, run.err.splitlines()[0]), (1, "cudaMallocAsync: error 2"))
        self.assertEqual(self.query("SELECT asked_bytes, api, error, limit_bytes FROM failures"),
                         [(4000, "cudaMallocAsync", 2, None)])

    def test_other_errors_are_no_refusals(self):
        run = self.run_host("every_call", env={"HOSTCUDA_FAIL": "cudaMallocHost:1:1"})
        self.assertEqual((run.status, run.err.splitlines()[0]), (1, "cudaMallocHost: error 1"))
        self.assertEqual(self.query("SELECT count(*) FROM failures"), [(0,)])
        self.assertEqual(self.counters()["failed_calls"], 1)

    def test_annotations(self):
        run = self.run_host("scopes", "use")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.query("SELECT op, step_id FROM nodes ORDER BY id"),
                         [("ConvBackward0", 2), ("AccumulateGrad", 2)])
        self.assertEqual(self.query("SELECT node_id, slot, input_node_id FROM edge"), [(1, 1, 2)])
        self.assertEqual(self.query("SELECT node_id, slot, allocation_id FROM saves"),
                         [(1, "input", 1)])
        self.assertEqual(self.query("SELECT name, role FROM allocations"), [("x", "input")])
        names = self.query("SELECT name, node_id FROM handles ORDER BY id")
        self.assertEqual(names[0], ("y", 1))
        self.assertEqual(names[-1], ("n" * 1000, None))
        self.assertEqual(self.query("SELECT asked_bytes, api, device_id FROM failures"),
                         [(12345, "--memory 1 GiB", 1)])
        scopes = self.query("SELECT s.kind, n.text, s.parent_id IS NULL FROM scope s "
                            "JOIN string n ON n.id = s.name_id ORDER BY s.parent_id")
        self.assertEqual(scopes, [(1, "features.0", 1), (2, "Conv", 0)])
        steps = self.query("SELECT s.id, s.parent_id, n.text, s.end_seq IS NOT NULL FROM step s "
                           "JOIN string n ON n.id = s.label_id ORDER BY s.id")
        self.assertEqual(steps, [(1, None, "outer", 1), (2, 1, "inner", 1)])
        counters = self.counters()
        self.assertEqual(counters["unbalanced_pops"], 2)
        self.assertEqual(counters["cut_names"], 1)

    def test_hot_path_never_allocates(self):
        self.assert_unsanitized("the counting malloc")
        run = self.run_host("nomalloc")
        self.assertEqual((run.status, run.out), (0, "0\n"), run.err)


class UnwinderTest(harness.PreloadTest):
    def frames_with(self, unwinder):
        run = self.run_host("threads", 1, 10, 0, env={"GRADPROF_UNWIND": unwinder})
        self.assertEqual(run.status, 0, run.err)
        used = self.meta()["unwinder"]
        frames = self.query("SELECT count(*) FROM frame")[0][0]
        return used, frames

    def test_each_one(self):
        for unwinder in ("libgcc", "fp"):
            used, frames = self.frames_with(unwinder)
            self.assertEqual(used, unwinder)
            self.assertGreater(frames, 0)
        self.assertEqual(self.frames_with("off"), ("off", 0))

    def test_auto_takes_libunwind_where_it_is(self):
        used, frames = self.frames_with("auto")
        self.assertIn(used, ("libunwind", "libgcc"))
        self.assertGreater(frames, 0)

    def test_depth_limit(self):
        self.run_host("throws", env={"GRADPROF_STACK_DEPTH": "3"})
        depth = self.query(
            "WITH RECURSIVE up(id, depth) AS (SELECT stack_id, 1 FROM allocation UNION "
            "SELECT s.parent_id, depth + 1 FROM up JOIN stack s ON s.id = up.id "
            "WHERE s.parent_id IS NOT NULL) SELECT max(depth) FROM up")
        self.assertEqual(depth, [(3,)])


if __name__ == "__main__":
    harness.main()
