#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kinds of causes that the verdict derives: a file system that does not answer, a terminal that
nobody reads, a child process. A hang and its block have the kind, the object and the function."""
import os
import pty
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import fuse
from bad import ok

# Each byte that it reads is the letter of a handler.
PROGRAM = """
import os, select, sys
terminal, gate = int(sys.argv[1]), int(sys.argv[2])

def log_to_terminal():
    os.write(terminal, b"x" * 65536)

def look_at_file():
    os.stat(sys.argv[3])

def open_file():
    os.open(sys.argv[4], os.O_RDONLY)

def run_child():
    child = os.fork()
    if not child:
        os.read(gate, 1)
        os._exit(0)
    os.waitpid(child, 0)

epoll = select.epoll()
epoll.register(0, select.EPOLLIN)
print("ready", flush=True)
while True:
    epoll.poll()
    try:
        {b"t": log_to_terminal, b"s": look_at_file, b"o": open_file, b"c": run_child}[os.read(0, 1)]()
    except OSError:
        pass
"""
SIZE = 65536


class Traced:
    """The program, and its tracer."""

    def __init__(self, *args):
        reader, self.commands = os.pipe()
        self.process = bad.target("-c", PROGRAM, *args, exe=sys.executable, stdin=reader, pass_fds=args[:2])
        os.close(reader)
        self.tracer = bad.Tracer("--json", "-t", "25ms", "--hang", "300ms", "-p", self.process.pid)

    def count(self, kind):
        return self.tracer.stdout().count(b'"type":"%s"' % kind)

    def stall(self, letter, release):
        """A handler, until its hang is reported; after its release, until its block is."""
        hangs, blocks = self.count(b"hang"), self.count(b"block")
        os.write(self.commands, letter)
        bad.wait_for(lambda: self.count(b"hang") > hangs)
        release()
        bad.wait_for(lambda: self.count(b"block") > blocks)


def drain(master):
    left = SIZE
    while left > 0:
        left -= len(os.read(master, left))


def judge(records, kind, what, words, name):
    """The cause of a hang and its block; their time is in the state that the probes saw."""
    for record in records:
        of = f"{name}, {record['type']}"
        cause = record["cause"]
        ok((cause["kind"], cause.get("what")) == (kind, what), f"{of}: {kind}, {what}", cause)
        ok(record["time"]["blocked_ns"].get("other", 0) > 0.5 * record["duration_ns"], f"{of}: the state is the probes'", record["time"])
        ok(all(word in cause["summary"] for word in words), f"{of}: {', '.join(words)}", cause)


def main():
    bad.need_tracing()
    if not fuse.available():
        bad.tap.skip_all("no /dev/fuse")
    (master, terminal), (gate, opener) = pty.openpty(), os.pipe()
    looked = fuse.Fuse(bad.scratch("looked"), {"file": b"text"}, lambda *_: True)
    opened = fuse.Fuse(bad.scratch("opened"), {"file": b"text"}, lambda *_: True)
    paths = [f"{each.path}/file" for each in (looked, opened)]
    traced = Traced(terminal, gate, *paths)
    traced.stall(b"t", lambda: drain(master))
    traced.stall(b"s", looked.end)
    traced.stall(b"o", opened.end)
    traced.stall(b"c", lambda: os.write(opener, b"x"))
    bad.end(traced.process)
    result = traced.tracer.stop()
    pairs = list(zip(result.of("hang"), result.blocks()))
    if ok(len(pairs) == len(result.of("hang")) == 4, "four hangs, and their blocks", result):
        judge(pairs[0], "terminal", "send", [f"for the terminal {os.ttyname(terminal)} that its reader d", "log_to_terminal"], "a terminal")
        for pair, path, function in ((pairs[1], paths[0], "look_at_file"), (pairs[2], paths[1], "open_file")):
            judge(pair, "filesystem", "fuse", [f"for {path} on fuse", function], function)
        judge(pairs[3], "child", "child", ["for a child process", "run_child"], "a child")
        bad.valid(result, "valid records")
    bad.done()


main()
