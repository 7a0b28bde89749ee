# SPDX-License-Identifier: GPL-2.0
"""A cgroup of a test's own, which narrows -a to what the test started."""
import errno
import os
import subprocess
import time


class Group:
    """Our own cgroup (version 2) for the traced processes, or None."""

    def __init__(self, name, parent=None):
        self.path = os.path.join(parent.path if parent else self.root(), name)
        os.mkdir(self.path)

    @staticmethod
    def root():
        for line in open("/proc/self/mounts", encoding="utf-8"):
            if line.split()[2] == "cgroup2":
                return line.split()[1]
        raise OSError("no cgroup v2 here")

    def start(self, *command, **options):
        enter = ["sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', self.path, *command]
        return subprocess.Popen(enter, **options)

    def pids(self):
        return open(f"{self.path}/cgroup.procs", encoding="utf-8").read().split()

    def remove(self):
        """A killed process leaves the group a moment after it has left the group's list."""
        for _ in range(200):
            try:
                os.rmdir(self.path)
                return
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            time.sleep(0.05)
        os.rmdir(self.path)
