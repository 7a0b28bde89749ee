#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A start in a cgroup with little memory: 64 MB are enough, and what is less is told before the kernel may kill."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok
from group import Group

V1 = "/sys/fs/cgroup/memory"


class Memory(Group):
    """A cgroup, of either version, with a limit."""

    def __init__(self, mb):
        super().__init__(f"jankbpf-memory-{os.getpid()}")
        name = "memory.limit_in_bytes" if self.path.startswith(V1) else "memory.max"
        try:
            with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
                file.write(str(mb << 20))
        except OSError:
            self.remove()
            raise

    @staticmethod
    def root():
        return V1 if os.path.isdir(V1) else Group.root()


def run(mb, loop):
    group = Memory(mb)
    try:
        process = group.start(bad.JANK, "-t", "25ms", "-d", "2s", "-p", str(loop.pid), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err
    finally:
        bad.wait_for(lambda: not group.pids())
        group.remove()


bad.need_tracing()
target = bad.target("loop", 40, 10)
try:
    status, shown, said = run(64, target)
    ok(status == 0 and "blocks" in shown, "64 MB are enough", (status, said))
    status, shown, said = run(32, target)
    ok("raise the cgroup's memory.max" in said, "with 32 MB the remedy is told first", (status, said))
except OSError as why:
    bad.skip_all(f"no cgroup with a limit of memory can be made: {why}")
bad.end(target)
bad.done()
