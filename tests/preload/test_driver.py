# SPDX-License-Identifier: MIT
"""The driver level, on a driver of the tests' own: every kind of memory, every way to the driver."""

import unittest

import harness

MIB = 1 << 20
MODES = ("linear", "managed", "host", "async", "physical", "array", "graph", "context", "primary",
         "imported")
LIVE = """SELECT coalesce(sum(size_bytes), 0) FROM allocations WHERE free_seq IS NULL
          AND kind NOT IN ('host', 'host-registered', 'imported')"""


class Driver(harness.PreloadTest):
    def run_driver(self, mode, way, env=None, preload=True):
        environment = {"LD_LIBRARY_PATH": str(harness.HOSTS)}
        environment.update(env or {})
        return self.run_host("driver", mode, way, env=environment, preload=preload)

    def check_ledger(self, mode, way, env=None):
        run = self.run_driver(mode, way, env)
        self.assertEqual((run.status, run.err.count("\n")), (0, 1), run.out + run.err)
        self.assertEqual(self.query(LIVE)[0][0], int(run.out), (mode, way))
        counters = self.counters()
        for name in ("unknown_frees", "missed_frees", "invalid_frees", "malformed_events",
                     "unknown_addresses", "no_device", "unresolved_calls"):
            self.assertEqual(counters.get(name, 0), 0, (mode, way, counters))
        self.assert_sound()
        return run

    def test_every_kind_every_way(self):
        for way in ("address", "old", "symbol", "later"):
            for mode in MODES:
                with self.subTest(way=way, mode=mode):
                    self.check_ledger(mode, way)

    def test_the_program_sees_no_difference(self):
        for mode in MODES:
            plain = self.run_driver(mode, "address", preload=False)
            run = self.run_driver(mode, "address")
            self.assertEqual((run.status, run.out), (plain.status, plain.out))

    def test_kinds_and_devices(self):
        self.check_ledger("physical", "address")
        self.assertEqual(self.query("SELECT kind, count(*), sum(size_bytes) FROM allocations "
                                    "GROUP BY kind"), [("physical", 3, 12 * MIB)])
        self.assertEqual(self.query("SELECT count(*), sum(unmap_seq IS NULL) FROM mapping"), [(3, 1)])
        self.check_ledger("async", "address")
        self.assertEqual(self.query("SELECT device_id, sum(size_bytes) FROM allocations "
                                    "WHERE free_seq IS NULL GROUP BY 1"), [(0, 7 * MIB), (1, 2 * MIB)])

    def test_graph_allocations_are_of_the_launches(self):
        self.check_ledger("graph", "address")
        self.assertEqual(self.query("SELECT kind, count(*) FROM allocations GROUP BY kind"),
                         [("graph", 5)])

    def test_context_dies_with_what_is_in_it(self):
        self.check_ledger("context", "address")
        self.assertEqual(self.query("SELECT size_bytes FROM allocations WHERE free_seq IS NOT NULL"),
                         [(8 * MIB,)])

    def test_interface_of_a_later_driver_is_left_alone(self):
        run = self.run_driver("linear", "later", {"FAKE_OTHER_DRIVER": "1"})
        self.assertEqual(run.status, 0, run.out + run.err)
        self.assertGreater(self.counters()["unknown_driver_functions"], 0)

    def test_limit_at_the_driver(self):
        run = self.check_ledger("refused", "address", {"GRADPROF_MEMORY_LIMIT": "128MiB"})
        self.assertIn("1 allocation refused", run.err)
        self.assertEqual(self.query("SELECT api, asked_bytes, limit_bytes FROM failures"),
                         [("cuMemAlloc", 65 * MIB, 128 * MIB)])

    def test_account_of_the_device(self):
        """Context, allocations and pools explain every byte that the device says is used."""
        self.check_ledger("linear", "address")
        samples = self.query("SELECT reason, used_bytes, live_bytes, pool_reserved_bytes, "
                             "pool_used_bytes FROM device_samples ORDER BY seq")
        self.assertEqual(samples[-1][0], "end")
        for _, used, live, reserved, pool_used in samples:
            self.assertEqual(used, 100 * MIB + live + reserved - pool_used)

    def test_names_of_the_devices(self):
        self.check_ledger("linear", "symbol")
        self.assertEqual(self.query("SELECT d.id, s.text, d.runtime, d.total_bytes FROM device d "
                                    "JOIN string s ON s.id = d.name_id"),
                         [(0, "Fake 0", 4, 8192 * MIB)])


class LinkedToTheDriver(harness.PreloadTest):
    def test_exported_symbols(self):
        run = self.run_host("driver_linked", env={"LD_LIBRARY_PATH": str(harness.HOSTS)})
        self.assertEqual((run.status, run.out), (0, "1048576\n"), run.err)
        self.assertEqual(self.query(LIVE)[0][0], MIB)


class VendorsRuntime(harness.PreloadTest):
    def test_it_fails_as_it_would_without_us(self):
        """On the tests' driver it ends at its integrity check, after some 400 look-ups through us."""
        if not (harness.HOSTS / "vendor").exists():
            self.skipTest("no libcudart here")
        env = {"LD_LIBRARY_PATH": str(harness.HOSTS)}
        plain = self.run_host("vendor", env=env, preload=False)
        run = self.run_host("vendor", env=env)
        self.assertEqual((run.status, run.out), (plain.status, plain.out))


if __name__ == "__main__":
    harness.main()
