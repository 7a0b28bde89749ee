# SPDX-License-Identifier: GPL-2.0
"""The code of redis where its messages are probed: a probe is a breakpoint in it."""
import subprocess

FUNCTION = "readQueryFromClient"


def symbol_address(path):
    for line in subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.endswith(f" T {FUNCTION}"):
            return int(line.split()[0], 16)
    raise RuntimeError(f"{path} has no {FUNCTION}")


class Code:
    """The first bytes of a function, in memory and in the file."""

    def __init__(self, pid, path):
        self.pid, self.path, self.address = pid, path, symbol_address(path)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            self.address += min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
        self.as_made = self.read()

    def read(self):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(self.address)
            return memory.read(32)

    def is_probed(self):
        return self.read() != self.as_made
