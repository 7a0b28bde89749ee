#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The sink thread yields the CPU to the traced program, but not for ever: it changes its nice
value."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from own import own_pids  # noqa: E402
from live import Tap, Trace, end, need, start, wait_for  # noqa: E402

LOOP = """
import os, select, sys, time
os.sched_setaffinity(0, {0})
reader, writer = os.pipe()
epoll = select.epoll()
epoll.register(reader, select.EPOLLIN)
print('ready', flush=True)
sys.stdin.readline()
for _ in range(40):
    time.sleep(0.03)
    os.write(writer, b'x')
    epoll.poll()
    os.read(reader, 1)
"""


TURNS = """
import select, sys
open('/proc/self/comm', 'w').write('jank-turns')
epoll = select.epoll()
epoll.register(0, select.EPOLLIN)
print('ready', flush=True)
while epoll.poll() and sys.stdin.readline():
    print('done', flush=True)
"""
TABLE = 2 << 20


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return int(tid)
    raise RuntimeError(f"jankbpf has no thread {name}")


def nice_of(tid):
    return os.getpriority(os.PRIO_PROCESS, tid)


def check_idle(tap):
    """While nothing waits for it, it has a low priority."""
    program = start(["sleep", "60"])
    try:
        with Trace(program.pid) as trace:
            sink = thread_of(trace.process.pid, "jankbpf-sink")
            wait_for(lambda: nice_of(sink) == 19, what="the sink's nice")
            tap.check(nice_of(sink) == 19, "idle, it has the lowest priority", nice_of(sink))
    finally:
        end(program)


def read_by_names(trace):
    """Bytes that jankbpf-name has read from files; the kernel's symbols alone are more than TABLE."""
    for child in own_pids(trace.process.pid):
        with open(f"/proc/{child}/comm", encoding="ascii") as comm, open(f"/proc/{child}/io", encoding="ascii") as io:
            if comm.read().strip() == "jankbpf-name":
                return int(io.readline().split()[1])
    raise RuntimeError("jankbpf has no process jankbpf-name")


def check_prepared(tap):
    """-p: the symbol tables are read before the first block. Another choice of processes: not."""
    program = start([sys.executable, "-c", TURNS], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        with Trace(program.pid, threshold="10s") as trace:
            wait_for(lambda: read_by_names(trace) > TABLE, what="the tables")
            tap.check(read_by_names(trace) > TABLE, "-p: the tables are read without a block", read_by_names(trace))
        tap.check(not trace.all_blocks, "there was none", trace.all_blocks)
        with Trace(threshold="10s", options=("-a", "-c", "jank-turns")) as trace:
            for _ in range(100):
                program.stdin.write("x\n")
                program.stdin.flush()
                program.stdout.readline()
            read = read_by_names(trace)
        turns = sum(loop["dispatches"] for loop in trace.summary["loops"] if loop["pid"] == program.pid)
        tap.check(turns >= 50 and read < TABLE, "-a: they are not", turns, read)
    finally:
        end(program)
        program.stdin.close()
        program.stdout.close()


def check_busy(tap):
    """Three busy loops on its CPU: when records wait, it takes its share, and they are written in
    time."""
    program = start([sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    hogs = []
    try:
        program.stdout.readline()
        with Trace(program.pid, threshold="20ms") as trace:
            sink = thread_of(trace.process.pid, "jankbpf-sink")
            base = nice_of(os.getpid())
            os.sched_setaffinity(sink, {0})
            hogs = [subprocess.Popen([sys.executable, "-c", "import os\nos.sched_setaffinity(0, {0})\nwhile True: pass"]) for _ in range(3)]
            program.stdin.write("\n")
            program.stdin.flush()
            seen = set()

            def saw():
                seen.add(nice_of(sink))
                return base in seen or program.poll() is not None
            wait_for(saw, what="the sink's nice")
            program.wait()
            begin = time.monotonic()
            trace.stop()
            took = time.monotonic() - begin
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
        end(program)
        program.stdin.close()
        program.stdout.close()
    tap.check(base in seen, "beside three busy loops it gets its share back", seen)
    tap.check(len(trace.all_blocks) >= 35, "no block is missing", len(trace.all_blocks))
    tap.check(not {"queue_full", "ring_full"} & set(trace.summary["lost"]), "nothing was dropped", trace.summary["lost"])
    tap.measured(took < 2, "it ends within two seconds", f"{took:.2f} s")


def main():
    need()
    tap = Tap()
    check_idle(tap)
    check_prepared(tap)
    check_busy(tap)
    tap.end()


if __name__ == "__main__":
    main()
