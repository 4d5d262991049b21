# SPDX-License-Identifier: MIT
"""Hosts that must behave as without us: shells, interpreters, C++, plugins, forks, odd exits."""

import os
import signal
import unittest

import harness

PYTHON_PROGRAM = """
import hashlib, sqlite3, subprocess, threading, multiprocessing, sys

def work(results, i):
    db = sqlite3.connect(":memory:")
    db.execute("create table t(x)")
    db.executemany("insert into t values(?)", [(j,) for j in range(1000)])
    results.append(db.execute("select sum(x) from t").fetchone()[0] + i)

def square(x):
    return x * x

if __name__ == "__main__":
    results = []
    threads = [threading.Thread(target=work, args=(results, i)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(sorted(results), sqlite3.sqlite_version)
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(5)))
    print(subprocess.run(["/bin/sh", "-c", "exit 7"]).returncode)
    sys.exit(4)
"""

SHELL_PROGRAM = """
f() { echo "in $1"; return 3; }
f a; echo $?
x=$(printf '%s' "$(echo nested | tr a-z A-Z)")
echo "$x" | cat | sed 's/E/e/g'
( exit 9 ); echo $?
sleep 0.01 & wait $!
exec sh -c 'exec sh -c "exit 6"'
"""


class SilentHosts(harness.PreloadTest):
    """Nothing touches a device: same output, same status, no file, no word."""

    def assert_same(self, program, *arguments):
        plain = self.run_host(program, *arguments, preload=False)
        loaded = self.run_host(program, *arguments)
        self.assertEqual((loaded.status, loaded.out, loaded.err),
                         (plain.status, plain.out, plain.err))
        return loaded

    def test_bash(self):
        self.assert_unsanitized("bash")
        run = self.assert_same("/bin/bash", "-c", SHELL_PROGRAM)
        self.assertEqual(run.status, 6)
        self.assertEqual(run.files(), [])

    def test_python(self):
        self.assert_unsanitized("python3")
        if not os.path.exists(harness.PYTHON):
            self.skipTest("no /usr/bin/python3")
        script = self.folder / "program.py"
        script.write_text(PYTHON_PROGRAM)
        run = self.assert_same(harness.PYTHON, "-B", script)
        self.assertEqual(run.status, 4)
        self.assertEqual(run.files(), ["program.py"])

    def test_annotations_alone_touch_no_device(self):
        run = self.assert_same("scopes")
        self.assertEqual((run.status, run.files()), (0, []))

    def test_no_thread_is_started(self):
        self.assert_unsanitized("sh")
        run = self.run_host("/bin/sh", "-c", "ls /proc/$$/task | wc -l")
        self.assertEqual(run.out, "1\n")

    def test_bare_environment(self):
        self.assert_unsanitized("env")
        run = self.run_host("/usr/bin/env", "-i", f"LD_PRELOAD={harness.LIBRARY}",
                            str(harness.HOSTS / "scopes"))
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))

    def test_disabled(self):
        run = self.run_host("leave", env={"GRADPROF_DISABLE": "1"})
        self.assertEqual((run.status, run.err, run.files()), (5, "", []))


class CxxHost(harness.PreloadTest):
    def test_exceptions(self):
        run = self.run_host("throws")
        self.assertEqual((run.status, run.out), (0, "800\n"), run.err)
        self.assertEqual(self.query("SELECT count(*), count(free_seq) FROM allocation"),
                         [(800 * 11, 800 * 11)])

    def test_exceptions_with_each_unwinder(self):
        for unwinder in ("libunwind", "libgcc", "fp", "off"):
            run = self.run_host("throws", env={"GRADPROF_UNWIND": unwinder})
            self.assertEqual((run.status, run.out), (0, "800\n"), unwinder)


class PluginHosts(harness.PreloadTest):
    def plugin(self, number):
        return str(harness.HOSTS / f"libplugin_{number}.so")

    def test_local_user_of_a_local_runtime(self):
        run = self.run_host("loads", "local", self.plugin(2))
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(int(run.out, 16) >> 44, 2)
        self.assertEqual(self.query("SELECT address, size_bytes FROM allocations"),
                         [(run.out.strip(), 1000)])

    def test_two_runtimes_do_not_mix(self):
        run = self.run_host("loads", "local", self.plugin(2), self.plugin(3), self.plugin(2))
        self.assertEqual([int(line, 16) >> 44 for line in run.out.split()], [2, 3, 2], run.err)
        self.assertEqual(self.query("SELECT address FROM allocations ORDER BY id"),
                         [(line,) for line in run.out.split()])

    def test_deepbind_does_no_harm(self):
        self.assert_unsanitized("RTLD_DEEPBIND")
        run = self.run_host("loads", "deepbind", self.plugin(2))
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(int(run.out, 16) >> 44, 2)

    def test_library_opened_late(self):
        run = self.run_host("late", harness.LIBRARY, preload=False)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.query("SELECT op FROM nodes"), [("LateNode",)])

    def test_vendors_runtime_is_intercepted(self):
        """Its references carry a version: cudaMalloc@libcudart.so.13."""
        if not (harness.HOSTS / "vendor").exists():
            self.skipTest("no libcudart here")
        run = self.run_host("vendor", env={"LD_DEBUG": "bindings"})
        self.assertRegex(run.err, r"vendor \[0\] to \S*libgradprof\.so \[0\]: normal symbol "
                                  r"`cudaMalloc' \[libcudart\.so")
        plain = self.run_host("vendor", preload=False)
        self.assertEqual((run.status, run.out), (plain.status, plain.out))

    def test_look_up_without_a_runtime(self):
        """Our wrappers alone must not look like an installed CUDA."""
        run = self.run_host("orphan", "look")
        self.assertEqual((run.status, run.out, run.err), (0, "0 0\n", ""))

    def test_call_without_a_runtime(self):
        """As a program that looks a function up by name and finds ours."""
        run = self.run_host("orphan", "call")
        self.assertEqual((run.status, run.out), (0, "3\n"), run.err)
        self.assertEqual(run.err, "gradprof: a CUDA call was made, but no CUDA runtime library is "
                                  "loaded; it fails\n")
        self.assertEqual(run.files(), [])


