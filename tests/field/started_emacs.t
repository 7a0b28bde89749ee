#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Emacs, started by jankbpf in a terminal: it waits at one place while it starts, and at another
one from the first key on."""
import glob
import json
import os
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import JANKBPF, MS, ROOT, wait_for  # noqa: E402
from real import Terminal  # noqa: E402

STALLS = os.path.join(ROOT, "tests", "verdicts", "desktop", "stalls.el")
KINDS, ROUNDS, DELAY_S, IDLE_S = 3, 2 if SHORT else 5, 12, 3 if SHORT else 30
RUNS = 1 if SHORT else 2
SLACK_NS = 30 * MS
field = Field("Programs started by --")


def records(folder):
    for path in glob.glob(os.path.join(folder, "out", "*.jsonl")):
        with open(path, encoding="utf-8") as file:
            yield from (json.loads(line) for line in file)


def stalls(log):
    """[(begin, end)] by CLOCK_MONOTONIC."""
    off = time.time_ns() - time.monotonic_ns()
    with open(log, encoding="ascii") as file:
        return [(int(begin) - off, int(end) - off) for begin, end, _ in map(str.split, file)]


def covers(block, stall):
    begin, end = block["start_ns"], block["start_ns"] + block["duration_ns"]
    return begin <= stall[0] + SLACK_NS and end >= stall[1] - SLACK_NS and \
        block["duration_ns"] < 1.5 * (stall[1] - stall[0]) + 200 * MS


def run(folder):
    """Its records and its stalls."""
    log, errors = os.path.join(folder, "stalls"), os.path.join(folder, "stderr")
    with open(log, "w", encoding="ascii"):
        pass
    env = dict(os.environ, HOME=folder, STALLS_FILE=log, STALLS_DELAY=str(DELAY_S), STALLS_ROUNDS=str(ROUNDS))
    trace = f"{JANKBPF} -v -t 100ms --hang 2s -o {folder}/out --format json -- emacs -nw -Q -l {STALLS} 2> {errors}"
    terminal = Terminal(folder, trace, env)
    try:
        wait_for(lambda: "tracing;" in open(errors, encoding="utf-8").read(), 120, "the trace")
        time.sleep(4)
        for _ in range(27):
            terminal.type("x")
            time.sleep(0.2)
        wait_for(lambda: len(stalls(log)) == KINDS * ROUNDS, 120, "the last stall")
        time.sleep(IDLE_S)
        os.kill(terminal.pid, signal.SIGINT)
        wait_for(lambda: any(record["type"] == "summary" for record in records(folder)), 60, "the summary")
        return list(records(folder)), stalls(log)
    finally:
        terminal.end()


missing = [name for name in ("emacs", "tmux") if not shutil.which(name)]
if missing:
    field.skip("Emacs", f"{missing} not installed")
for _ in () if missing else range(RUNS):
    with tempfile.TemporaryDirectory() as scratch:
        found, truth = run(scratch)
    blocks = [record for record in found if record["type"] == "block" and record["duration_ns"] > record["threshold_ns"]]
    right = [stall for stall in truth if any(covers(block, stall) for block in blocks)]
    field.cases("Emacs: stalls after 27 keys are found", len(right), len(truth), details=[truth, blocks])
    first_ns = truth[0][0] - SLACK_NS
    idle = [record for record in found if record["type"] in ("block", "hang") and record["start_ns"] > first_ns
            and not any(covers(record, stall) for stall in truth)
            and sum(record["time"].get("blocked_ns", {}).values()) * 2 > record["duration_ns"]]
    field.case("Emacs: no wait for a key is reported", not idle, *idle)
field.done()
