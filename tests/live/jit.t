#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""JavaScript function names: by node's perf map, by its jitdump with lines, and by both in a
container."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, frames, need, wait_for  # noqa: E402
from real import NodeServer  # noqa: E402

SERVER = os.path.join(HERE, "programs", "server.js")


class Contained(NodeServer):
    """Starts it as the first process of a container, with its own pids and its own /tmp."""

    def __init__(self, folder, *options):
        self.path = os.path.join(folder, "contained")
        program = shutil.copy(SERVER, folder)  # the checkout may be below /tmp
        words = " ".join(["exec", "node", *options, program, self.path, "-"])
        self.process = subprocess.Popen(["unshare", "-mpf", "--kill-child", "sh", "-c",
                                         f"mount -t tmpfs none /tmp; mount -t proc proc /proc; cd /tmp; {words}"])
        wait_for(self.answers, what="node's answer")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read().split()[0])


def line_of(text):
    with open(SERVER, encoding="utf-8") as file:
        return next(nr for nr, line in enumerate(file, 1) if text in line)


def check(tap, what, server, pid, lines):
    try:
        for _ in range(3):
            server.get("/fibonacci")  # compiled by now
        with Trace(pid) as trace:
            server.get("/fibonacci")
    finally:
        server.end()
    found = [frame for block in trace.blocks for frame in frames(block) if frame.get("function") == "fibonacci"]
    tap.check(found, f"{what}: the function is named",
              [frame.get("function", frame.get("module")) for block in trace.blocks for frame in frames(block)][:20])
    tap.check(all(frame.get("language") == "javascript" for frame in found), f"{what}: as a JavaScript function", found[:1])
    if lines:
        known = [frame for frame in found if "line" in frame]  # a prologue has none
        begin = line_of("function fibonacci")
        tap.check(known and all(begin <= frame["line"] <= begin + 2 for frame in known), f"{what}: with its line", found)
        tap.check(all(frame["file"].endswith("server.js") for frame in known), f"{what}: and file", known[:1])


def main():
    need("node", "unshare")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-jit-", dir="/var/tmp") as folder:
        for options, lines in ((["--perf-basic-prof", "--interpreted-frames-native-stack"], False),
                               (["--perf-prof"], True)):
            server = NodeServer(folder, "-", *options)
            check(tap, " ".join(["node", *options]), server, server.process.pid, lines)
            server = Contained(folder, *options)
            check(tap, " ".join(["node", *options, "in a container"]), server, server.pid, lines)
    tap.end()


if __name__ == "__main__":
    main()
