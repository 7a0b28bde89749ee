#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A Go program without -l go costs as much as an untraced program: as soon as jankbpf has
recognised it, the probes send no record of it."""
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import ROOT, Tap, Trace, end, need, wait_for  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
CACHE = os.path.join(ROOT, ".output", "go-cache")
HEADER = "<IHHQIIII"  # struct jank_rec
OF_USER_SPACE = 0x8000  # records of these kinds do not come from the probes
KNOWN_NS = 3 * 10**9  # a check each second marks the threads that were there before; a busy machine is late
AT_WORK_S = 4
# records of the first second, before it can be recognised as Go; all in all there were 30,000
FEW = 400


def build(folder, name, *options, sources=("busy.go",)):
    path = os.path.join(folder, name)
    env = dict(os.environ, GO111MODULE="off", GOFLAGS="", GOCACHE=os.environ.get("GOCACHE", CACHE))
    subprocess.run(["go", "build", *options, "-o", path, *(os.path.join(PROGRAMS, source) for source in sources)],
                   check=True, env=env)
    return path


def records(journal, pid):
    """The times of the probes' records of the process."""
    with open(journal, "rb") as file:
        data = file.read()
    at = struct.unpack_from("<I", data, 12)[0]
    times = []
    while at + struct.calcsize(HEADER) <= len(data):
        size, kind, _, t_ns, tgid, *_ = struct.unpack_from(HEADER, data, at)
        if kind < OF_USER_SPACE and tgid == pid:
            times.append(t_ns)
        at += size
    return times


def start(*command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def is_at_work(process):
    process.stdout.readline()
    return time.monotonic_ns()


def check(tap, what, trace, pid, since_ns):
    entries = [entry for entry in trace.summary["not_watched"] if entry["pid"] == pid]
    tap.check([(entry["reason"], entry.get("loop")) for entry in entries] == [("loop_off", "go")],
              f"{what}: listed as not watched, with the option", trace.summary["not_watched"])
    times = records(trace.journal, pid)
    late = [t_ns for t_ns in times if t_ns > since_ns + KNOWN_NS]
    tap.check(not late and len(times) < FEW, f"{what}: {len(times)} records, {len(late)} of them after it was recognised")
    lost = trace.summary["lost"]
    tap.check(sum(lost.values()) < FEW, f"{what}: no evidence is collected without use: {lost}")
    tap.check(not trace.blocks and not trace.hangs, f"{what}: nothing was reported", trace.summary)


def test_running(tap, what, program):
    """The program works before the trace begins."""
    process = start(program)
    is_at_work(process)
    with Trace(process.pid) as trace:
        since_ns = time.monotonic_ns()
        time.sleep(AT_WORK_S)
    end(process)
    check(tap, what, trace, process.pid, since_ns)


def test_started(tap, what, program, options, pids=()):
    """The trace begins first. Then the traced shell becomes the program, or starts it as its
    child."""
    # The parent sleeps: a wait that another thread ends would make the probes watch all threads,
    # Go's as well (waker_watch.bpf.h).
    parent = 'read go; "$0" & echo $!; exec sleep 100'
    shell = start("sh", "-c", parent if "-f" in options else 'read go; echo $$; exec "$0"', program)
    with Trace(*[shell.pid for _ in pids], options=options) as trace:
        shell.stdin.write("\n")
        shell.stdin.flush()
        pid = int(shell.stdout.readline())
        since_ns = is_at_work(shell)
        time.sleep(AT_WORK_S)
    end(shell)
    if pid != shell.pid:
        os.kill(pid, 9)
    check(tap, what, trace, pid, since_ns)


def test_ended(tap, program):
    """An ended process stays in the list."""
    process = start(program)
    is_at_work(process)
    with Trace(process.pid) as trace:
        since_ns = time.monotonic_ns()
        wait_for(lambda: any("not watched" in line for line in trace.messages), what="the message")
        end(process)
        trace.finish()
    check(tap, "an ended process", trace, process.pid, since_ns)


def test_wanted(tap, program):
    process = start(program)
    is_at_work(process)
    with Trace(process.pid, options=("-l", "go")) as trace:
        time.sleep(AT_WORK_S)
    end(process)
    loops = {loop["loop"] for loop in trace.summary["loops"] if loop["pid"] == process.pid}
    tap.check(loops == {"go"} and trace.summary["dispatches"] > 1000, "-l go: its dispatches are counted", trace.summary)
    reasons = {entry["reason"] for entry in trace.summary["not_watched"]}
    tap.check("loop_off" not in reasons, "-l go: it is watched", reasons)


def main():
    need("go", "gcc")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-go-", dir="/var/tmp") as folder:
        program = build(folder, "busy")
        programs = {"-p": program, "-p, stripped": build(folder, "stripped", "-ldflags=-s -w"),
                    "-p, with C": build(folder, "with-c", sources=("busy.go", "busy_cgo.go"))}
        for what, path in programs.items():
            test_running(tap, what, path)
        name = f"jgo{os.getpid()}"
        named = build(folder, name)
        test_started(tap, "-p, by an exec", program, (), pids=(1,))
        test_started(tap, "-f, a child", program, ("-f",), pids=(1,))
        test_started(tap, "-a, started later", named, ("-a", "-c", name))
        test_started(tap, "-a, on a kernel without task storage", named,
                     ("-a", "-c", name, "--disable-feature", "task_storage"))
        test_ended(tap, program)
        test_wanted(tap, program)
    tap.end()


if __name__ == "__main__":
    main()
