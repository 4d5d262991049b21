# SPDX-License-Identifier: MIT
"""What the library exports and needs: it is a guest in processes that know nothing of it."""

import pathlib
import re
import subprocess
import unittest

import harness

HERE = pathlib.Path(__file__).resolve().parent
LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
        "ld-linux-x86-64.so.2"}
POINTER_BYTES = 8


def tool(*arguments):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout.decode()


class LibraryTest(unittest.TestCase):
    def test_exports_equal_the_list(self):
        found = {line.split()[-1] for line in tool("nm", "-D", "--defined-only",
                                                   harness.LIBRARY).splitlines()}
        listed = set((HERE / "exports.txt").read_text().split())
        if harness.SANITIZER != "none":
            found = {name for name in found if name.startswith(("cu", "dlsym", "dlvsym", "gradprof", "_ZN3c10", "_ZN5torch"))}
        self.assertEqual(found - listed, set(), "exported, but not listed")
        self.assertEqual(listed - found, set(), "listed, but not exported")

    def test_exports_carry_no_version(self):
        """A named version would hide the wrappers from cudaMalloc@libcudart.so.13."""
        self.assertNotIn("@", tool("nm", "-D", "--defined-only", harness.LIBRARY))

    def test_every_hook_is_exported(self):
        text = (HERE.parents[1] / "libgradprof/hooks/cudart.def").read_text()
        hooks = set(re.findall(r"^GP_HOOK\((\w+),", text, re.MULTILINE))
        driver = (HERE.parents[1] / "libgradprof/hooks/driver.def").read_text()
        hooks |= set(re.findall(r"^GP_DRIVER\((\w+),", driver, re.MULTILINE))
        hooks |= {"cuGetProcAddress", "cuGetProcAddress_v2"}
        listed = {name for name in (HERE / "exports.txt").read_text().split()
                  if name.startswith("cu")}
        self.assertEqual(hooks, listed)

    def test_needs_only_libc(self):
        if harness.SANITIZER != "none":
            self.skipTest("a sanitized library needs the sanitizer's runtime")
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]",
                                tool("readelf", "-d", "-W", harness.LIBRARY)))
        self.assertTrue(needed)
        self.assertEqual(needed - LIBC, set())

    def test_one_pointer_of_static_tls(self):
        if harness.SANITIZER != "none":
            self.skipTest("sanitizers add thread-local state of their own")
        sizes = re.findall(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)",
                           tool("readelf", "-l", "-W", harness.LIBRARY), re.MULTILINE)
        self.assertEqual([int(size, 16) for size in sizes], [POINTER_BYTES])


if __name__ == "__main__":
    harness.main()
