#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The probes on redis' messages: placed when it is calm, removed while it is too busy for them. The test reads the code in redis' memory: a probe is a breakpoint there."""
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from probed_code import Code  # noqa: E402
from live import Tap, Trace, end, headline, need, wait_for  # noqa: E402
from real import Redis  # noqa: E402

NOBODY = 65534
SLOW = "local n = 0; for i = 1, 6000000 do n = n + i % 7 end; return n"


@contextlib.contextmanager
def private_redis(uid=None):
    """Uses a copy of the program: with -a a probe belongs to the file."""
    with tempfile.TemporaryDirectory(prefix="jank-marks-") as folder:
        path = os.path.join(folder, "redis-server")
        shutil.copy(shutil.which("redis-server"), path)
        if uid is not None:
            os.chown(folder, uid, uid)
        redis = Redis(folder, program=path, uid=uid)
        try:
            yield redis, Code(redis.process.pid, path)
        finally:
            end(redis.process)


@contextlib.contextmanager
def twin_of(code):
    """Another process of the same program."""
    with tempfile.TemporaryDirectory(prefix="jank-marks-") as folder:
        redis = Redis(folder, program=code.path)
        try:
            yield Code(redis.process.pid, code.path)
        finally:
            end(redis.process)


def becomes(code, probed, seconds=15):
    try:
        wait_for(lambda: code.is_probed() == probed, seconds)
    except RuntimeError:
        return False
    return True


def stays(code, probed, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if code.is_probed() != probed:
            return False
        time.sleep(0.1)
    return True


def test_auto(tap, name, redis, code, trace):
    tap.check(becomes(code, True), f"{name}: its messages are probed")
    load = redis.load("get", 20)
    tap.check(becomes(code, False), f"{name}: those of a busy process are not", *trace.messages)
    tap.check(stays(code, False, 3), f"{name}: as long as it is busy")
    redis.do("eval", SLOW, "0")
    end(load)
    tap.check(becomes(code, True), f"{name}: those of a calm process are again", *trace.messages)
    tap.check(stays(code, True, 3), f"{name}: and stay so")
    tap.check(any(re.search(r"\d{4,} dispatches or marks a second, messages are not probed", m) for m in trace.messages),
              f"{name}: -v reports it", *trace.messages)


def check_slow(tap, name, trace):
    slow = max(trace.blocks, key=lambda block: block["duration_ns"], default=None)
    if tap.check(slow and slow["duration_ns"] > 25e6, f"{name}: the slow script was seen meanwhile",
                 *map(headline, trace.blocks)):
        tap.check(slow["loop"] == "redis", f"{name}: as redis' loop", headline(slow))


def test_process(tap):
    with private_redis() as (redis, code), twin_of(code) as twin:
        with Trace(redis.process.pid) as trace:
            test_auto(tap, "-p", redis, code, trace)
            tap.check(not twin.is_probed(), "-p: another process of its program has no probe")
        check_slow(tap, "-p", trace)
        tap.check(becomes(code, False), "-p: its code is restored in the end")


def test_busy_at_first(tap):
    with private_redis() as (redis, code):
        load = redis.load("get", 20)
        with Trace(redis.process.pid) as trace:
            tap.check(stays(code, False, 3), "busy when the trace begins: its messages are not probed", *trace.messages)
            end(load)
            tap.check(becomes(code, True), "until it is calm", *trace.messages)


def test_all(tap):
    with private_redis(NOBODY) as (redis, code):
        with Trace(options=["-a", "-u", str(NOBODY)]) as trace:
            test_auto(tap, "-a", redis, code, trace)
        check_slow(tap, "-a", trace)
        tap.check(becomes(code, False), "-a: its code is restored in the end")


def test_asked(tap):
    with private_redis() as (redis, code):
        load = redis.load("get", 20)
        with Trace(redis.process.pid, options=["--marks", "always"]) as trace:
            tap.check(becomes(code, True) and stays(code, True, 4), "--marks always: also when busy", *trace.messages)
        tap.check(becomes(code, False), "until the end")
        with Trace(redis.process.pid, options=["--marks", "never"]) as trace:
            tap.check(stays(code, False, 2), "--marks never")
            end(load)
            tap.check(stays(code, False, 3), "calm or not")
            redis.do("eval", SLOW, "0")
            redis.do("ping")  # the dispatch that answered the script must end first
        check_slow(tap, "--marks never", trace)


def main():
    need("redis-server", "redis-cli", "redis-benchmark", "nm")
    tap = Tap()
    test_process(tap)
    test_busy_at_first(tap)
    test_all(tap)
    test_asked(tap)
    tap.end()


if __name__ == "__main__":
    main()
