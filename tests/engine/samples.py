#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The samples as their users run them: samples.py SUITE FOLDER [DEVICE]

rows      figures at batch 1024 with --compute=skip, to the byte
options   every option's check: one line, exit status 2
faults    the device fails at the n-th call, for every n
leaks     nothing is lost, by valgrind, or by LeakSanitizer in a build with AddressSanitizer
train     the training loop learns, and each mistake in it shows in bytes and nodes
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


TRAIN_CHOICES = {"--keep-loss": "number", "--validation": "no_grad", "--carry-state": "detached",
                 "--optimizer": "sgd"}


def train_options():
    for option in TRAIN_CHOICES:
        for value in ["", "yes", "Tensor"]:
            yield [f"{option}={value}"], rf'{option} cannot be "{value}"; allowed: .+'
        yield [option], rf"{option} needs a value; allowed: .+"
    for option in ["--retain-graph", "--cache-features"]:
        yield [f"{option}=on"], f"{option} takes no value"
    for unknown in ["--detach=on", "--save-weights=x"]:  # of the other samples
        yield [unknown], rf'unknown option "{re.escape(unknown)}"; --help lists what there is'


def options():
    for arguments, pattern in train_options():
        result = run("sample_train", "--compute=skip", "--iterations=1", *arguments)
        expect(f"sample_train {arguments}: status", (result.returncode, result.stdout), (2, ""))
        if not re.fullmatch(f"sample_train: {pattern}\n", result.stderr):
            expect(f"sample_train {arguments}: stderr", result.stderr, pattern)
    help_text = run("sample_train", "--help").stdout
    for option in [*TRAIN_CHOICES, "--retain-graph", "--cache-features", "--batch", "--seed"]:
        expect(f"sample_train --help names {option}", f"  {option}" in help_text, True)
    expect("sample_train --help", "--detach" in help_text, False)
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


def leak_checker():
    """What to put in front of a program, and its environment."""
    if "address" in os.environ.get("GRADPROF_TEST_SANITIZER", ""):
        return [], {"ASAN_OPTIONS": "intercept_tls_get_addr=0:detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1"}
    valgrind = shutil.which("valgrind")
    if not valgrind or os.environ.get("GRADPROF_TEST_SANITIZER", "none") != "none":
        print("no valgrind, or a build that it cannot run")
        sys.exit(SKIPPED)
    return [valgrind, "-q", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"], {}


def leaks():
    checked, environment = leak_checker()
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
        *((0, "", ["sample_train", "--iterations=21", *mistake]) for mistake in MISTAKES.values()),
        *((3, f"cudaMallocFromPoolAsync:{n}", ["sample_train", "--iterations=11", "--validation=grad"])
          for n in (3, 12, 30, 45, 60, 75, 200)),
    ]
    for status, fault, (sample, *arguments) in cases:
        command = [*checked, os.path.join(folder, sample), f"--device={device}", "--compute=skip", *arguments]
        here = {**os.environ, **environment, **({"HOSTCUDA_FAIL": fault} if fault else {})}
        result = subprocess.run(command, capture_output=True, text=True, env=here)
        expect(f"{sample} {arguments} {fault}: status\n{result.stderr}", result.returncode, status)


MISTAKES = {
    "none": [],
    "adam": ["--optimizer=adam"],
    "keep-loss": ["--keep-loss=tensor"],
    "validation": ["--validation=grad"],
    "retain-graph": ["--retain-graph"],
    "cache-features": ["--cache-features"],
    "carry-state": ["--carry-state=attached"],
}


def train_figures(*options):
    """By step: (loss, bytes, nodes), and the last line's first and last loss."""
    result = run("sample_train", *options)
    expect(f"sample_train {options}: status\n{result.stderr}", result.returncode, 0)
    found = re.findall(r"^step (\d+): loss ([\d.]+), ([\d,]+) bytes, ([\d,]+) nodes$", result.stdout, re.M)
    last = re.search(r"^loss ([\d.]+) -> ([\d.]+), mean ", result.stdout, re.M)
    number = lambda text: int(text.replace(",", ""))
    return ({int(step): (float(loss), number(size), number(nodes)) for step, loss, size, nodes in found},
            tuple(map(float, last.groups())) if last else None)


def train():
    # 32 images: features 65,536 bytes, state 8,192, its sum 8,192 saved by output; conv 262,144 saved by
    # relu and 32,768 by 8: see docs/ENGINE.md for where each comes from
    base, first_and_last = train_figures()
    expect("the loss at least halves", first_and_last[1] < first_and_last[0] / 2, True)
    expect("memory is flat", base[50][1:], base[200][1:])
    skipped, none = train_figures("--compute=skip")
    expect("skip: the same bytes and nodes", [f[1:] for f in skipped.values()], [f[1:] for f in base.values()])
    expect("skip: no loss", none, None)
    adam, first_and_last = train_figures("--optimizer=adam")
    expect("Adam learns", first_and_last[1] < first_and_last[0] / 2, True)
    expect("Adam: two states a parameter", adam[200][1] - base[200][1], (512 * 64 + 64 + 64 * 10 + 10) * 4)
    kept, _ = train_figures("--keep-loss=tensor")
    expect("kept losses: 4 bytes a step", kept[200][1] - base[200][1], 199 * 4)
    expect("kept losses: 7 nodes a step", kept[200][2] - kept[100][2], 700)
    validation, _ = train_figures("--validation=grad")
    expect("validation: bytes grow", validation[200][1] - validation[100][1], 10 * 566532)
    expect("validation: nodes grow", validation[200][2] - validation[100][2], 110)
    retained, _ = train_figures("--retain-graph")
    expect("retained: more than the base, but flat", retained[200][1] - base[200][1], 1284)
    expect("retained: flat", retained[50][1:], retained[200][1:])
    cached, _ = train_figures("--cache-features")
    expect("cached: bounded by the number of batches", cached[50][1:], cached[200][1:])
    expect("cached: 16 graphs", cached[200][1] - base[200][1], 16 * (262144 + 131072 + 98304 + 65536) - 65536)
    carried, _ = train_figures("--carry-state=attached", "--iterations=50")
    expect("carried: each step's features stay", carried[50][1] - carried[1][1], 49 * 65536 + 4)


def preload():
    if os.environ.get("GRADPROF_TEST_SANITIZER", "none") != "none":
        print("a sanitizer's runtime wants to be loaded before any other library")
        sys.exit(SKIPPED)
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for sample in ["sample_accumulate", "sample_detach", "sample_no_grad"]:
        for library, found in [("libhostcuda.so", True), ("libnot_there.so", False)]:
            result = subprocess.run([f"./{sample}", "--help"], cwd=folder, capture_output=True, text=True,
                                    env={**environment, "LD_PRELOAD": library})
            warned = "cannot be preloaded" in result.stderr
            expect(f"LD_PRELOAD={library} ./{sample}", (result.returncode, not warned), (0, found))


{"rows": rows, "options": options, "faults": faults, "leaks": leaks, "preload": preload, "train": train}[suite]()
sys.exit(1 if failures else 0)
