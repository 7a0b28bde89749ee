#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A cgroup that is frozen (docker pause, Android's freezer) while its loop is idle, while an event
comes, and while a handler runs. Both versions of cgroups."""
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from field import SHORT, Field  # noqa: E402
from freezer import Freezer  # noqa: E402
from live import MS, Trace, need, wait_for  # noqa: E402
from real import free_port  # noqa: E402

PROGRAMS = os.path.join(HERE, "..", "live", "programs")
FREEZE_S = 1.5


class Loop:
    """A program in a cgroup that can be frozen."""

    def __init__(self, version, kind):
        self.port = free_port()
        self.group = Freezer(f"jankbpf-frozen-{os.getpid()}-{self.port}", version)
        script = ["node", f"{PROGRAMS}/told.js"] if kind == "node" else [sys.executable, f"{PROGRAMS}/told.py", kind]
        self.process = self.group.start(*script, str(self.port), stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.nice(-10))
        self.process.stdout.readline()
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ticks = self.cpu()

    def tell(self, message=""):
        self.client.sendto(message.encode(), ("127.0.0.1", self.port))

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def is_busy(self):
        return self.cpu() > self.ticks + 10  # 0.1 s

    def freeze(self, meanwhile=lambda: None):
        self.group.freeze()
        asleep = switches(self)
        time.sleep(FREEZE_S / 2)
        meanwhile()
        time.sleep(FREEZE_S / 2)
        self.group.thaw()
        wait_for(lambda: switches(self) > asleep, 60, "a sleep of its own")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.client.close()
        self.group.remove()


def turn(loop):
    """Some turns, so that its loop is known. Each has an end of its own."""
    for _ in range(12):
        before = switches(loop)
        loop.tell()
        wait_for(lambda: switches(loop) > before, what="a turn")


def switches(loop):
    with open(f"/proc/{loop.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))


def traced(version, kind, deed):
    """The records of one run, in which deed(loop) happens."""
    loop = Loop(version, kind)
    try:
        with Trace(loop.process.pid, threshold="300ms", options=("--hang", "1s")) as trace:
            turn(loop)
            loop.ticks = loop.cpu()
            deed(loop)
            turn(loop)
        return trace
    finally:
        loop.end()


def at_work(loop):
    loop.tell("busy 300")
    wait_for(loop.is_busy, 60, "work")
    loop.freeze()


def said(records):
    return [f"{r['type']} {r['duration_ns'] // MS} + {r['start_delay_ns'] // MS} ms: {r['cause']['summary']}" for r in records]


def thawed(record):
    return f"(pid {os.getpid()}) thawed it" in record["cause"]["summary"]


def is_late(record):
    cause = record["cause"]
    return (cause["kind"], cause.get("what")) == ("runnable", "frozen") and thawed(record)


def frozen_ns(record):
    """Within the dispatch. On a busy machine its handler also waits for a CPU."""
    parts = [part for part in record["cause"]["parts"] if (part["kind"], part.get("what")) == ("stopped", "frozen")]
    return sum(part["share"] for part in parts) * (record["duration_ns"] + record["start_delay_ns"])


def idle_case(field, version, kind):
    trace = traced(version, kind, lambda loop: loop.freeze())
    records = [r for r in trace.all_blocks + trace.hangs if "frozen" in r["cause"]["summary"] or r["duration_ns"] > 1000 * MS]
    field.case(f"version {version}, {kind}: frozen while idle is no block", not records, *said(records))


def late_case(field, version, kind):
    trace = traced(version, kind, lambda loop: loop.freeze(loop.tell))
    late = [b for b in trace.all_blocks if is_late(b) and b["start_delay_ns"] >= FREEZE_S * 500 * MS]
    field.case(f"version {version}, {kind}: an event meanwhile starts late, by the freeze", len(late) == 1 and not trace.hangs,
               *said(trace.all_blocks + trace.hangs))


def work_case(field, version, kind):
    trace = traced(version, kind, at_work)
    within = [b for b in trace.all_blocks if frozen_ns(b) >= FREEZE_S * 1000 * MS and thawed(b)]
    field.case(f"version {version}, {kind}: frozen within a handler, with who thawed it", len(within) == 1, *said(trace.all_blocks))
    field.case(f"version {version}, {kind}: and it is a hang while it lasts", trace.hangs, *said(trace.all_blocks))


def cases(field, version, kind):
    idle_case(field, version, kind)
    late_case(field, version, kind)
    work_case(field, version, kind)


def main():
    need()
    field = Field("frozen cgroup")
    for version in (2, 1):
        try:
            Freezer(f"jankbpf-frozen-{os.getpid()}", version).remove()
        except OSError as error:
            field.skip(f"cgroup version {version}", str(error))
            continue
        for kind in ("epoll",) if SHORT else ("epoll", "poll", "asyncio", "node"):
            if kind == "node" and not shutil.which("node"):
                field.skip(f"version {version}, node", "node is not installed")
                continue
            cases(field, version, kind)
    field.done()


main()
