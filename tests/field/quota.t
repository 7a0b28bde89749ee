#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""CPU quotas: stalls of programs in a cgroup with a known quota. Truth: the quota itself, the
cgroup's own statistics, and the CPU time that each stall needs."""
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from field import SHORT, Field  # noqa: E402
from hogs import Quota, hog  # noqa: E402
from live import MS, Trace, headline, need, wait_for  # noqa: E402
from real import free_port  # noqa: E402

PROGRAMS = os.path.join(HERE, "..", "live", "programs")
STALLS = 4 if SHORT else 25
BUSY_MS = 60
PERIOD_US = 100000
# Beside neighbours the group gets the CPU whenever its quota allows it: all of its wait is the quota.
SHARES = 262144


class Loop:
    """told.py or told.js in a cgroup; quota_us: 0 for none."""

    def __init__(self, group, kind="epoll"):
        self.port = free_port()
        script = ["node", f"{PROGRAMS}/told.js"] if kind == "node" else [sys.executable, f"{PROGRAMS}/told.py", kind]
        self.process = subprocess.Popen([*script, str(self.port)], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=group.enter if group else None)
        self.process.stdout.readline()
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def tell(self, message):
        """Returns when it has slept again, having done that."""
        before = self._switches()
        self.client.sendto(message.encode(), ("127.0.0.1", self.port))
        wait_for(lambda: self._switches() > before, 60, message)

    def _switches(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.client.close()


class Limited(Quota):
    """A quota of our own, in the group's own time of 100 ms; us: 0 for none."""

    def __init__(self, name, quota_us):
        super().__init__(f"jankbpf-quota-{os.getpid()}{name}")
        if self.reason:
            return
        if os.path.exists(os.path.join(self.path, "cpu.cfs_quota_us")):
            self.write("cpu.cfs_quota_us", -1)
            self.write("cpu.cfs_period_us", PERIOD_US)
            self.write("cpu.cfs_quota_us", quota_us or -1)
            self.write("cpu.shares", SHARES)
        else:
            self.write("cpu.max", f"{quota_us or 'max'} {PERIOD_US}")
            self.write("cpu.weight", 10000)

    def throttled_ns(self):
        """Version 1 has nanoseconds, 2 microseconds."""
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as file:
            values = dict(line.split() for line in file)
        return int(values.get("throttled_time", 0)) or 1000 * int(values.get("throttled_usec", 0))


def run(loop, message, pause_s=0.12, count=STALLS):
    """The blocks of `count` stalls, each with periods of rest before it."""
    with Trace(loop.process.pid, threshold="40ms") as trace:
        for _ in range(12):
            loop.tell("-")
        for _ in range(count):
            time.sleep(pause_s)
            loop.tell(message)
    return trace


def throttled_ns(block):
    return block.get("scheduling", {}).get("throttled_ns", 0)


def is_named(block):
    cause = block["cause"]
    return cause.get("what") == "throttled" and "had used up its CPU quota" in cause["summary"]


def lines(blocks):
    return [f"{headline(b)} throttled {throttled_ns(b) / MS:.1f}: {b['cause']['summary']}" for b in blocks]


def exhausted(field, name, group, kind="epoll", outer=None):
    """Each stall needs three times the quota of a period."""
    loop = Loop(group, kind)
    try:
        before = (outer or group).throttled_ns()
        trace = run(loop, f"busy {BUSY_MS}")
        counted = (outer or group).throttled_ns() - before
    finally:
        loop.end()
    stalls = [b for b in trace.all_blocks if b["cpu_ns"] >= BUSY_MS * MS * 0.9 and b["time"].get("runnable_ns", 0) > 0.5 * b["duration_ns"]]
    wrong = [b for b in stalls if not is_named(b)]
    field.cases(f"{name}: stalls that are named", len(stalls) - len(wrong), len(stalls), details=lines(wrong))
    seen = sum(map(throttled_ns, trace.all_blocks))
    field.case(f"{name}: no more time than the kernel has counted", seen <= counted * 1.02 + MS, seen, counted)
    field.case(f"{name}: and most of it", seen >= counted * 0.7, seen, counted)
    stalled = trace.summary.get("stalled", {})
    field.case(f"{name}: the summary says that the cgroup is saturated",
               stalled.get("throttled_ns", 0) > stalled.get("ns", 0) / 2 and stalled.get("quota_cgroup", "").startswith("/jankbpf-quota-"), stalled)


def innocent(field, name, group, quota=None):
    """Stalls beside hogs, without a quota or with one that is never used up: while the hogs' own
    group is throttled."""
    loop = Loop(group)
    now = time.monotonic_ns()
    hogs = [hog(quota.enter if quota else lambda: None, [now], 8000 if SHORT else 25000) for _ in range(4)]
    try:
        os.setpriority(os.PRIO_PROCESS, loop.process.pid, 10)
        before = group.throttled_ns() if group else 0
        trace = run(loop, f"busy {BUSY_MS}", count=4 if SHORT else 12)
        used_up = group and group.throttled_ns() != before
    finally:
        loop.end()
        for pid in hogs:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    if used_up:
        field.skip(name, "the quota was used up")
        return
    wrong = [b for b in trace.all_blocks if throttled_ns(b) or "quota" in b["cause"]["summary"]]
    field.cases(f"{name}: stalls that are not called throttled", len(trace.all_blocks) - len(wrong), len(trace.all_blocks), share=1,
                details=lines(wrong))


def holder(field, group):
    """A lock whose holder uses up the quota."""
    loop = Loop(group)
    try:
        trace = run(loop, f"lock {BUSY_MS}")
    finally:
        loop.end()
    waits = [b for b in trace.all_blocks if b["cause"]["kind"] == "futex"
             and any(link.get("state") == "runnable" for link in b.get("chain", ())[-1:])]
    wrong = [b for b in waits if "since its cgroup had used up its CPU quota" not in b["cause"]["summary"]]
    field.cases("a lock whose holder is throttled: the chain says so", len(waits) - len(wrong), len(waits), details=lines(wrong))


def main():
    need()
    field = Field("CPU quota")
    groups = [Limited("", 20000)]
    if groups[0].reason:
        field.skip("all", groups[0].reason)
        return field.done()
    groups += [Limited("/inner", 0), Limited("-large", 190000), Limited("-hogs", 20000)]
    small, inner, large, hogs = groups
    try:
        exhausted(field, "one thread, 20 % of a CPU", small)
        if not SHORT:
            exhausted(field, "a quota of the parent", inner, outer=small)
        if not SHORT and shutil.which("node"):
            exhausted(field, "node", small, "node")
        holder(field, small)
        innocent(field, "beside hogs, no quota", None, hogs)
        if not SHORT:
            innocent(field, "a quota that is not used up", large, hogs)
    finally:
        for group in reversed(groups):
            wait_for(lambda: not open(f"{group.path}/cgroup.procs", encoding="ascii").read(), what="an empty group")
            group.remove()
    return field.done()


main()
