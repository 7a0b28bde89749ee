#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Threads that look at an epoll with a timeout of 0 between two tasks, and rest elsewhere: they have no loop there. One
that once sleeps in it has."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import bad
from bad import MS, ok

PROGRAM = """
import select, threading, time
def run(timeout):
    epoll = select.epoll()
    for nr in range(20):
        epoll.poll(timeout)
        rest.wait(0.1)
rest = threading.Event()
looks, sleeps = (threading.Thread(target=run, args=(timeout,)) for timeout in (0, 0.02))
looks.start(), sleeps.start()
print(looks.native_id, sleeps.native_id, file=open(%r, "w"))
looks.join(), sleeps.join()
"""

bad.need_tracing()
ids = bad.scratch("ids")
tracer = bad.Tracer("--json", "-t", "50ms", "--", sys.executable, "-c", PROGRAM % ids, wait=False)
result = tracer.finish(60)
looks, sleeps = map(int, open(ids, encoding="ascii").read().split())
blocks = [r for r in result.records() if r["type"] == "block" and r["duration_ns"] >= 50 * MS]
ok(not [b for b in blocks if b["tid"] == looks], "a thread that only looks has no loop", blocks[:1])
ok(len([b for b in blocks if b["tid"] == sleeps]) >= 15, "one that sleeps in its epoll has one", result.err)
bad.done()
