# SPDX-License-Identifier: GPL-2.0
"""A slow disk for chosen processes: a blkio cgroup (version 1) that throttles the disk of a folder.

It delays reads, and the writes that a process submits itself, as in fsync. The journal's thread is
outside the cgroup, so other processes are not held up for long.
"""
import errno
import os
import time

ROOT = "/sys/fs/cgroup/blkio"


def whole_disk(folder):
    """major:minor of the folder's whole disk. The kernel throttles disks, not partitions."""
    device = os.stat(folder).st_dev
    place = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if os.path.exists(os.path.join(place, "partition")):
        place = os.path.dirname(place)
    with open(os.path.join(place, "dev"), encoding="ascii") as file:
        return file.read().strip()


def why_not(folder):
    """The reason why this machine has none, or None."""
    if not os.path.exists(os.path.join(ROOT, "blkio.throttle.read_bps_device")):
        return "no blkio cgroup of version 1"
    try:
        whole_disk(folder)
    except OSError:
        return f"{folder} is on no disk"
    return None


class SlowDisk:
    """with SlowDisk(folder, read_bps=1 << 20, write_iops=50) as slow: slow.hold(pid)"""

    def __init__(self, folder, read_bps=0, write_iops=0):
        self.path = os.path.join(ROOT, f"jank-slow-{os.getpid()}-{time.monotonic_ns()}")
        self.disk = whole_disk(folder)
        self.limits = {"read_bps": read_bps, "write_iops": write_iops}

    def __enter__(self):
        os.mkdir(self.path)
        for name, limit in self.limits.items():
            if limit:
                self._write(self.path, f"blkio.throttle.{name}_device", f"{self.disk} {limit}")
        return self

    def hold(self, pid):
        """Throttles the process from now on: all its threads and its future children."""
        self._write(self.path, "cgroup.procs", str(pid))

    def __exit__(self, *_):
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            left = file.read().split()
        for pid in left:
            try:
                self._write(ROOT, "cgroup.procs", pid)
            except OSError as error:
                if error.errno != errno.ESRCH:
                    raise
        os.rmdir(self.path)

    @staticmethod
    def _write(folder, name, text):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
