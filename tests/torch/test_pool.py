# SPDX-License-Identifier: MIT
"""Blocks inside device allocations: each has one owner, the rest of a segment is the allocator's, and
all of it adds up to what the device handed out."""
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

KIB = 1024


class PoolTest(unittest.TestCase):
    def test_blocks_and_slack_add_up(self):
        with tempfile.TemporaryDirectory(prefix="gradprof-pool-") as folder:
            variables = {name: value for name, value in os.environ.items()
                         if not name.startswith("GRADPROF_")}
            subprocess.run([os.environ["GRADPROF_POOL"]], cwd=folder, check=True, timeout=60,
                           env={**variables, "LD_PRELOAD": os.environ["GRADPROF_LIBRARY"]},
                           stdout=subprocess.DEVNULL)
            document = json.loads(subprocess.run(
                [os.environ["GRADPROF_REPORT"], "run.db", "--format", "json"], cwd=folder,
                check=True, timeout=60, capture_output=True).stdout)
            with sqlite3.connect(pathlib.Path(folder) / "run.db") as connection:
                blocks = connection.execute(
                    "SELECT b.size_bytes, p.size_bytes, b.free_seq IS NULL FROM allocations b "
                    "JOIN allocations p ON p.id = b.parent_id WHERE b.level = 'block' "
                    "ORDER BY b.id").fetchall()
        self.assertEqual(blocks, [(100 * KIB, 1024 * KIB, 0), (300 * KIB, 1024 * KIB, 0),
                                  (512 * KIB, 512 * KIB, 0), (64 * KIB, 1024 * KIB, 1)])
        moment = document["moment"]
        owners = {row["class"]: row["bytes"] for row in moment["owners"] if row["bytes"]}
        self.assertEqual(owners, {"parameter": 100 * KIB, "saved": 300 * KIB, "handle": 512 * KIB,
                                  "unattributed": 65 * KIB, "cached": 560 * KIB})
        self.assertEqual(moment["bytes"], (1024 + 512 + 1) * KIB)
        retention = document["retention"]
        self.assertEqual(retention["live_bytes"], moment["bytes"])
        self.assertEqual(retention["retained_bytes"] + retention["shared_bytes"]
                         + retention["rest_bytes"], moment["bytes"])
        self.assertEqual([(root["name"], root["own_bytes"]) for root in document["roots"]],
                         [("x", 512 * KIB)])
        self.assertEqual(document["problems"], [])


if __name__ == "__main__":
    unittest.main()
