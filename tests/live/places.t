#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which of a thread's waits belong to its loop: in any call, and also where the depth of the stack
suggests otherwise."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import JANKBPF, Tap, blamed, build, headline, need, trace_whole  # noqa: E402

TURNS = 60


def test_deep_select(tap, folder):
    """A program that calls select from a function with large arrays; its handlers poll one
    descriptor from higher in the stack."""
    trace = trace_whole([build(folder, "selector.c"), str(TURNS)], "50ms")
    stalls = [b for b in trace.blocks if b["cause"]["kind"] == "sleep"]
    idle = [b for b in trace.blocks if b["cause"]["kind"] == "poll"]
    tap.check(len(stalls) == TURNS // 10, f"select, deep: {len(stalls)} stalls of {TURNS // 10}", *map(headline, trace.blocks))
    tap.check(not idle, "select, deep: no idle wait is a block", *map(headline, idle))


CALLS = ("eventfd", "pipe", "sigwait", "mq", "accept", "client", "sem", "cond", "frame")
PIECES = 40  # every fifth takes 120 ms
STALLS = PIECES // 5
EARLY = 3  # stalls that may come before a check finds the thread


def trace_waiter(program, call, *options):
    """The report about a program that waits in this call: its blocks, and its summary."""
    pool = ["pool"] if "--workers" in options else []
    command = [JANKBPF, "--json", "-t", "60ms", *options, "--", program, call, str(PIECES), *pool]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [r for r in records if r["type"] == "block"], records[-1]


def check_waiter(tap, program, call, *options):
    """Its stalls are sleeps and computations in turn. A block with any other cause was a wait for
    work."""
    name = " ".join((call, *options))
    blocks, summary = trace_waiter(program, call, *options)
    stalls = [b for b in blocks if blamed(b) in ("cpu", "sleep") and b["duration_ns"] > 110e6]
    idle = [b for b in blocks if b["cause"]["kind"] not in ("cpu", "sleep", "runnable")]
    tap.check(STALLS - EARLY <= len(stalls) <= STALLS, f"{name}: {len(stalls)} of {STALLS} stalls", *map(headline, blocks), str(summary["not_watched"]))
    tap.check(all(b.get("turns") == "unknown" for b in blocks), f"{name}: each says that it may be several pieces")
    tap.check(not idle, f"{name}: no idle wait is a block", *map(headline, idle))


def test_calls(tap, folder):
    """A main thread's loop may wait in any of these calls; with --workers a pool's thread, too."""
    program = build(folder, "waiter.c", "-pthread")
    for call in CALLS:
        check_waiter(tap, program, call)
    for call in ("cond", "accept"):
        check_waiter(tap, program, call, "--workers")


def main():
    need("cc")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        test_deep_select(tap, folder)
        test_calls(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
