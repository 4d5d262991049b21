# SPDX-License-Identifier: MIT
"""The gate: exit status, policies, allow list, baseline, JUnit, SARIF, annotations, bad policies."""

import json
import unittest
import xml.etree.ElementTree

import cases
import harness

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Check(harness.ReportTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, function, _, _ in cases.CASES:
            function().write(cls.folder / f"{name}.db")

    def check(self, status, *arguments):
        result = self.run_report("check", *arguments)
        self.assertEqual(result.returncode, status,
                         (arguments, result.stdout.decode(), result.stderr.decode()))
        return result.stdout.decode()

    def policy(self, text, name="gradprof.policy"):
        (self.folder / name).write_text(text)
        return name

    def fingerprint(self, name):
        return self.document("leaks", f"{name}.db")["findings"][0]["fingerprint"]

    def test_exit_status(self):
        text = self.check(1, "accumulate_8gib.db")
        self.assertEqual(text.splitlines()[-1],
                         "FAIL: GRAPH y_sum accumulate.c:10 +3.53 GB/step")
        self.assertIn("PASS", self.check(0, "detach.db"))
        for name in ("empty", "plain", "no_steps", "killed"):
            self.assertIn("CANNOT JUDGE", self.check(3, f"{name}.db"))
        self.assert_refused(["check", "/nonexistent.db"], "no such file")
        self.check(1, "detach.db", "empty.db", "accumulate_10.db")  # a violation goes first
        self.check(3, "detach.db", "empty.db")

    def test_every_case(self):
        """Controls, bounded and host-only ones pass; the rest fails; --strict takes the host too."""
        for name, _, expected, _ in cases.CASES:
            kind = expected and expected[0]
            with self.subTest(name):
                self.check(0 if kind in (None, "SKELETON", "BOUNDED", "HOST") else 1, f"{name}.db")
                self.check(0 if kind in (None, "BOUNDED") else 1, "--strict", f"{name}.db")

    def test_limits(self):
        peak = self.document("accumulate_10.db")["peak"]["bytes"]
        allow = ["--leaks", "allow", "accumulate_10.db"]
        self.check(0, "--max-peak", str(peak), *allow)
        self.check(1, "--max-peak", str(peak - 1), *allow)
        self.check(1, "--max-end", "30GiB", *allow)
        self.check(0, "--max-end", "36 GiB", *allow)
        self.check(0, "--max-growth", "3790077952", *allow)
        self.assertIn("growth per step", self.check(1, "--max-growth=3790077951", *allow))
        self.check(0, "--max-unattributed=0%", *allow)
        self.check(1, "--max-unattributed", "99.9", "--leaks=allow", "plain.db")
        self.check(3, "--min-steps", "11", "detach.db")
        self.check(0, "--min-steps", "3", "detach.db")

    def test_policy_file(self):
        name = self.policy("# our policy\n\n leaks = allow\nmax-peak= 1 GiB # no\n")
        self.assert_refused(["check", "--policy", name, "detach.db"],
                            "gradprof.policy:4: bad size '1 GiB # no'")
        name = self.policy("# our policy\n\n leaks = allow\nmax-peak= 1 GiB\n")
        self.check(1, "--policy", name, "detach.db")
        self.check(0, "--policy", name, "--max-peak=40GiB", "detach.db")  # the command line goes first

    def test_bad_policies(self):
        for text, parts in (
                ("leaks = fail\nmax-leak = 3\n", [":2: unknown key 'max-leak'", "max-growth"]),
                ("leaks = maybe\n", [":1: bad leaks 'maybe'"]),
                ("leaks\n", [":1: not a setting 'leaks'"]),
                ("strict = on\nstrict = off\n", [":2: set twice: 'strict'"]),
                ("strict = 1\n", [":1: bad strict '1'"]),
                ("max-peak = -1\n", [":1: bad size '-1'"]),
                ("max-peak = 8 GiX\n", [":1: bad size"]),
                ("max-unattributed = 101\n", [":1: bad percentage"]),
                ("max-unattributed = 0x5\n", [":1: bad percentage"]),
                ("min-steps = 0\n", [":1: bad number of steps"]),
                ("allow = y_sum\n", [":1: allow entry without a reason"]),
                ("allow = y_sum until 2026-02-30: why\n", [":1: bad date"]),
                ("allow = y_sum until soon: why\n", [":1: bad date"]),
                ("\nallow = y_sum until 2020-01-31: why\n", [":2: expired allow entry"]),
                ("baseline = none.txt\n", [":1: cannot read the baseline 'none.txt'"]),
                ("max-peak = 1GiB\nmax-end = 2GiB\n", ["contradicts itself", "max-end"]),
                ("leaks = allow\nstrict = on\n", ["contradicts itself", "strict"])):
            with self.subTest(text):
                self.assert_refused(["check", "--policy", self.policy(text), "detach.db"], *parts)
        self.assert_refused(["check", "--policy", "none", "detach.db"], "cannot read the policy")
        self.assert_refused(["check", "--max-peak", "lots", "detach.db"], "bad size 'lots'")
        self.assert_refused(["check", "--policy"], "needs a value")
        self.assert_refused(["check", "--strict=1", "detach.db"], "takes no value")
        self.assert_refused(["leaks", "--strict", "detach.db"], "'--strict'",
                            "is not one of this command's")
        self.assert_refused(["check", "--junit", "/nonexistent/x", "detach.db"], "cannot write")

    def test_allow(self):
        name = self.policy("allow = y_sum until 2999-12-31: known, mended in the next release\n")
        text = self.check(0, "--policy", name, "accumulate_10.db")
        self.assertIn("known, mended in the next release", " ".join(text.split()))
        self.check(1, "--policy", name, "hidden_state_carried_over.db")
        allow = f"{self.fingerprint('hidden_state_carried_over')}: by design"
        self.check(0, "--allow", allow, "hidden_state_carried_over.db")

    def test_baseline(self):
        """Quiet on what was there, also when its lines have moved; loud on what is new."""
        def leaking(line):
            return cases.train(lambda p, i, y, loss: p.hold("outs", p.tensor(4096), line))
        leaking(22).write(self.folder / "before.db")
        self.check(0, "--write-baseline", "base.txt", "before.db")
        self.check(0, "--baseline", "base.txt", "before.db")
        leaking(322).write(self.folder / "moved.db")
        self.check(0, "--baseline", "base.txt", "moved.db")
        self.check(1, "--baseline", "base.txt", "accumulate_10.db")
        (self.folder / "bad.txt").write_text("# comment\nzzz\n")
        self.assert_refused(["check", "--baseline", "bad.txt", "before.db"], "bad.txt:2: bad line")

    def test_junit(self):
        self.check(1, "--junit", "j.xml", "accumulate_8gib.db", "detach.db", "empty.db")
        root = xml.etree.ElementTree.parse(self.folder / "j.xml").getroot()
        suites = {suite.get("name"): suite for suite in root}
        self.assertEqual(suites["accumulate_8gib.db"].get("failures"), "1")
        self.assertEqual(suites["detach.db"].get("failures"), "0")
        self.assertEqual(suites["empty.db"].get("errors"), "1")
        [case] = suites["accumulate_8gib.db"]
        self.assertEqual((case.get("name"), case.get("line")), ("leaks GRAPH y_sum", "10"))
        self.assertIn("y_sum", case.find("failure").get("message"))
        self.check(3, "--junit", "j.xml", "hostile.db")
        xml.etree.ElementTree.parse(self.folder / "j.xml")

    def sarif(self, status, *arguments):
        self.check(status, "--sarif", "s.sarif", *arguments)
        return json.loads((self.folder / "s.sarif").read_text())

    def test_sarif(self):
        document = self.sarif(1, "accumulate_8gib.db", "detach.db", "empty.db")
        self.assertEqual([len(run["results"]) for run in document["runs"]], [1, 0, 1])
        [result] = document["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual((result["ruleId"], result["level"]), ("GRAPH", "error"))
        self.assertEqual(place["artifactLocation"]["uri"], "tests/report/source/accumulate.c")
        self.assertEqual(place["region"]["startLine"], 10)
        self.assertEqual(result["partialFingerprints"]["gradprof/v1"],
                         self.fingerprint("accumulate_8gib"))
        allowed = self.sarif(0, "--allow", "y_sum: because", "accumulate_10.db")
        self.assertIn("because", allowed["runs"][0]["results"][0]["suppressions"][0]["justification"])

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is missing")
    def test_sarif_schema(self):
        schema = json.loads((harness.HERE / "sarif-2.1.0-used.schema.json").read_text())
        validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
        for name, *_ in cases.CASES:
            self.run_report("check", "--strict", "--sarif", "s.sarif", f"{name}.db", "hostile.db")
            validator.validate(json.loads((self.folder / "s.sarif").read_text()))
        document = self.sarif(0, "--allow", "y_sum: because", "accumulate_10.db")
        validator.validate(document)
        del document["runs"][0]["tool"]["driver"]["name"]
        with self.assertRaises(jsonschema.ValidationError):
            validator.validate(document)

    def test_github(self):
        lines = self.check(1, "--github", "accumulate_8gib.db").splitlines()
        self.assertTrue(lines[0].startswith("::error file=tests/report/source/accumulate.c,line=10,"
                                            "title=GRAPH::"), lines[0])

    def test_json(self):
        document = json.loads(self.check(1, "--format", "json", "accumulate_8gib.db", "empty.db"))
        self.assertEqual((document["result"], document["exit_status"]), ("fail", 1))
        [item] = document["runs"][0]["items"]
        self.assertEqual((item["rule"], item["outcome"], item["class"], item["line"]),
                         ("leaks", "fail", "GRAPH", 10))
        document = json.loads(self.check(3, "--format", "json", "empty.db"))
        self.assertEqual(document["result"], "cannot-judge")


if __name__ == "__main__":
    unittest.main()
