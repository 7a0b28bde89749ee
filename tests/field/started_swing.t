#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Swing, started by jankbpf: its event thread waits at many places while it starts. The first
stalls are found, and what is not watched is said of each thread."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, ROOT, Trace, wait_for  # noqa: E402
from real import Screen  # noqa: E402

SOURCE = os.path.join(ROOT, "tests", "verdicts", "desktop", "Stalls.java")
KINDS, ROUNDS, RUNS = 3, 2 if SHORT else 7, 1 if SHORT else 3
DELAY_MS = 2000
SLACK_NS = 30 * MS
field = Field("Programs started by --")


def stalls(log):
    """[(begin, end)] by CLOCK_MONOTONIC."""
    off = time.time_ns() - time.monotonic_ns()
    with open(log, encoding="ascii") as file:
        return [(int(begin) - off, int(end) - off) for begin, end, _ in map(str.split, file)]


def overlaps(block, stall):
    return block["start_ns"] < stall[1] - SLACK_NS and block["start_ns"] + block["duration_ns"] > stall[0] + SLACK_NS


def run(folder):
    """The trace, and the stalls."""
    log = os.path.join(folder, "stalls")
    with open(log, "w", encoding="ascii"):
        pass
    command = ["--", "java", "-cp", folder, "Stalls", log, str(DELAY_MS), str(ROUNDS)]
    with Trace(threshold="100ms", options=command) as trace:
        wait_for(lambda: len(stalls(log)) == KINDS * ROUNDS, 120, "the last stall")
        time.sleep(1)
    return trace, stalls(log)


def swing():
    missing = [name for name in ("java", "javac", "Xvfb") if not shutil.which(name)]
    if missing:
        field.skip("Swing", f"{missing} not installed")
        return
    screen = Screen()
    os.environ.update(screen.env)
    try:
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["javac", "-d", folder, SOURCE], check=True)
                trace, truth = run(folder)
            check(trace, truth)
    finally:
        screen.end()


def check(trace, truth):
    blocks = [block for block in trace.blocks if block["thread"].startswith("AWT-EventQueue")]
    missed = [stall for stall in truth if not any(overlaps(block, stall) for block in blocks)]
    entries = trace.summary["not_watched"]
    start_ns = min(stall[0] for stall in truth)
    late = [entry for entry in entries if entry["reason"] == "late" and entry.get("thread", "").startswith("AWT-EventQueue")]
    # lost stalls are lost before the time that the entry gives
    field.cases("Swing: stalls from the first one on are found", len(truth) - len(missed), len(truth), details=[truth, entries])
    field.case("Swing: what is missing is said", not missed or late, missed, entries, start_ns)
    field.case("Swing: the main thread is not watched, and said so",
               any(entry["reason"] == "main_thread" and entry["tid"] == entry["pid"] for entry in entries), entries)
    wrong = [entry for entry in entries if entry["reason"] == "late" and (not entry.get("tid") or entry["late_ns"] != entry["until_ns"])]
    field.case("Swing: late is said of a thread, with its time", not wrong, wrong)


swing()
field.done()
