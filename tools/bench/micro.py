# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tracer adds to one dispatch, one system call, one pair of context switches: bench_epoll,
untraced and traced in turn."""

import tracers
from report import Table
from rounds import Rounds
from targets import Micro, cpus

MS = 50

# key, title, the process that runs it (traced or not), bench_epoll's mode
MEASURES = (
    ("epoll", "A dispatch: epoll_wait on a ready eventfd", "traced", "epoll"),
    ("loop", "A ping-pong of two loops on one CPU (two dispatches, two switches)", "traced",
     "loop"),
    ("switch", "A pair of switches, traced process, no dispatch open", "traced", "switch"),
    ("switch_dispatch", "A pair of switches, each in an open dispatch (two stacks)", "traced",
     "switch-dispatch"),
    ("switch_other", "A pair of switches, other process", "other", "switch"),
    ("syscall", "getppid(), traced process", "traced", "syscall"),
    ("syscall_other", "getppid(), other process", "other", "syscall"),
)
ALL = tuple(row[0] for row in MEASURES)
LOOPS = ("epoll", "loop")

# tracer, what is measured with it, targets in ns
VARIANTS = (
    (tracers.ALL_ON, ALL, {"epoll": 200}),
    *((tracer, ALL, {}) for tracer in tracers.BEFORE),
    (tracers.NO_SAMPLES, ALL, {"epoll": 200}),
    (tracers.UPROBES, ALL, {"epoll": 1100}),
    (tracers.RAW, ("epoll", "loop", "syscall", "syscall_other"), {}),
    (tracers.BPFTRACE_TRACEPOINTS, LOOPS + ("syscall", "syscall_other"), {}),
    (tracers.BPFTRACE_UPROBES, LOOPS, {}),
    (tracers.STRACE, LOOPS, {}),
)
FEW = [row for row in VARIANTS if row[0] in (tracers.ALL_ON, tracers.BPFTRACE_TRACEPOINTS)]


def measure(processes, keys):
    return {key: processes[who].measure(mode, MS)
            for key, _, who, mode in MEASURES if key in keys}


def tables(got, variants):
    for key, title, _, _ in MEASURES:
        table = Table(title, "+ns")
        table.add_base(got.base.get(key, []))
        for tracer, keys, goals in variants:
            if key not in keys:
                continue
            if tracer.name in got.notes:
                table.note(tracer.name, got.notes[tracer.name])
            table.add(tracer.name, got.added(key, tracer.name), goals.get(key))
        yield key, table


def run(scratch, rounds, variants=VARIANTS):
    got = Rounds(tracers.all_missing(row[0] for row in variants))
    cpu = cpus()[-1]
    processes = {"traced": Micro(scratch, cpu), "other": Micro(scratch, cpu)}
    try:
        for _ in range(rounds):
            got.one([row[:2] for row in variants], processes["traced"],
                    lambda keys: measure(processes, keys))
    finally:
        for process in processes.values():
            process.stop()
    return dict(tables(got, variants))


def run_few(scratch, rounds):
    return run(scratch, rounds, FEW)
