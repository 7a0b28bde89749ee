#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program is watched, or listed as not watched, at any time: what was true for a part of the run
is in the summary with its times."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import Field  # noqa: E402
from live import JANKBPF, MS, Trace, end, need, start, wait_for  # noqa: E402

need("python3")
PAUSE_S = 2.5
# Waits for a child's end, which is no loop; then loops.
PROGRAM = """
import select, subprocess, sys, threading, time
subprocess.run(["cat"], stdin=sys.stdin)
def loop(turns):
    epoll = select.epoll()
    for _ in range(turns):
        epoll.poll(0.01)
        time.sleep(0.03)
if sys.argv[1] == "thread":
    threading.Thread(target=loop, args=(10000,), daemon=True).start()
    time.sleep(1000)
loop(10000)
"""
field = Field("Not watched")


def traced(kind):
    """The summary's list, the time from the start of tracing to the loop's begin, and its text."""
    program = start([sys.executable, "-c", PROGRAM, kind], stdin=subprocess.PIPE)
    try:
        with Trace(program.pid, threshold="25ms") as trace:
            begin_ns = time.monotonic_ns()
            wait_for(lambda: any("not watched" in line for line in trace.messages), 60, "the first look")
            time.sleep(PAUSE_S)
            program.stdin.close()
            wait_for(lambda: '"block"' in open(trace.out.name, encoding="utf-8").read(), 60, "a block")
            time.sleep(1)
        text = subprocess.run([JANKBPF, "replay", trace.journal], capture_output=True, text=True, check=False, timeout=60).stdout
        return program.pid, trace, begin_ns, text
    finally:
        end(program)


def first_block_ns(trace, begin_ns):
    return min(block["start_ns"] for block in trace.all_blocks) - begin_ns


def main_thread():
    pid, trace, begin_ns, text = traced("main")
    entries = [entry for entry in trace.summary["not_watched"] if entry["pid"] == pid]
    field.case("an early line stays in the summary when a loop appears", len(entries) == 1 and entries[0]["reason"] == "no_loop", entries)
    until_ns = entries[0].get("until_ns", 0) if entries else 0
    field.case("with the time up to which it was true",
               PAUSE_S * 10 ** 9 < until_ns < first_block_ns(trace, begin_ns) + 2 * 10 ** 9, entries)
    field.case("as text, too", "after the start: no loop seen" in " ".join(text.split()), text[-2000:])


def another_thread():
    pid, trace, _, _ = traced("thread")
    entries = {entry["reason"]: entry for entry in trace.summary["not_watched"] if entry["pid"] == pid}
    field.case("first no loop, then none of the main thread", set(entries) == {"no_loop", "main_thread"}, entries)
    times = [entries.get("no_loop", {}).get("until_ns", 0), entries.get("main_thread", {}).get("from_ns", 1)]
    field.case("the second begins when the first ends", abs(times[0] - times[1]) < MS and times[0] > PAUSE_S * 10 ** 9, entries)


main_thread()
another_thread()
field.done()
