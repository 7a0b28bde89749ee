# SPDX-License-Identifier: GPL-2.0
"""A cgroup that is frozen and thawed, of version 1 (the freezer controller) or 2."""
import os

from group import Group
from live import wait_for

ROOT_1 = "/sys/fs/cgroup/freezer"


class Freezer(Group):
    def __init__(self, name, version):
        self.version = version
        super().__init__(name)

    def root(self):
        if self.version == 2:
            return Group.root()
        if not os.path.isdir(ROOT_1):
            raise OSError("no freezer of cgroup version 1 here")
        return ROOT_1

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(value)

    def _read(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return file.read()

    def _is_frozen(self):
        if self.version == 2:
            return "frozen 1" in self._read("cgroup.events")
        return self._read("freezer.state").strip() == "FROZEN"

    def freeze(self):
        self._write(*(("cgroup.freeze", "1") if self.version == 2 else ("freezer.state", "FROZEN")))
        wait_for(self._is_frozen, what="the freeze")

    def thaw(self):
        self._write(*(("cgroup.freeze", "0") if self.version == 2 else ("freezer.state", "THAWED")))
