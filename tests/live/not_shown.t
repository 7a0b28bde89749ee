#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Why was my block not shown? The summary counts what was withheld, by reason, and -v tells each."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

COUNT = 6  # stalls, each one of the scenarios by chance; on a busy machine other dispatches are blocks, too


def run(*args):
    """Traces a simjank that sleeps, and is stopped."""
    return bad.trace("-t", "20ms", "--no-follow", *args, "--", bad.SIMJANK, "--quiet", "--seed", "3", "--scenario", "sleep:60ms,stopped:60ms",
                     "--gap", "5ms", "--short-rate", "0", "--count", COUNT)


def reasons(result):
    """Without threads that are on probation when the run ends: which ones are is a matter of time."""
    return {each["reason"]: each["blocks"] for each in result.summary().get("not_shown", []) if each["reason"] != "probation"}


def test_stopped():
    result = run("--json")
    found = reasons(result)
    ok(set(found) == {"stopped"} and result.summary()["stopped_blocks"] == found["stopped"] >= COUNT - result.summary()["blocks"],
       "stopped blocks are counted", f"{found} {result.summary()}")
    result = run("--json", "--debugging")
    ok(not reasons(result) and result.summary()["blocks"] >= COUNT, "--debugging: none is withheld", result.summary())


def test_options():
    result = run("--json", "--ignore", "do_sleep")
    found = reasons(result)
    ok(set(found) == {"ignored", "stopped"} and sum(found.values()) + result.summary()["blocks"] >= COUNT, "--ignore, beside the others", found)
    ok(result.summary()["blocks"] == len(result.of("block")) < found.get("ignored", 0), "and they are no blocks", result.summary())
    found = reasons(run("--json", "--sig", "0123456789abcdef"))
    ok(set(found) == {"sig", "stopped"} and sum(found.values()) >= COUNT, "--sig", found)
    result = run("--json", "-l", "glib")
    ok(reasons(result).get("loop") and not result.blocks(), "-l", result.summary())


def test_text():
    result = run("-v", "--ignore", "do_sleep")
    line = re.search(r"blocks not shown: (\d+) of stopped processes \(--debugging shows them\),( \d+ of threads that may be in no loop,)? "
                     r"(\d+) by --ignore ", " ".join(result.out.split()))
    ok(line and int(line[1]) + int(line[3]) >= COUNT - 1, "the summary answers in one line", result.out)
    told = re.findall(r"block not shown: pid \d+, \d+[.]?\d* ms: (.*)", result.err)
    ok(line and told.count("by --ignore") == int(line[3]) and told.count("of stopped processes (--debugging shows them)") == int(line[1]),
       "-v tells each of them", result.err)


bad.need_tracing()
test_stopped()
test_options()
test_text()
bad.done()
