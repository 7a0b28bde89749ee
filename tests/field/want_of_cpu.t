#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Want of a CPU: what is said of who ran instead, and of the machine. Truth: the hogs that the test
starts on the loop's only CPU."""
import collections
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, Trace, need, wait_for  # noqa: E402
from real import free_port  # noqa: E402

PROGRAMS = os.path.join(HERE, "..", "live", "programs")
STALLS = 4 if SHORT else 20
CPU = max(os.sched_getaffinity(0))
HOG = "import sys\nopen('/proc/self/comm', 'w').write(sys.argv[1])\nwhile True: pass"


class Hogs:
    """Processes of these names that keep the CPU busy."""

    def __init__(self, names, nice=0):
        self.processes = [subprocess.Popen([sys.executable, "-c", HOG, name], preexec_fn=lambda: self._enter(nice)) for name in names]
        for name, process in zip(names, self.processes):
            wait_for(lambda n=name, p=process: self._name(p) == n, 60, "a hog")

    @staticmethod
    def _enter(nice):
        os.sched_setaffinity(0, {CPU})
        os.nice(nice)

    @staticmethod
    def _name(process):
        with open(f"/proc/{process.pid}/comm", encoding="utf-8") as file:
            return file.read().strip()

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))


def run(message, hogs, nice=0):
    """The trace of stalls of a loop that shares its CPU with hogs."""
    port = free_port()
    loop = subprocess.Popen([sys.executable, f"{PROGRAMS}/told.py", "epoll", str(port)], stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, {CPU}))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    others = None
    try:
        loop.stdout.readline()
        with Trace(loop.pid, threshold="40ms") as trace:
            others = Hogs(hogs, nice)
            for deed in ["-"] * 12 + [message] * STALLS:
                before = switches(loop.pid)
                client.sendto(deed.encode(), ("127.0.0.1", port))
                wait_for(lambda: switches(loop.pid) > before, 120, deed)
                time.sleep(0.02)
        return trace, others
    finally:
        loop.kill()
        loop.wait()
        loop.stdout.close()
        client.close()
        if others:
            others.end()


def wanting(trace):
    return [b for b in trace.all_blocks if b["cause"]["kind"] == "runnable"]


def said(blocks):
    return [b["cause"]["summary"] for b in blocks]


def is_fair(block):
    """A name only for half of the time or more."""
    summary = block["cause"]["summary"].split("; also")[0]
    named = re.search(r"'([^']+)' \(pid \d+.*ran", summary)
    if not named:
        return True
    ran = collections.Counter()
    for task in block.get("preemptors", ()):
        ran[task["comm"]] += task["ns"]
    part = block["cause"]["share"] * (block["duration_ns"] + block["start_delay_ns"])
    return ran[named[1]] >= 0.49 * part


def main():
    need()
    field = Field("want of CPU")
    trace, _ = run("busy 40", [f"hog{i}" for i in range(6)])
    blocks = wanting(trace)
    wrong = [b for b in blocks if not is_fair(b)]
    field.cases("six hogs: a name only for half of the time", len(blocks) - len(wrong), len(blocks), share=1, details=said(wrong))
    stalled = trace.summary.get("stalled", {})
    first = next(line for line in trace.text().splitlines()[::-1] if "━━ summary" in line)
    lines = trace.text().splitlines()
    line = lines[lines.index(first) + 1]
    field.case("the summary begins with the want of a CPU", stalled["cpu_wait_ns"] > stalled["ns"] / 2
               and re.match(r" +(saturated|short of a CPU)", line), stalled, line)
    trace, hogs = run("busy 40", ["jankbpf"], -15)  # it has most of the CPU
    pid = hogs.processes[0].pid
    blocks = [b for b in wanting(trace) if f"pid {pid}" in b["cause"]["summary"]]
    wrong = [b for b in blocks if f"'jankbpf' (pid {pid}" not in b["cause"]["summary"]]
    field.cases("another process called jankbpf is not this one", len(blocks) - len(wrong), len(blocks), share=1, details=said(wrong))
    field.done()


main()
