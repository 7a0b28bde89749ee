#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the thread did that a dispatch waits for, beside threads that sleep for 1 ms again and again: they take most of
the stacks that the watch allows, but its account stays whole."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "partners.c")
HELD_MS, ROUNDS = 400, 4
COVERED, WRONG = 0.9, 0.05  # of the wait


def build(folder):
    path = os.path.join(folder, "partners")
    subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, PROGRAM, "-lpthread"], check=True)
    return path


def partner_of(block):
    last = (block.get("chain") or [{}])[-1]
    return last.get("time", {}) if last.get("comm") == "partner" else {}


def is_whole(block):
    return partner_of(block).get("blocked_ns", {}).get("sleep", 0) > COVERED * block["duration_ns"]


def test(path, kind, often):
    what = f"{kind} beside {often} threads"
    process = bad.start([path, kind, str(HELD_MS), str(often)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    tracer = bad.Tracer("--json", "-t", "100ms", "-p", process.pid)
    for done in range(ROUNDS):
        process.stdin.write(b"x")
        process.stdin.flush()
        bad.wait_for(lambda: tracer.stdout().count(b'"type":"block"') > done, 20)
    result = tracer.stop()
    blocks = [block for block in result.blocks() if block["duration_ns"] > COVERED * HELD_MS * MS]
    ok(len(blocks) == ROUNDS, f"{what}: a block each time", result)
    later = blocks[1:]  # the first one comes while the probes are new
    # A wake-up that no probe saw makes the sleep a wait for a CPU: seldom, on a busy machine.
    ok(len(list(filter(is_whole, later))) > len(later) / 2, f"{what}: its sleep is the wait's", list(map(partner_of, later)))
    ok(all(partner_of(block).get("running_ns", 0) < WRONG * block["duration_ns"] for block in later), f"{what}: it did not run",
       list(map(partner_of, later)))
    bad.end(process)


def test_attach(path):
    """The other thread, which sleeps for a time, may do so in the background: the main thread is in the handler."""
    process = bad.start([path, "pipe", "100000", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdin.write(b"x")
    process.stdin.flush()
    bad.wait_for(lambda: not bad.is_waiting(process))
    tracer = bad.Tracer("--json", "--hang", "300ms", "-p", process.pid)
    bad.wait_for(lambda: b'"type":"hang"' in tracer.stdout(), 15)
    result = tracer.stop()
    hang = next(iter(result.of("hang")), {})
    ok(hang.get("began") == "before the trace" and hang["cause"]["kind"] == "pipe", "attached while it waits: a hang", result)
    bad.end(process)


bad.need_tracing()
with tempfile.TemporaryDirectory(prefix="jank-partners-") as built:
    program = build(built)
    for each in ("mutex", "pipe"):
        for cnt in (0, 3, 10):
            test(program, each, cnt)
    test_attach(program)
bad.done()
