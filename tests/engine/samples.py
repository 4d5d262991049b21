#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The samples as their users run them: samples.py SUITE FOLDER [DEVICE]

rows      figures at batch 1024 with --compute=skip, to the byte
options   every option's check: one line, exit status 2
faults    the device fails at the n-th call, for every n
leaks     nothing is lost, by valgrind
preload   LD_PRELOAD with a bare library name finds what lies along the samples' run path
"""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
GRAPH, X, Y, PARAMETERS = 3173515264, 616562688, 4096000, 244403360
DETACHED = PARAMETERS + X + Y

suite, folder = sys.argv[1:3]
device = sys.argv[3] if len(sys.argv) > 3 else "reference"
failures = 0


def run(sample, *options, **environment):
    command = [os.path.join(folder, sample), f"--device={device}", *options]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def expect(what, actual, wanted):
    global failures
    if actual != wanted:
        failures += 1
        print(f"{what}:\n  is     {actual!r}\n  wanted {wanted!r}")


def printed(count):
    return f"{count / 2**30:.2f} GB ({count:,} bytes)"


def lines(counts):
    if len(counts) == 1:
        return [printed(counts[0])]
    return [f"iteration {i}: {printed(count)}" for i, count in enumerate(counts, 1)]


def expect_figures(counts, sample, *options, status=0, stderr=""):
    what = " ".join([sample, *options])
    result = run(sample, *options)
    output = result.stdout.splitlines()
    expect(f"{what}: status", result.returncode, status)
    expect(f"{what}: figures", output[1:], lines(counts))
    expect(f"{what}: stderr", result.stderr, stderr)
    if not output or not output[0].startswith("device: host stand-in, no GPU: "):
        expect(f"{what}: device line", output[:1], ["device: host stand-in, no GPU: ..."])


THIRD_REFUSED = (
    "sample_accumulate: out of memory in iteration 3: 792,985,600 bytes for the output of "
    "ConvolutionBackward0 (features.0) refused; 7.87 GB of 8.00 GB in use\n"
)


def kept(iterations):
    return [PARAMETERS + Y + i * (GRAPH + X) for i in range(1, iterations + 1)]


def rows():
    skip = "--compute=skip"
    assert DETACHED == 865062048 and kept(10)[-1] == 38149278880
    expect_figures([DETACHED], "sample_detach", skip)
    expect_figures([DETACHED], "sample_detach", skip, "--detach=on")
    expect_figures([DETACHED + GRAPH], "sample_detach", skip, "--detach=off")
    expect_figures([DETACHED], "sample_no_grad", skip)
    expect_figures([DETACHED] * 10, "sample_accumulate", skip, "--detach=on")
    expect_figures(kept(10), "sample_accumulate", skip, "--memory=48GiB")
    for allocator in ["async", "malloc"]:
        expect_figures(kept(2), "sample_accumulate", skip, f"--allocator={allocator}", status=3,
                       stderr=THIRD_REFUSED)
    # the loop of the single-pass samples is steady
    expect_figures([DETACHED] * 3, "sample_detach", skip, "--iterations=3")
    expect_figures([DETACHED] * 3, "sample_no_grad", skip, "--iterations=3")


def wrong_options():
    bad = {
        "--batch": ["0", "-1", "1e9", "abc", "", " 1", "1 ", "0x10", "1000001", "99999999999999999999999"],
        "--iterations": ["0", "-1", "1.5", "1000000001"],
        "--detach": ["", "yes", "ON", "on "],
        "--memory": ["0", "-1", "GiB", "8gib", "8 GiB", "1.5GiB", "9999999999GiB", "99999999999999999999"],
        "--device": ["", "gpu", "host:", "host:x", "host:-1", "host:1024", "cuda:0:1", "hos"],
        "--compute": ["", "fake"],
        "--allocator": ["", "pool"],
        "--threads": ["0", "-1", "1025", "two"],
        "--seed": ["", "-1", "18446744073709551616", "x"],
        "--load-weights": [""],
        "--save-weights": [""],
    }
    for option, values in bad.items():
        for value in values:
            yield [f"{option}={value}"], rf'{option} cannot be "{re.escape(value)}"; allowed: .+'
            yield [option, value], rf'{option} cannot be "{re.escape(value)}"; allowed: .+'
        yield [option], rf"{option} needs a value; allowed: .+"
    for unknown in ["--bach=1", "--batch1", "--", "-", "1024", "--detachment=on", "-h"]:
        yield [unknown], rf'unknown option "{re.escape(unknown)}"; --help lists what there is'


def options():
    for arguments, pattern in wrong_options():
        for sample in ["sample_accumulate", "sample_detach", "sample_no_grad"]:
            # one skipped image, should the option be accepted by mistake
            result = run(sample, "--compute=skip", "--batch=1", *arguments)
            what = f"{sample} {arguments}"
            expect(f"{what}: status", result.returncode, 2)
            expect(f"{what}: stdout", result.stdout, "")
            if not re.fullmatch(f"{sample}: {pattern}\n", result.stderr):
                expect(f"{what}: stderr", result.stderr, pattern)
    help_text = run("sample_accumulate", "--help")
    expect("--help: status", (help_text.returncode, help_text.stderr), (0, ""))
    for option in ["--batch", "--iterations", "--detach", "--memory", "--device", "--compute", "--allocator",
                   "--threads", "--seed", "--load-weights", "--save-weights", "--help"]:
        expect(f"--help names {option}", f"  {option}" in help_text.stdout, True)
    good = ["--compute", "skip", "--batch", "2", "--iterations=2", "--memory=2GB", "--allocator", "malloc",
            "--threads=1", "--seed=18446744073709551615", "--detach", "off"]
    result = run("sample_accumulate", *good)
    expect("good options", (result.returncode, result.stderr), (0, ""))
    missing = run("sample_detach", "--batch=1", "--load-weights=/nonexistent")
    expect("missing weights", (missing.returncode, missing.stderr),
           (1, "sample_detach: cannot read /nonexistent: No such file or directory\n"))
    ordinal = subprocess.run([os.path.join(folder, "sample_detach"), f"--device={device}:7"],
                             capture_output=True, text=True)
    expect("no such device: status", ordinal.returncode, 1)
    expect("no such device: one line", ordinal.stderr.count("\n"), 1)
    tiny = run("sample_accumulate", "--compute=skip", "--memory=1MiB")
    expect("parameters do not fit", (tiny.returncode, tiny.stderr),
           (3, "sample_accumulate: out of memory before the first iteration: 1,228,800 bytes for the weight of "
               "features.3 refused; 0.00 GB of 0.00 GB in use\n"))


def faults():
    """Whatever call of the runtime fails: one line or success, never a crash."""
    refused = 0
    for n in range(1, 150):
        # detect_leaks: where the failing call is a free, the stand-in keeps the block, rightly
        result = run("sample_accumulate", "--compute=skip", "--batch=1", "--iterations=1",
                     HOSTCUDA_FAIL=f"*:{n}", ASAN_OPTIONS="detect_leaks=0")
        what = f"call {n} fails"
        expect(f"{what}: status is 0, 1 or 3", result.returncode in (0, 1, 3), True)
        expect(f"{what}: a line exactly if it failed", result.stderr.count("\n"), 1 if result.returncode else 0)
        refused += result.returncode == 3
    # 16 parameters, x, 19 tensors of the forward, the sum
    expect("failing allocations end in status 3", refused, 37)


def leaks():
    valgrind = shutil.which("valgrind")
    if not valgrind:
        print("valgrind is not here")
        sys.exit(SKIPPED)
    checked = [valgrind, "-q", "--leak-check=full", "--show-leak-kinds=definite,indirect",
               "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]
    cases = [
        (0, "", ["sample_detach"]),
        (0, "", ["sample_detach", "--detach=off", "--iterations=2"]),
        (0, "", ["sample_no_grad", "--allocator=malloc"]),
        (0, "", ["sample_accumulate", "--detach=on", "--iterations=2"]),
        (3, "", ["sample_accumulate"]),
        (3, "cudaMallocFromPoolAsync:1", ["sample_accumulate", "--batch=1"]),
        (3, "cudaMallocFromPoolAsync:20", ["sample_accumulate", "--batch=1"]),
        (3, "cudaMallocFromPoolAsync:21", ["sample_accumulate", "--batch=1"]),
        (3, "cudaMallocFromPoolAsync:70", ["sample_accumulate", "--batch=1"]),
        (1, "cudaMemPoolCreate:1", ["sample_accumulate", "--batch=1"]),
    ]
    for status, fault, (sample, *arguments) in cases:
        command = [*checked, os.path.join(folder, sample), f"--device={device}", "--compute=skip", *arguments]
        environment = {**os.environ, **({"HOSTCUDA_FAIL": fault} if fault else {})}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        expect(f"{sample} {arguments} {fault}: status\n{result.stderr}", result.returncode, status)


def preload():
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for sample in ["sample_accumulate", "sample_detach", "sample_no_grad"]:
        for library, found in [("libhostcuda.so", True), ("libnot_there.so", False)]:
            result = subprocess.run([f"./{sample}", "--help"], cwd=folder, capture_output=True, text=True,
                                    env={**environment, "LD_PRELOAD": library})
            warned = "cannot be preloaded" in result.stderr
            expect(f"LD_PRELOAD={library} ./{sample}", (result.returncode, not warned), (0, found))


{"rows": rows, "options": options, "faults": faults, "leaks": leaks, "preload": preload}[suite]()
sys.exit(1 if failures else 0)
