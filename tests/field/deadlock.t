#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A deadlock is called so, with its threads and locks; what ends soon is not."""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import Trace, build, end, need, start, wait_for  # noqa: E402

ROUNDS = 1 if SHORT else 10
HELD = {
    "two": ("two threads", "main thread → mutex 'lock_b' held by thread 'indexer' (tid {indexer}) → mutex 'lock_a' held by the main thread"),
    "three": ("three threads", "main thread → mutex 'lock_b' held by thread 'second' (tid {second}) → mutex 'lock_c' held by thread "
                               "'third' (tid {third}) → mutex 'lock_a' held by the main thread"),
    "self": ("a mutex locked twice", "mutex 'lock_a', which it holds itself"),
    "pi": ("priority inheritance", "main thread → PI mutex 'lock_b' held by thread 'indexer' (tid {indexer}) → PI mutex that the kernel "
                                   "refused to it"),
    "rwlock": ("a read-write lock", "main thread → read-write lock 'table' held by thread 'writer' (tid {writer}) → mutex 'lock_a' held "
                                    "by the main thread"),
    "killed": ("a killed worker's shared mutex", "mutex in shared memory held by thread "),
    "ended": ("a thread that ended with the mutex", "mutex 'lock_b' held by thread "),
    "fork": ("a mutex that was held at the fork", "mutex 'lock_b' held since the fork by thread "),
    "soon": ("a holder that waits itself, but not for long", None),
    "recursive": ("a recursive mutex, locked twice", None),
}

need("cc")
field = Field("Deadlock")


def tids(pid):
    """The threads by their names."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as file:
            found[file.read().strip()] = tid
    return found


def hang(program, mode):
    """The records of one hang, and what the sentence must say."""
    process = start([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        pid = int(process.stdout.readline().split()[1])
        with Trace(pid, threshold="100ms", options=("--hang", "1s")) as trace:
            process.stdin.write(b"x")
            process.stdin.flush()
            process.stdout.readline()
            process.stdin.write(b"x")
            process.stdin.flush()
            names = tids(pid)
            if HELD[mode][1]:
                wait_for(lambda: hung(trace), what="a hang's record")
                os.kill(pid, 9)
                time.sleep(0.2)  # its end is seen by the tracer
            else:
                process.stdout.readline()
        return trace, names
    finally:
        end(process)


def hung(trace):
    with open(trace.out.name, encoding="utf-8") as file:
        return '"type":"hang"' in file.read()


def is_right(trace, names, mode):
    records = trace.hangs + [b for b in trace.all_blocks if b["duration_ns"] > 1e9]
    want = HELD[mode][1]
    if not records or not trace.hangs:
        return False
    if want is None:
        return not any("deadlock" in r["cause"]["summary"] or r["cause"].get("what") == "deadlock" for r in records)
    return all(r["cause"].get("what") == "deadlock" and want.format(**names) in r["cause"]["summary"] for r in records)


with tempfile.TemporaryDirectory(prefix="jank-field-") as folder:
    PROGRAM = build(folder, "deadlocks.c", "-g", "-pthread")
    for mode in HELD:
        right, details = 0, []
        for _ in range(ROUNDS):
            trace, names = hang(PROGRAM, mode)
            right += is_right(trace, names, mode)
            details += [r["cause"]["summary"] for r in trace.hangs + trace.all_blocks]
        field.cases(HELD[mode][0], right, ROUNDS, 1, details)
field.done()
