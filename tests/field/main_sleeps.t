#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Main threads of Ruby and CPython that take their work from a queue: a sleep in a handler is a
block from the first on, also in the code that waits for work, and no idle wait is one."""
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, ROOT, Trace, end, headline, need, start, state_ns  # noqa: E402

STALLS, IDLE_S = 6, 8  # longer than a hang
TURN_S, TURNS_MAX, TURNS_MORE = 0.15, 200, 8
STALL_NS, EDGE_NS = 300 * MS, 60 * MS
REST_NS = 100 * MS
RESTS = ("sleeps", "joins", "waits")
MODES = {
    "ruby": ("inline", "fetch", "sleeps") if SHORT else ("inline", "function", "fetch", "condition", "mixed", "timed", *RESTS),
    "/usr/bin/python3": ("inline", "sleeps") if SHORT else ("inline", "fetch", "mixed", "timed", *RESTS),
}
SUFFIX = {"ruby": "rb", "/usr/bin/python3": "py"}
VERSIONS = {"ruby": r"ruby 3\.[1234]\.", "/usr/bin/python3": r"Python 3\.1[123]\."}


class Seat:
    """The program. do() returns when the work of the letter began and ended, by CLOCK_MONOTONIC."""

    def __init__(self, interpreter, mode):
        path = os.path.join(ROOT, "tests", "field", "programs", "main_queue." + SUFFIX[interpreter])
        self.process = start([interpreter, path, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.process.stdout.readline()

    def do(self, letter):
        self.process.stdin.write(letter)
        self.process.stdin.flush()
        return tuple(map(int, self.process.stdout.readline().split()[1:]))


def learn(trace, seat):
    """Turns without a stall, until the thread's wait is known and a little longer."""
    left = TURNS_MORE
    for _ in range(TURNS_MAX):
        left -= any(re.search(rf"thread {seat.process.pid} sleeps .*: a park", line) for line in trace.messages)
        if left < 0:
            return True
        seat.do("x")
        time.sleep(TURN_S)
    return False


def slept(block):
    return sum(state_ns(block, state) for state in ("futex", "poll", "sleep"))


def covers(block, stall):
    begin, finish = block["start_ns"], block["start_ns"] + block["duration_ns"]
    return begin <= stall[0] + EDGE_NS and finish >= stall[1] - EDGE_NS and slept(block) < STALL_NS * 1.5


def check(field, interpreter, mode):
    what = f"{os.path.basename(interpreter)}, {mode}"
    seat, stalls = Seat(interpreter, mode), []
    with Trace(seat.process.pid, threshold="100ms", options=["-v"]) as trace:
        known = learn(trace, seat)
        for _ in range(0 if mode in RESTS else STALLS):
            stalls.append(seat.do("s"))
            time.sleep(2 * TURN_S)
        if mode in RESTS:
            seat.do("e")
        time.sleep(IDLE_S)
    end(seat.process)
    if stalls:
        found = [stall for stall in stalls if any(covers(block, stall) for block in trace.blocks)]
        field.cases(f"{what}: sleeps in handlers are found", len(found), STALLS,
                    details=[f"known: {known}", *map(headline, trace.blocks), str(trace.summary["not_watched"])])
    idle = [block for block in trace.blocks + trace.hangs
            if slept(block) > REST_NS and not any(covers(block, stall) for stall in stalls)]
    field.case(f"{what}: no idle wait is reported", known and not idle, f"known: {known}", *map(headline, idle))


def runs(interpreter):
    done = subprocess.run([interpreter, "--version"], capture_output=True, text=True, check=False) if shutil.which(interpreter) else None
    return done and re.match(VERSIONS[interpreter], done.stdout) and (interpreter != "ruby" or os.uname().machine == "x86_64")


def main():
    need()
    field = Field("sleeps of main threads")
    for interpreter, modes in MODES.items():
        if not runs(interpreter):
            field.skip(interpreter, "not installed, or frames of its version are not read")
            continue
        for mode in modes:
            check(field, interpreter, mode)
    field.done()


if __name__ == "__main__":
    main()
