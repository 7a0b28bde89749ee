#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Workers of interpreters wait for work by the same calls that their handlers make, so only the
interpreter's frames distinguish them. Runs with the machine's python3, each of 3.11 to 3.13 that is
installed by name, and JANK_PYTHONS (paths, separated by colons); Ruby, where it is installed."""
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import MS, Lettered, Moment, Tap, Trace, headline, need, state_ns  # noqa: E402

STALL_MS, SLACK_MS = 150, 25
ROUNDS, ROUNDS_MAX = 3, 8
IDLE_S = 3
TURNS_MAX = 400
TURNS_MORE = 8  # until the probes use it


def runs(words, version):
    """Does the program run, in a version with readable frames?"""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode == 0 and re.match(version, done.stdout) is not None


def pythons():
    names = ["/usr/bin/python3", *os.environ.get("JANK_PYTHONS", "").split(":"), *(f"python3.{minor}" for minor in (11, 12, 13))]
    paths = {os.path.realpath(path) for path in map(shutil.which, filter(None, names)) if path}
    return sorted(path for path in paths if runs([path, "-c", "import sys; print(sys.version)"], r"3\.1[123]\."))


def worker_of(pid):
    """The process's other thread."""
    tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
    return next(tid for tid in tids if tid != pid)


def learned(trace, tid, call=""):
    """The number of places, of one call or of any, that jankbpf has taken for the worker's wait."""
    return sum(bool(re.search(rf"thread {tid} sleeps .* in {call}.* a park", line)) for line in trace.messages)


def until_known(trace, program, tid, turns):
    """Turns without a stall, until the worker's waits are known: `turns` has the call of each by the
    letter of a turn that ends in it."""
    left = None
    for _ in range(TURNS_MAX):
        if left is None and all(learned(trace, tid, call) for call in turns.values()):
            left = TURNS_MORE
        if left == 0:
            return True
        left = left and left - 1
        for letter in turns:
            program.do(letter)
            time.sleep(0.03)
    return False


def stall(trace, program, tid, letters):
    """Stalls, until jankbpf learns no place meanwhile. Beside busy neighbours Ruby's thread waits by
    other calls than before: a place is seen only when it is known. Returns the moments of the last
    stalls."""
    for _ in range(ROUNDS_MAX):
        before, moments = learned(trace, tid), []
        for letter in letters * ROUNDS:
            with Moment() as moment:
                program.do(letter)
            moments.append(moment)
            time.sleep(0.1)
        if learned(trace, tid) == before:
            break
    return moments


def check_worker(tap, what, command, letters, turns):
    program = Lettered(command)
    tid = worker_of(program.pid)
    with Trace(program.pid, threshold="60ms", options=["-v", "--workers"]) as trace:
        known = until_known(trace, program, tid, turns)
        moments = stall(trace, program, tid, letters) if known else []
        time.sleep(IDLE_S)
    program.end()
    if not tap.check(known, f"{what}: its worker's wait is known", *trace.messages[-20:], str(trace.summary["not_watched"])):
        return
    begin_ns = moments[0].begin_ns
    blocks = [block for block in trace.blocks if block["tid"] == tid and block["start_ns"] + block["duration_ns"] > begin_ns]
    blocks.sort(key=lambda block: block["start_ns"])
    notes = list(map(headline, blocks))
    tap.check(len(blocks) == len(moments), f"{what}: {len(blocks)} blocks of {len(moments)} stalls", *notes)
    stalls = [block for block in blocks if block["duration_ns"] > (STALL_MS - SLACK_MS) * MS]
    tap.check(len(stalls) == len(moments), f"{what}: each has its length", *notes)
    # a busy machine makes any of them longer, and may wake the holder of the lock late
    longer = [headline(block) for block, moment in zip(stalls, moments)
              if block["duration_ns"] - state_ns(block, "runnable") >= moment.end_ns - moment.begin_ns + SLACK_MS * MS]
    tap.check(not longer, f"{what}: and is not longer", *notes)
    idle = [hang for hang in trace.hangs if hang["tid"] == tid]
    tap.check(not idle, f"{what}: {IDLE_S} idle seconds are no hang", *map(headline, idle))


def main():
    need()
    tap = Tap()
    for path in pythons():
        for mode in ("function", "inline"):
            check_worker(tap, f"{path} {mode}", [path, os.path.join(HERE, "programs", "worker.py"), mode], "slbe"[:4 if mode == "function" else 3], {"t": "futex"})
    if shutil.which("ruby") and runs(["ruby", "-e", "print RUBY_VERSION"], r"3\.[1234]\.") and os.uname().machine == "x86_64":
        for mode in ("queue", "pool"):
            check_worker(tap, f"ruby {mode}", ["ruby", os.path.join(HERE, "programs", "worker.rb"), mode], "slb", {"p": "ppoll", "f": "futex"})
    else:
        print("# no Ruby of 3.1 to 3.4 is installed")
    tap.end()


if __name__ == "__main__":
    main()
