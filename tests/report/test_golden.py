# SPDX-License-Identifier: MIT
"""Text and JSON of the golden databases against golden/*; GRADPROF_UPDATE_GOLDEN=1 rewrites them (read
the difference before you commit it)."""

import difflib
import json
import os
import re
import unittest

import harness

COMMANDS = ["summary", "peak", "nodes", "roots", "leaks", "timeline"]
WIDTH = 80


def columns(line):
    """Columns in a terminal; East Asian wide characters take two."""
    return sum(2 if 0x2e80 <= ord(c) <= 0xa4cf else 1 for c in line)


class Golden(harness.ReportTest):
    def compare(self, name, text):
        path = harness.HERE / "golden" / name
        if os.environ.get("GRADPROF_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8")
        difference = "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(),
                                                    str(path), "now", lineterm=""))
        self.assertEqual(difference, "")

    def test_text(self):
        for name in harness.NAMES:
            with self.subTest(name):
                self.compare(f"{name}.summary.txt", self.text("summary", f"{name}.db"))
        for command in COMMANDS[1:]:
            with self.subTest(command):
                self.compare(f"accumulate_8gib.{command}.txt",
                             self.text(command, "accumulate_8gib.db"))

    def test_json(self):
        for name in harness.NAMES:
            with self.subTest(name):
                document = self.text("--format", "json", f"{name}.db")
                self.compare(f"{name}.json", document)

    def test_no_command_means_summary(self):
        self.assertEqual(self.text("accumulate_8gib.db"),
                         self.text("summary", "accumulate_8gib.db"))

    def test_default_path(self):
        (self.folder / "run.db").write_bytes((self.folder / "detach.db").read_bytes())
        self.assertEqual(self.text().replace("run.db   ", "detach.db").splitlines()[1:],
                         self.text("detach.db").splitlines()[1:])
        self.assertEqual(self.text("roots"), self.text("roots", "detach.db"))

    def test_width(self):
        """80 columns, no control characters, whatever the names are."""
        for name in harness.NAMES:
            for command in COMMANDS:
                for at in ([], ["--at", "peak"], ["--at", "exit"], ["--limit", "1"]):
                    text = self.text(command, *at, f"{name}.db")
                    for line in text.splitlines():
                        self.assertLessEqual(columns(line), WIDTH, line)
                        self.assertIsNone(re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]",
                                                    line), repr(line))

    def test_json_is_clean(self):
        raw = self.run_report("--format", "json", "hostile.db").stdout
        document = json.loads(raw.decode("utf-8"))  # strict: invalid UTF-8 raises
        self.assertNotIn(b"\x1b", raw)
        self.assertIn("\ufffd", document["roots"][1]["name"])
        self.assertIn("\x1b[31m", document["roots"][1]["name"])

    def test_one_document_for_every_command(self):
        expected = self.text("--format", "json", "accumulate_8gib.db")
        for command in COMMANDS:
            self.assertEqual(self.text(command, "--format=json", "accumulate_8gib.db"), expected)

    def test_colour(self):
        plain = self.text("detach.db")
        coloured = self.text("--color", "always", "accumulate_8gib.db")
        self.assertNotIn("\033", plain)
        self.assertIn("\033[1;31mOUT OF MEMORY", coloured)
        self.assertEqual(re.sub("\033\\[[0-9;]*m", "", coloured), self.text("accumulate_8gib.db"))


if __name__ == "__main__":
    unittest.main()
