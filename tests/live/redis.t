#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A real redis-server under load: its blocks must name what the test does to it.

Debian builds it without frame pointers: samples on the CPU have the innermost function, waits the
system call and libc's function.
"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import (MS, Moment, Tap, Trace, blamed, check_run, end, functions, headline,  # noqa: E402
                  main_syscall, need, state_ns)
from real import Redis  # noqa: E402
from slow_disk import SlowDisk, why_not  # noqa: E402

KEYS = 1000000
LUA = "local n = 0; for i = 1, 6000000 do n = n + i % 7 end; return n"
KEYS_FUNCTIONS = {"keysCommand", "dictNext", "stringmatchlen", "stringmatchlen_impl"}


def check_keys(tap, block):
    if not tap.check(block, "KEYS on a million keys is a block"):
        return
    tap.note(headline(block))
    tap.check(blamed(block) == "cpu", "KEYS: the cause is cpu", headline(block))
    seen = functions(block, "running")
    tap.check(seen & KEYS_FUNCTIONS, "KEYS: its stacks have the searching functions", seen)
    frame = block["cause"].get("frame") or {}
    tap.check("redis" in frame.get("module", ""), "KEYS: redis' own code is to blame", frame)


def check_sleep(tap, block):
    if not tap.check(block, "DEBUG SLEEP 0.15 is a block"):
        return
    tap.note(headline(block))
    tap.check(blamed(block) == "sleep", "DEBUG SLEEP: the cause is sleep", headline(block))
    tap.check(main_syscall(block) in ("clock_nanosleep", "nanosleep"), "DEBUG SLEEP: in clock_nanosleep",
              headline(block))
    slept = state_ns(block, "sleep")
    tap.check(149 * MS <= slept <= 250 * MS, f"DEBUG SLEEP: {slept / MS:.1f} ms of sleep, 150 wanted")


def check_lua(tap, block):
    if not tap.check(block, "a slow Lua script is a block"):
        return
    tap.note(headline(block))
    tap.check(blamed(block) == "cpu", "EVAL: the cause is cpu", headline(block))
    frame = block["cause"].get("frame") or {}
    tap.check(any(word in frame.get("module", "") for word in ("redis", "lua")),
              "EVAL: redis' own code, or Lua's library, is to blame", frame)


def check_fork(tap, block):
    """The fork's length depends on the machine. It is judged if it was long enough for a block with
    samples."""
    what = "BGSAVE: the fork is kernel time"
    if not block:
        return tap.skip(what, "it took less than the threshold")
    tap.note(headline(block))
    if not functions(block, "running"):
        return tap.skip(what, "it took less than two ticks of the sampler")
    return tap.check(blamed(block) in ("kernel", "page_fault"), what, headline(block))


def check_append(tap, trace):
    """appendfsync always: each write waits for the slowed disk before its answer."""
    what = "AOF, appendfsync always: the waits for the disk"
    slow = sorted(trace.blocks, key=lambda b: -b["duration_ns"])[:20]
    if not tap.check(len(slow) >= 5, f"{what} are blocks", len(slow)):
        return
    tap.note(headline(slow[0]))
    disk = [b for b in slow if blamed(b) == "disk"]
    tap.check(len(disk) > len(slow) * 0.6,
              f"{what} are the cause of {len(disk)} of the {len(slow)} longest blocks",
              *[headline(b) for b in slow[:10]])
    calls = {main_syscall(b) for b in disk} - {None}  # None: many short waits, none with a span
    # A write may wait until the journal has written.
    tap.check("fdatasync" in calls and calls <= {"fdatasync", "write"}, f"{what} are in fdatasync", calls)


def append(tap, folder):
    redis = Redis(folder, "--appendonly", "yes", "--appendfsync", "always")
    load = None
    try:
        with SlowDisk(folder, write_iops=50) as slow, Trace(redis.process.pid, threshold="10ms") as trace:
            slow.hold(redis.process.pid)
            load = redis.load("set", clients=4)
            time.sleep(3)
            end(load)
            load = None
    finally:
        if load:
            end(load)
        end(redis.process)
    check_run(tap, trace, "redis with AOF", "redis-server", "redis")
    check_append(tap, trace)


def busy(tap, folder):
    """Constant load, and something slow now and then."""
    redis = Redis(folder)
    load = None
    try:
        redis.do("DEBUG", "POPULATE", str(KEYS), "key", "64")
        load = redis.load("get,set", clients=20)
        time.sleep(0.3)
        with Trace(redis.process.pid, threshold="3ms", options=["-F", "999"]) as trace:
            moments = {}
            for name, command in (("keys", ["KEYS", "no-such-*-key"]), ("sleep", ["DEBUG", "SLEEP", "0.15"]),
                                  ("lua", ["EVAL", LUA, "0"]), ("fork", ["BGSAVE"])):
                time.sleep(0.5)
                with Moment() as moments[name]:
                    redis.do(*command)
            time.sleep(0.5)
    finally:
        if load:
            end(load)
        end(redis.process)
    check_run(tap, trace, "redis under load", "redis-server", "redis")
    checks = (("keys", check_keys), ("sleep", check_sleep), ("lua", check_lua), ("fork", check_fork))
    for name, check in checks:
        check(tap, moments[name].block(trace.blocks))
    tap.check(trace.summary["dispatches"] > 10000, "redis under load: dispatches are counted",
              trace.summary)


def main():
    need("redis-server", "redis-benchmark", "redis-cli")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-redis-") as folder:
        busy(tap, folder)
    # A folder on a disk, which /tmp need not be.
    with tempfile.TemporaryDirectory(prefix="jank-redis-", dir="/var/tmp") as folder:
        if why_not(folder):
            tap.skip("AOF on a slow disk", why_not(folder))
        else:
            append(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
