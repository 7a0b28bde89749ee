#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A thread that waits for work in several calls is idle in each: no block, no hang, and no long
dispatch in the counts. A handler that waits by the same calls is found."""
import json
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import MS, Lettered, Tap, Trace, build, end, headline, main_syscall, need, start, state_ns  # noqa: E402
from subprocess import DEVNULL, PIPE  # noqa: E402

THRESHOLD = "60ms"
REST_MS = 700     # shorter than each rest of a worker, longer than what a busy machine adds
STALLS = 6
SLEEPS = ("futex", "poll", "sleep")


def slept_ms(block):
    return sum(state_ns(block, state) for state in SLEEPS) / MS


def open_dispatches(trace):
    """Those that slept for long when they were seen, in all intervals."""
    records = [json.loads(line) for line in trace.lines.split("\n") if line]
    return [item for record in records if record["type"] == "interval" for item in record.get("open", ())
            if item["duration_ns"] > REST_MS * MS and item["state"] in SLEEPS]


def check_rests(tap, program, mode, rounds):
    """A worker that rests for seconds, again and again."""
    process = start([program, mode], stdin=PIPE, stdout=DEVNULL)
    with Trace(process.pid, threshold=THRESHOLD, options=["--interval", "500ms"]) as trace:
        for _ in range(rounds):
            process.stdin.write(b"x")
            process.stdin.flush()
            time.sleep(2.5)
    process.stdin.close()
    end(process)
    rests = [block for block in trace.all_blocks + trace.hangs if slept_ms(block) > 50]
    tap.check(not rests, f"{mode}: {len(rests)} of its rests are blocks or hangs", *map(headline, rests))
    longest = max((loop.get("max_ns", 0) for loop in trace.summary["loops"]), default=0)
    tap.check(longest < REST_MS * MS, f"{mode}: nor are they dispatches: the longest has {longest / MS:.1f} ms")
    tap.check(not open_dispatches(trace), f"{mode}: nor open ones in intervals", *map(str, open_dispatches(trace)))


def check_stalls(tap, program, mode, letters, calls):
    """Stalls in the work, at most as many blocks by these calls, and none for the time between."""
    seat = Lettered([program, mode])
    with Trace(seat.pid, threshold=THRESHOLD) as trace:
        for letter in "x" * 40 + letters * (STALLS // len(letters)):
            seat.do(letter)
        time.sleep(1)
    seat.end()
    sleepers = [block for block in trace.blocks if slept_ms(block) > 50]
    found = [block for block in sleepers if main_syscall(block) in calls]
    tap.check(len(found) == len(sleepers) == STALLS, f"{mode}: {len(found)} of {STALLS} stalls, {len(sleepers)} blocks",
              *map(headline, sleepers))
    loop = max(trace.summary["loops"], key=lambda entry: entry["dispatches"])
    tap.check(loop.get("p50_ns", 0) < 50 * MS, f"{mode}: most of its dispatches are short", str(loop.get("p50_ns")))


def main():
    need("cc")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-rests-") as folder:
        program = build(folder, "rests.c", "-pthread")
        check_rests(tap, program, "pool", 4)
        check_rests(tap, program, "beside", 3)
        check_stalls(tap, program, "handler", "s", ("poll", "futex"))
        for call in ("ppoll", "poll", "pselect"):
            check_stalls(tap, program, f"own-{call}", "sS", ("poll", "clock_nanosleep"))
    tap.end()


if __name__ == "__main__":
    main()
