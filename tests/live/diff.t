#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf diff on runs of simjank: an equal pair, one with more and longer stalls, bad operands."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

EQUAL = ("--scenario", "sleep:30ms-60ms,sleep:5ms,sleep:2ms,sleep:1ms", "--order", "random", "--gap", "15ms")
WORSE = ("--scenario", "sleep:30ms-60ms,sleep:30ms-60ms,sleep:8ms,sleep:90ms", "--order", "random", "--gap", "15ms")


def record(name, seed, options):
    """Six seconds of it, in a directory."""
    process = bad.simjank(*options, "--seed", seed, "--count", "1000000")
    directory = bad.scratch(name)
    bad.Tracer("-q", "--json", "-t", "25ms", "-d", "6", "--interval", "400ms", "-o", directory, "-p", process.pid,
               wait=False).finish(120)
    bad.end(process)
    return directory


def diff(*words):
    return subprocess.run([bad.JANK, "diff", *words], capture_output=True, text=True, timeout=60, check=False)


def test_findings(a, b, worse):
    done = diff("--json", a, b)
    findings = json.loads(done.stdout)["findings"]
    # Sleeps do not depend on who else wants the CPU; what does may differ on a busy machine.
    slept = [f for f in findings if "slept" in f.get("summary", "") and "CPU" not in f.get("summary", "")]
    ok(slept and all(f["verdict"] == "same" for f in slept), "an equal pair: no fault of sleeping differs", findings)
    done = diff("--json", a, worse)
    findings = json.loads(done.stdout)["findings"]
    found = {f["what"] for f in findings if f["verdict"] == "worse"}
    ok(done.returncode == 3 and {"fault", "blocks", "p90"} <= found, "more and longer stalls are found", done.stdout)
    text = diff(a, worse)
    ok(text.returncode == 3 and "blocks per 10⁶ dispatches, ×" in text.stdout and "do_sleep" in text.stdout,
       "as text, with rates and the function", text)


def test_operands(a):
    done = diff(a)
    ok(done.returncode == 2 and "needs two" in done.stderr, "one operand is refused", done)
    done = diff(a, "/nonexistent")
    ok(done.returncode == 1 and "No such file" in done.stderr, "a missing one is named", done)
    empty = bad.scratch("empty")
    os.mkdir(empty)
    done = diff(a, empty)
    ok(done.returncode == 1 and "no record of jankbpf" in done.stderr, "an empty directory", done)
    done = diff(f"{a}@..1h", a)
    ok(done.returncode == 1 and "--interval" in done.stderr, "a time without intervals", done)
    done = diff(f"{a}@1h..2h", a)
    ok(done.returncode == 2 and "not later" in done.stderr, "a time that ends before it begins", done)
    done = diff(f"{a}@1h..", f"{a}@1h..")
    ok(done.returncode == 0 and "0 worse, 0 better" in done.stdout, "a directory with itself: nothing differs", done)


a_dir = record("a", 1, EQUAL)
test_findings(a_dir, record("b", 2, EQUAL), record("c", 3, WORSE))
test_operands(a_dir)
bad.done()
