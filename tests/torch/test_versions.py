# SPDX-License-Identifier: MIT
"""A PyTorch that lacks or binds locally one of the wrapped symbols: simulated by a copy of the library
whose symbol has another name. The program runs the same, and one line says what is not recorded."""
import pathlib

import harness

SYMBOLS = {  # -> what the line must name; None: nothing is lost that this program would show
    "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE": "bytes of saved tensors",
    "_ZN3c1022memoryProfilingEnabledEv": "bytes of saved tensors",
    "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb": "saved tensors",
    "_ZN5torch8autograd13SavedVariable10reset_dataEv": None,
    "_ZN5torch8autograd10deleteNodeEPNS0_4NodeE": "ends of nodes",
    "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE": "nodes",
    "_ZN5torch8autograd4impl13gradient_edgeERKN2at6TensorE": "edges",
}


class VersionsTest(harness.TorchTest):
    def hidden(self, symbol):
        whole = pathlib.Path(harness.LIBRARY).read_bytes()
        other = symbol.encode()[:-1] + b"?"
        names = b"\0" + symbol.encode() + b"\0"
        self.assertIn(names, whole)
        copy = self.folder / "hidden.so"
        copy.write_bytes(whole.replace(names, b"\0" + other + b"\0"))
        return str(copy)

    def test_each_symbol_in_turn(self):
        plain = self.run_script("train.py", profiled=False)
        for symbol, lost in SYMBOLS.items():
            with self.subTest(symbol):
                out = self.run_script("train.py", profiled=False, LD_PRELOAD=self.hidden(symbol))
                self.assertEqual(out, plain)
                lines = [line for line in self.stderr.splitlines() if "not recorded here" in line]
                self.assertEqual(len(lines), lost is not None, self.stderr)
                if lost:
                    self.assertIn(lost, lines[0])

    def test_nothing_is_said_when_nothing_is_missing(self):
        self.run_script("train.py")
        self.assertNotIn("not recorded", self.stderr)
        self.assertEqual(self.meta("level"), "PyTorch's nodes and variables")


if __name__ == "__main__":
    harness.main()
