#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Python's asyncio: what a handler itself waits for is time of its dispatch, and jankbpf sees a
second loop, too."""
import os
import socket
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (MS, Lettered, Tap, Trace, block_of, check_blamed, check_run, headline, main_syscall,  # noqa: E402
                  need, twice, wakers)

# letter, what, cause, system calls (None: not checked), the thread that ends the wait (None: none,
# a timeout)
STALLS = [
    ("s", "time.sleep", "sleep", {"clock_nanosleep", "select", "pselect6"}, None),
    ("l", "select.select", "poll", {"select", "pselect6"}, None),
    ("p", "select.poll", "poll", {"poll", "ppoll"}, None),
    ("e", "an epoll of its own", "poll", {"epoll_wait"}, None),
    ("n", "a loop of its own", "poll", {"epoll_wait"}, None),
    ("h", "a request to a slow server", "socket", {"recvfrom"}, "slow-server"),
    ("H", "the same with a timeout", "poll", {"poll", "ppoll"}, "slow-server"),
    ("c", "subprocess.run", "child", {"wait4", "waitid"}, "sleep"),
    ("b", "arithmetic", "cpu", None, None),
]
SECOND = STALLS[0:1] + STALLS[3:4]  # enough for the loops after the first


def serve(listener):
    with open("/proc/thread-self/comm", "w", encoding="ascii") as comm:
        comm.write("slow-server")
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.recv(1)
            time.sleep(0.15)
            client.sendall(b"!")


def check_stall(tap, what, block, row):
    _, name, kind, calls, waker = row
    what = f"{what}: {name}"
    if not check_blamed(tap, what, block, kind):
        return
    if calls:
        tap.check(main_syscall(block) in calls, f"{what}: in {' or '.join(sorted(calls))}", headline(block))
        tap.check(block["duration_ns"] >= 149 * MS, f"{what}: the block covers all of it", headline(block))
    if waker:
        tap.check(waker in wakers(block), f"{what}: woken by {waker}", headline(block))


def stall_all(program, rows, moments, turn):
    for row in rows:
        moments[turn, row[0]] = twice(program.do, row[0])


def run(tap, path, backend):
    program = Lettered([sys.executable, os.path.join(HERE, "programs", "loops.py"), path])
    moments = {}
    turns = [("first loop", STALLS, "x"), ("second loop", SECOND, "y"), ("third loop", SECOND, "x")]
    try:
        with Trace(program.pid, threshold="40ms", options=["--backend", backend]) as trace:
            for turn, rows, letter in turns:
                stall_all(program, rows, moments, turn)
                program.do(letter)
            time.sleep(0.1)
    finally:
        program.end()
    check_run(tap, trace, backend)
    for turn, rows, _ in turns:
        for row in rows:
            check_stall(tap, f"{backend}, {turn}", block_of(tap, trace.blocks, moments[turn, row[0]]), row)
    idle = [headline(b) for b in trace.blocks
            if not any(m.begin_ns < b["start_ns"] + b["duration_ns"] and b["start_ns"] < m.end_ns
                       for pair in moments.values() for m in pair)]
    tap.check(not idle, f"{backend}: no idle wait is a block", *idle)


def leave(tap, path):
    """A program that has closed its loop and does something else is in no dispatch."""
    program = Lettered([sys.executable, os.path.join(HERE, "programs", "loops.py"), path])
    with Trace(program.pid, threshold="40ms", options=["--hang", "300ms"]) as trace:
        for letter in "sxsz":
            program.do(letter)
        time.sleep(0.8)
        program.process.stdin.close()
        program.process.wait(10)
        trace.finish()
    program.end()
    slept = [headline(b) for b in trace.blocks]
    tap.check(len(slept) == 2, "a closed loop: its two blocks are reported, and no other", *slept)
    tap.check(not trace.hangs, "a closed loop: no hang", *[headline(b) for b in trace.hangs])


def main():
    need()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-asyncio-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "slow")
        listener.bind(path)
        listener.listen()
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        for backend in ("kernel", "uprobe"):
            run(tap, path, backend)
        leave(tap, path)
        listener.close()
    tap.end()


if __name__ == "__main__":
    main()
