#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The sentence has the function to blame, the library's function that it called, and the handler
of the turn, which is some calls further out."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "turns.c")
SLOW_S = 0.15
STALLS = (
    ("f", ("fgets ← load_config ← on_request",), "a library's read"),
    ("s", ("system ← run_hook ← on_request", "for a child process"), "a library's child"),
    ("c", ("in expire_cycle ← server_cron",), "CPU"),
)


def main():
    bad.need_tracing()
    os.mkdir(bad.SCRATCH + "/bin")
    path = bad.scratch("bin/turns")
    subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, PROGRAM], check=True)
    (reader, commands), (slow, answer) = os.pipe(), os.pipe()
    process = bad.target(slow, exe=path, stdin=reader, pass_fds=[slow])
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    for done, (letter, _, _) in enumerate(STALLS):
        os.write(commands, letter.encode())
        if letter == "f":
            time.sleep(SLOW_S)  # the stall's length
            os.write(answer, b"line\n")
        bad.wait_for(lambda: tracer.written(process) > done)
    bad.end(process)
    result = tracer.stop()
    blocks = result.blocks()
    if ok(len(blocks) == len(STALLS), "a block of each stall", result):
        for block, (_, words, name) in zip(blocks, STALLS):
            said = block["cause"]["summary"]
            ok(all(word in said for word in words), f"{name}: {', '.join(words)}", said)
        ok(len({block["cause"]["signature"] for block in blocks}) == 3, "three faults", [b["cause"] for b in blocks])
    bad.done()


main()
