# SPDX-License-Identifier: GPL-2.0
"""Where threads pause, by the kernel: the system call that /proc shows most often for each."""
import collections
import glob
import os
import re
import subprocess
import threading

EVERY_S = 2


def syscall_names():
    """Names by number, from the C library's headers."""
    done = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", os.devnull], capture_output=True, text=True,
                          check=True)
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", done.stdout)}


class IdleWaits:
    """Samples all threads of our network namespace again and again, from begin() to end()."""

    def __init__(self):
        self.names, self.seen = syscall_names(), collections.defaultdict(collections.Counter)
        self.namespace, self.stop = os.readlink("/proc/self/ns/net"), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def begin(self):
        self.thread.start()
        return self

    def run(self):
        while not self.stop.wait(EVERY_S):
            for process in glob.glob("/proc/[0-9]*"):
                try:
                    if os.readlink(process + "/ns/net") == self.namespace:
                        self.look(process)
                except OSError:
                    pass  # it has ended

    def look(self, process):
        for tid in os.listdir(process + "/task"):
            with open(f"{process}/task/{tid}/syscall", encoding="ascii") as file:
                word = file.read().split()[0]
            if word not in ("running", "-1"):
                self.seen[int(tid)][self.names.get(int(word), word)] += 1

    def end(self):
        self.stop.set()
        self.thread.join()

    def of(self, tid):
        """The name of the call; None: the thread was never seen waiting."""
        return self.seen[tid].most_common(1)[0][0] if self.seen[tid] else None
