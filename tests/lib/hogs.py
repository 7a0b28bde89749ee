# SPDX-License-Identifier: GPL-2.0
"""What makes a loop start late: processes that keep a CPU busy for a while, and a cgroup with a CPU
quota."""
import os
import time

MS = 1000000
QUOTA_US, PERIOD_US = 10000, 200000


def pinned(cpu):
    os.sched_setaffinity(0, {cpu})


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))


def nice(value):
    return lambda: os.nice(value)


def hog(enter, moments, busy_ms):
    """Forks a process 'hog' and returns its pid. It calls enter(), is busy for that long from each
    moment on (CLOCK_MONOTONIC, ns), then ends."""
    pid = os.fork()
    if pid:
        return pid
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write("hog")
    enter()
    for moment in moments:
        time.sleep(max(0, moment - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < moment + busy_ms * MS:
            pass
    os._exit(0)


class Quota:
    """A cgroup, of either version, that may use a twentieth of a CPU. `.reason` says why there is
    none. The caller chooses its name."""

    def __init__(self, name):
        self.path, self.reason = None, None
        try:
            if os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") or os.path.isdir("/sys/fs/cgroup/cpu"):
                self.path = f"/sys/fs/cgroup/cpu/{name}"
                os.mkdir(self.path)
                self.write("cpu.cfs_period_us", PERIOD_US)
                self.write("cpu.cfs_quota_us", QUOTA_US)
            else:
                self.path = f"/sys/fs/cgroup/{name}"
                os.mkdir(self.path)
                self.write("cpu.max", f"{QUOTA_US} {PERIOD_US}")
        except OSError as error:
            self.reason = f"no cgroup with a CPU quota can be made: {error}"

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def prefer(self):
        """Others on a busy machine hardly delay it: it waits for its quota only."""
        if os.path.exists(os.path.join(self.path, "cpu.weight")):
            self.write("cpu.weight", 10000)
        else:
            self.write("cpu.shares", 262144)

    def enter(self, pid=0):
        """0: the caller."""
        self.write("cgroup.procs", pid)

    def remove(self):
        if self.path and os.path.isdir(self.path):
            os.rmdir(self.path)