class Forks(harness.PreloadTest):
    def test_children(self):
        # ThreadSanitizer ends a child that starts a thread; AddressSanitizer's allocator (gcc 12)
        # stays locked in a child if another thread of the parent was inside it.
        self.assert_unsanitized("what a child may use after fork")
        run = self.run_host("forks")
        self.assertEqual(run.status, 0, run.err)
        quiet, user, cloned, _ = run.out.split()
        expected = ["run.db", f"run.{user}.db"]
        if f"run.{cloned}.db" in run.files(): # not if SQLite was in use at that very moment
            expected.append(f"run.{cloned}.db")
            self.assertEqual(self.query("SELECT size_bytes FROM allocations",
                                        f"run.{cloned}.db"), [(3333,)])
        self.assertEqual(run.files(), sorted(expected))
        self.assertEqual(self.query("SELECT size_bytes FROM allocations ORDER BY id"),
                         [(1111,), (4444,)])
        self.assertEqual(self.query("SELECT size_bytes FROM allocations", f"run.{user}.db"),
                         [(2222,)])
        children = {pid for (pid,) in self.query("SELECT pid FROM child")}
        self.assertEqual(children, {int(quiet), int(user)})
        for name in run.files():
            self.assert_sound(name)
        self.assertEqual(self.meta(f"run.{user}.db")["forked"], "1")

    def test_forks_amid_recording_threads(self):
        """The child finds neither SQLite nor the unwinder locked or half-changed."""
        # ThreadSanitizer ends a child that starts a thread; AddressSanitizer's allocator (gcc 12)
        # stays locked in a child if another thread of the parent was inside it.
        self.assert_unsanitized("what a child may use after fork")
        run = self.run_host("fork_storm", 12, env={"GRADPROF_QUIET": "1"})
        self.assertEqual(run.status, 0, run.err)
        children = run.out.split()
        self.assertEqual(run.files(), sorted(["run.db"] + [f"run.{pid}.db" for pid in children]))
        for pid in children:
            self.assertEqual(self.query("SELECT size_bytes FROM allocation", f"run.{pid}.db"),
                             [(100,), (100,)])
        self.assertEqual(self.query("SELECT count(*) FROM child"), [(len(children),)])


class Exits(harness.PreloadTest):
    def leave(self, how):
        run = self.run_host("leave", how)
        return run

    def assert_ledger(self):
        self.assertEqual(
            self.query("SELECT size_bytes, free_seq IS NULL FROM allocations ORDER BY id LIMIT 2"),
            [(600, 1), (400, 0)])
        self.assert_sound()

    def test_clean(self):
        for how in ("return", "thread"):
            run = self.leave(how)
            self.assertEqual(run.status, 5, run.err)
            self.assertIn("run.db", run.files())
            self.assertNotIn("run.db-log", run.files())
            self.assertEqual(run.err,
                             "gradprof: peak 1000 bytes; see: gradprof-report run.db\n")
            self.assert_ledger()
            self.assertEqual(self.meta()["clean_exit"], 1)

    def test_quiet(self):
        run = self.run_host("leave", env={"GRADPROF_QUIET": "1"})
        self.assertEqual((run.status, run.err), (5, ""))

    def test_exit_handlers_come_after_the_end(self):
        self.leave("handler")
        # allocations made while handlers run are there, and lie after exit_begin
        rows = self.query("SELECT a.size_bytes, a.alloc_seq > m.value FROM allocation a, meta m "
                          "WHERE m.key = 'exit_begin_seq' ORDER BY a.id")
        self.assertEqual(rows, [(600, 0), (400, 0), (77, 1)])

    def test_unclean(self):
        for how, status in (("_exit", 5), ("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL),
                            ("exec", 5)):
            if how == "exec":
                self.assert_unsanitized("sh")
            run = self.leave(how)
            self.assertEqual(run.status, status, how)
            self.assertIn("run.db-log", run.files(), how)
            found, running, imported, holes, lost = self.recover()
            self.assertEqual((found, running, holes, lost), (1, 0, 0, 0), how)
            self.assertGreater(imported, 0, how)
            self.assert_ledger()
            self.assertNotIn("run.db-log", run.files())


if __name__ == "__main__":
    harness.main()
