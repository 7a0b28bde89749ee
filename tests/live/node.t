#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A real node as an HTTP server: a handler in the one JavaScript thread stalls everything."""
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (MS, Moment, Tap, Trace, blamed, block_of, check_blamed, check_run, drop_cache, frame_of,  # noqa: E402
                  functions, headline, main_syscall, need, state_ns, twice, wakers)
from real import NodeServer  # noqa: E402


def check_cpu(tap, what, block):
    if not check_blamed(tap, what, block, "cpu"):
        return
    function = "fibonacci" if "fibonacci" in what else "paths./parse"
    tap.check(frame_of(block) == function, f"{what}: the JavaScript function is to blame", headline(block), functions(block))


def check_wait(tap, what, block, kind, calls, long_ms):
    if not check_blamed(tap, what, block, kind):
        return
    tap.check(main_syscall(block) in calls, f"{what}: in {' or '.join(calls)}", headline(block))
    tap.check(block["duration_ns"] >= long_ms * MS, f"{what}: the block covers all of it", headline(block))


def check_file(tap, what, block):
    if not block or state_ns(block, "disk") < block["duration_ns"] / 4:
        tap.skip(what, f"the disk is fast: {headline(block) if block else 'no block'}")
        return
    tap.note(headline(block))
    tap.check(blamed(block) in ("disk", "kernel"), f"{what}: the cause is the disk", headline(block))
    tap.check(main_syscall(block) in ("read", "pread64"), f"{what}: in read", headline(block))


def run(tap, folder, cold, mapped):
    server = NodeServer(folder, cold, *["--perf-basic-prof"] * mapped)
    moments = {}
    try:
        for _ in range(3):
            server.get("/fibonacci")  # compiled by now
        with Trace(server.process.pid) as trace:
            for path in ("fibonacci", "parse", "exec", "wait"):
                moments[path] = twice(server.get, f"/{path}")
            drop_cache(cold)
            with Moment() as read:
                server.get("/file")
            time.sleep(0.1)
    finally:
        server.end()
    of = {path: block_of(tap, trace.blocks, pair) for path, pair in moments.items()}
    what = "node --perf-basic-prof" if mapped else "node"
    check_run(tap, trace, what, "node", "node", "libuv")
    hints = [line for line in trace.messages if "has no names in stacks" in line]
    tap.check(not hints, f"{what}: no message advises a flag", *hints)
    check_cpu(tap, f"{what}: fibonacci", of["fibonacci"])
    check_cpu(tap, f"{what}: JSON.parse", of["parse"])
    check_wait(tap, f"{what}: execSync", of["exec"], "child", ("epoll_wait", "epoll_pwait"), 195)
    check_file(tap, f"{what}: readFileSync of a file that is not in memory", read.block(trace.blocks))
    check_wait(tap, f"{what}: Atomics.wait", of["wait"], "futex", ("futex",), 149)
    if of["wait"]:
        tap.check(not wakers(of["wait"]), f"{what}: Atomics.wait timed out: no waker is named",
                  wakers(of["wait"]))


def main():
    need("node")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-node-", dir="/var/tmp") as folder:
        cold = os.path.join(folder, "cold")
        with open(cold, "wb") as file:
            file.write(os.urandom(1 << 20) * 128)
        for mapped in (False, True):
            run(tap, folder, cold, mapped)
    tap.end()


if __name__ == "__main__":
    main()
