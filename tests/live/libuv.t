#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program over the real libuv: timers, the thread pool's results, a poll and a file read in a callback."""
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (Lettered, Moment, Tap, Trace, blamed, block_of, build, check_run, check_stall,  # noqa: E402
                  drop_cache, headline, main_syscall, need, skip_all, state_ns, twice)

STALLS = [
    ("s", "a timer's callback that sleeps", "sleep", "clock_nanosleep", "on_timer_sleep"),
    ("b", "a timer's callback that computes", "cpu", None, "spin_ms"),
    ("w", "what follows the thread pool's work", "sleep", "clock_nanosleep", "on_work_done"),
    ("p", "a callback's own poll", "poll", "poll", "on_read_poll"),
]


def check_file(tap, what, block):
    what = f"{what}: a read of a file that is not in memory"
    if not block or state_ns(block, "disk") < block["duration_ns"] / 4:
        tap.skip(what, f"the disk is fast: {headline(block) if block else 'no block'}")
        return
    tap.note(headline(block))
    tap.check(blamed(block) in ("disk", "kernel"), f"{what}: the cause is the disk", headline(block))
    tap.check(main_syscall(block) in ("read", "pread64", "readv", "preadv"), f"{what}: in read",
              headline(block))


def run(tap, path, cold, backend):
    program = Lettered([path, cold])
    moments = {}
    try:
        with Trace(program.pid, options=["--backend", backend]) as trace:
            for row in STALLS:
                moments[row[0]] = twice(program.do, row[0])
            drop_cache(cold)
            with Moment() as read:
                program.do("f")
            time.sleep(0.1)
    finally:
        program.end()
    check_run(tap, trace, backend, "libuv", "libuv")
    for row in STALLS:
        check_stall(tap, backend, block_of(tap, trace.blocks, moments[row[0]]), row)
    check_file(tap, backend, read.block(trace.blocks))
    others = {b["tid"] for b in trace.blocks} - {program.pid}
    tap.check(not others, f"{backend}: the pool's threads have no loop", others)


def main():
    need("cc")
    if not os.path.exists("/usr/include/uv.h"):
        skip_all("libuv1-dev is not installed")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-libuv-", dir="/var/tmp") as folder:
        cold = os.path.join(folder, "cold")
        with open(cold, "wb") as file:
            file.write(os.urandom(1 << 20) * 96)
        path = build(folder, "libuv.c", "-luv")
        for backend in ("kernel", "uprobe"):
            run(tap, path, cold, backend)
    tap.end()


if __name__ == "__main__":
    main()
