#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""-a: main threads that wait for work in any call are watched, also those of processes that start
later, and on a machine with many other processes. A shell that waits for its program is not slow."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import Tap, Trace, build, end, headline, need, wait_for  # noqa: E402

CALLS = ("pipe", "sigwait", "accept", "cond", "frame")
PIECES = 60  # every fifth takes 120 ms
STALLS = PIECES // 5
EARLY = 5  # stalls that may come before the process and its idle place are known
COMMANDS = 12
COMMAND_S = 0.3
PAUSE_S = 0.3
LEARN_TURNS = 32  # as in waiter.c
PIECE_S = 0.074  # 50 ms, and after each fifth 120 ms more
STOP_S = 0.25
OTHERS = 700  # to examine them takes 50 ms


@contextlib.contextmanager
def others():
    """Processes that are not traced, listed before those of the test."""
    script = f"for i in $(seq {OTHERS}); do sleep 300 & done; echo ready; wait"
    starter = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    starter.stdout.readline()
    try:
        yield
    finally:
        os.killpg(starter.pid, signal.SIGKILL)
        starter.wait()


def stalls_of(trace, pid):
    return [b for b in trace.blocks if b["pid"] == pid and b["cause"]["kind"] in ("cpu", "sleep", "runnable") and b["duration_ns"] > 110e6]


def check_waiter(tap, trace, name, pid, early):
    stalls = stalls_of(trace, pid)
    idle = [b for b in trace.blocks + trace.hangs if b["pid"] == pid and b["cause"]["kind"] not in ("cpu", "sleep", "runnable")]
    tap.check(STALLS - early <= len(stalls) <= STALLS, f"{name}: {len(stalls)} of {STALLS} stalls",
              *map(headline, stalls), str(trace.summary["not_watched"]))
    tap.check(not idle, f"{name}: no idle wait is a block", *map(headline, idle))


def test_calls(tap, program):
    """All calls at once, stopped until the tracer traces, and one program that starts later."""
    waiters = {call: subprocess.Popen([program, call, str(PIECES)]) for call in CALLS}
    for waiter in waiters.values():
        waiter.send_signal(signal.SIGSTOP)
    with Trace(threshold="60ms", options=("-a", "-c", os.path.basename(program))) as trace:
        for waiter in waiters.values():
            waiter.send_signal(signal.SIGCONT)
        time.sleep(1)
        late = subprocess.Popen([program, "cond", str(PIECES)])
        for waiter in (*waiters.values(), late):
            waiter.wait()
    for call, waiter in waiters.items():
        check_waiter(tap, trace, call, waiter.pid, EARLY)
    # jankbpf first checks it when it is a second old
    check_waiter(tap, trace, "one that starts later", late.pid, EARLY + 5)


def test_shell(tap, shell):
    """A shell that reads a command, starts a program, and waits for it."""
    process = subprocess.Popen([shell, "-c", f"while read word; do /bin/sleep {COMMAND_S}; done"], stdin=subprocess.PIPE)
    with Trace(threshold="60ms", options=("-a", "-c", os.path.basename(shell), "--hang", "200ms")) as trace:
        for _ in range(COMMANDS):
            process.stdin.write(b"x\n")
            process.stdin.flush()
            time.sleep(COMMAND_S + PAUSE_S)
        wait_for(lambda: not os.path.exists(f"/proc/{process.pid}/task/{process.pid}/children") or
                 not open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii").read(), what="the last one's end")
    end(process)
    loops = [loop["loop"] for loop in trace.summary["loops"] if loop["pid"] == process.pid]
    reported = [r for r in trace.blocks + trace.hangs if r["cause"]["kind"] != "runnable"]
    tap.check(loops == ["park"], "a shell is watched", trace.summary["loops"], trace.summary["not_watched"])
    tap.check(not reported, "but its programs are no stalls of the shell", *map(headline, reported))


def test_late_answers(tap, program):
    """The thread waits for work at a new depth each time, and the tracer does not run: it can say
    only later that this is the idle place."""
    process = subprocess.Popen([program, "sites", str(2 * LEARN_TURNS)])
    process.send_signal(signal.SIGSTOP)
    with Trace(process.pid, threshold="100ms") as trace:
        process.send_signal(signal.SIGCONT)
        time.sleep(LEARN_TURNS * PIECE_S)
        while process.poll() is None:
            for sig in (signal.SIGSTOP, signal.SIGCONT):
                trace.process.send_signal(sig)
                time.sleep(STOP_S)
    loops = [loop["loop"] for loop in trace.summary["loops"] if loop["pid"] == process.pid]
    # without all callers, a wait at the idle place cannot be told from another
    waits = [r for r in trace.blocks + trace.hangs if r["cause"]["kind"] == "futex" and r["stack_quality"] == "complete"]
    tap.check(loops == ["park"], "waits at many depths: the thread is watched", trace.summary)
    tap.check(not waits, "an answer that comes after the wait: it is no block", *map(headline, waits))


def main():
    need("cc", "sh")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-mains-") as folder:
        program = build(folder, "waiter.c", "-pthread")
        with others():
            test_calls(tap, shutil.copy(program, os.path.join(folder, f"jmw{os.getpid()}")))
        test_late_answers(tap, program)
        test_shell(tap, shutil.copy(shutil.which("sh"), os.path.join(folder, f"jms{os.getpid()}")))
    tap.end()


if __name__ == "__main__":
    main()
