#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The real android::Looper: what runs inside pollOnce and after it, in a program that already
runs."""
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (MS, Lettered, Moment, Tap, Trace, block_of, check_run, check_stall, headline,  # noqa: E402
                  need, skip_all, twice)
from real import build_looper  # noqa: E402

# letter, what it is, cause, system call (None: not checked), the function to blame (None: not in
# one)
STALLS = [
    ("m", "a native message", "cpu", None, "busy_in_message"),
    ("b", "a backlog of messages, each short", "cpu", None, "busy_in_message"),
    ("c", "a descriptor's callback", "sleep", "clock_nanosleep", "sleep_in_callback"),
    ("w", "the work after a wake() from another thread", "sleep", "clock_nanosleep", "sleep_after_wake"),
    ("n", "a callback's own epoll_wait", "poll", "epoll_wait", "wait_in_callback"),
    ("o", "a callback's own Looper", "poll", None, None),
]


def check_queued(tap, backend, moments, blocks):
    """A message that was queued as a callback of 60 ms began, and the others, for which the Looper
    waited."""
    for moment in moments:
        callback, message = [b for b in blocks if moment.begin_ns <= b["start_ns"] <= moment.end_ns] or (None, None)
        waited = (message or {}).get("message", {}).get("queued_ns", 0)
        whole = message and message["start_ns"] - callback["start_ns"]
        tap.check(message and 59 * MS <= waited <= whole, f"{backend}: a message was queued while a callback ran", waited, whole)


def run(tap, path, backend):
    program = Lettered([path])
    moments = {}
    try:
        # The thread waits inside pollOnce when the probes are attached: its first message counts
        # all the same.
        with Trace(program.pid, options=["--backend", backend]) as trace:
            with Moment() as first:
                program.do("m")
            time.sleep(0.15)
            for row in STALLS:
                moments[row[0]] = twice(program.do, row[0])
            queued = twice(program.do, "q")
    finally:
        program.end()
    check_run(tap, trace, backend, "looper", "android-looper")
    check_stall(tap, f"{backend}, first after -p", first.block(trace.blocks), STALLS[0])
    for row in STALLS:
        check_stall(tap, backend, block_of(tap, trace.blocks, moments[row[0]]), row)
    check_queued(tap, backend, queued, trace.blocks)
    long = [headline(b) for b in trace.blocks if b.get("message", {}).get("queued_ns", 0) > 5 * MS]
    tap.check(len(long) == len(queued), f"{backend}: no other message was queued", *long)
    tap.check(len(trace.blocks) == 1 + 2 * len(STALLS) + 2 * len(queued), f"{backend}: a block for each, and no other",
              *[headline(b) for b in trace.blocks])


def main():
    need("cc", "c++")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-looper-") as folder:
        path = build_looper(folder)
        if not path:
            skip_all("android-libutils-dev is not installed")
        for backend in ("kernel", "uprobe"):
            run(tap, path, backend)
    tap.end()


if __name__ == "__main__":
    main()
