#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kernels without optional features: the programs load, and every block is reported. Each optional
feature is off once, and each pair of them. Without a required feature, the message names it and the
status is 77."""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from tap import Tap, skip_all  # noqa: E402

JANKBPF = os.environ.get("JANKBPF", os.path.join(ROOT, "jankbpf"))
SIMJANK = os.path.join(ROOT, "simjank")
MS = 1000000
WORK = ["--quiet", "--scenario", "busy:30ms,sleep:30ms,epoll:30ms", "--gap", "5ms"]
WAITS = {"syscall_tracepoints", "raw_syscalls"}  # without both, waits are seen by uprobes
TYPED = {"btf", "tp_btf", "current_task_btf", "task_storage", "task_pt_regs", "task_iter"}  # else the plain probes
TYPES = "/sys/kernel/btf/vmlinux"  # switched off by name, to pretend that the kernel has none
SAMPLER = ({"perf_event"}, {"hw_cycles", "cpu_clock"})  # without all of a set there are no samples


def jankbpf(*options):
    return subprocess.run([JANKBPF, *options], capture_output=True, text=True, timeout=60, check=False)


def features():
    """(required, optional) features, by name."""
    known = jankbpf("--disable-feature", "none-such", "--", "true").stderr
    names = re.search(r"known are (.*)", known).group(1).split(", ")
    required = [name for name in names
                if jankbpf("--disable-feature", name, "--btf", TYPES, "--", "true").returncode == 77]
    return required, [name for name in names if name not in required]


def trace(off):
    """Returns its records, its messages and the truth. Uprobes are placed while the program runs,
    so it waits for them."""
    disable = [word for name in off for word in ("--disable-feature", name)]
    disable += ["--btf", TYPES] if "btf" in off else []
    with tempfile.NamedTemporaryFile(mode="r", prefix="features-") as truth:
        work = [*WORK, "--count", "3", "--truth", truth.name,
                "--start-delay", "300ms" if WAITS <= set(off) else "20ms"]
        run = jankbpf("--json", "-t", "25ms", "-d", "10s", *disable, "--", SIMJANK, *work)
        known = [json.loads(line) for line in truth]
    return run, [json.loads(line) for line in run.stdout.splitlines()], known


def blocks_of(records, truth):
    """The block of each dispatch of the list, in order. A busy machine may make other dispatches
    slow, too."""
    wanted = [each for each in truth if each.get("scenario") in ("busy", "sleep", "epoll")]
    return [[record for record in records
             if record["type"] == "block" and record["start_ns"] <= each["begin_ns"] and
             record["start_ns"] + record["duration_ns"] >= each["end_ns"]] for each in wanted]


def time_of(block, kind):
    """The state's time plus the wait for a CPU: the machine may be busy."""
    return block["time"]["blocked_ns"].get(kind, 0) + block["time"]["runnable_ns"]


def wrong_with(off, records, truth):
    """What is wrong in the three blocks of WORK; None when all is right."""
    found = blocks_of(records, truth)
    if [len(blocks) for blocks in found] != [1, 1, 1]:
        return f"blocks for each dispatch: {[len(blocks) for blocks in found]}"
    busy, sleep, poll = (blocks[0] for blocks in found)
    for block in busy, sleep, poll:
        time = block["time"]
        total = time["running_ns"] + time["runnable_ns"] + sum(time["blocked_ns"].values())
        if total != block["duration_ns"] or block["duration_ns"] < 29 * MS:
            return f"an account of {total} for {block['duration_ns']}"
    if busy["time"]["running_ns"] + busy["time"]["runnable_ns"] < 28 * MS:
        return f"busy: {busy['time']}"
    if time_of(sleep, "sleep") < 25 * MS or time_of(poll, "poll") < 25 * MS:
        return f"no sleep, no poll: {sleep['time']}, {poll['time']}"
    ticks = [sample for sample in busy["samples"] if sample["state"] == "running"]
    if ticks and any(part <= set(off) for part in SAMPLER):
        return "samples without a sampler"
    if records[-1]["type"] != "summary" or not records[-1]["dispatches"]:
        return f"counts: {records[-1]}"
    return None


def test_set(tap, off):
    run, records, truth = trace(off)
    wrong = wrong_with(off, records, truth) if run.returncode == 0 else f"status {run.returncode}"
    tap.check(not wrong, "without " + (" and ".join(off) or "nothing"), wrong, run.stderr, run.stdout)
    return run


def main():
    tap = Tap()
    trial = jankbpf("-q", "--", "true")
    if trial.returncode == 77:
        skip_all(trial.stderr.strip())
    required, optional = features()
    tap.check(required == ["ringbuf"] and TYPED < set(optional), "the features are known", required, optional)
    for name in required:
        run = jankbpf("--disable-feature", name, "--", SIMJANK, "--quiet", "--count", "1")
        tap.check(run.returncode == 77 and not run.stdout and f"feature '{name}' is switched off" in run.stderr,
                  f"without {name}: status 77, with the reason", run.returncode, run.stderr)
    # one stands for all that lead to plain probes
    paired = [name for name in optional if name not in TYPED - {"btf"}]
    for off in [(), *((name,) for name in optional), *itertools.combinations(paired, 2)]:
        test_set(tap, off)
    run = test_set(tap, tuple(name for name in optional if name != "uprobe"))
    tap.check("no samples of running code" in run.stderr, "  and a message says that there are no samples", run.stderr)
    run, _, _ = trace((*WAITS, "uprobe"))
    tap.check(run.returncode == 77 and "no way to see waits" in run.stderr,
              "without tracepoints and uprobes: status 77, with the reason", run.returncode, run.stderr)
    for names in (("--backend", "kernel"), ()):
        run = jankbpf(*names, *(word for name in WAITS for word in ("--disable-feature", name)), "-q", "--",
                      "true")
        tap.check(run.returncode == (77 if names else 0),
                  f"without tracepoints, {' '.join(names) or '--backend auto'}: {run.returncode}", run.stderr)
    tap.end()


if __name__ == "__main__":
    main()
