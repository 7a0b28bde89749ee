#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A real JVM: stacks through HotSpot's compiled and interpreted code, to the thread's start, with
Java's names."""
import os
import re
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, block_of, check_run, end, headline, need, skip_all, start, twice, wait_for  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "Handlers.java")
FIRST = {"clone3", "__clone3", "clone", "__clone", "start_thread"}
CALLERS = {"inner": "middle", "middle": "outer", "outer": "busy", "busy": "handle", "library": "handle", "nap": "handle",
           "park": "handle", "contend": "handle", "store": "handle", "handle": "serve", "serve": "main"}
NOT_INLINED = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Handlers.*")
ENOUGH = 0.95


class Server:
    def __init__(self, folder, *options):
        self.path = os.path.join(folder, "socket")
        self.process = start(["java", *options, "-cp", folder, "Handlers", self.path], stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.client = socket.socket(socket.AF_UNIX)
        wait_for(self.connects, what="the server's socket")

    def connects(self):
        try:
            self.client.connect(self.path)
        except OSError:
            return False
        return True

    def do(self, letters):
        for letter in letters:
            self.client.sendall(letter.encode())
            self.client.recv(1)

    def write_map(self):
        subprocess.run(["jcmd", str(self.pid), "Compiler.perfmap"], stdout=subprocess.DEVNULL, check=True, timeout=60)

    def end(self):
        end(self.process)
        self.client.close()
        for path in (self.path, self.path + ".data", f"/tmp/perf-{self.pid}.map"):
            if os.path.exists(path):
                os.unlink(path)


def stacks(blocks):
    """The program's frames of each sample, innermost first."""
    for block in blocks:
        for sample in block["samples"]:
            found = [frame for frame in sample["stack"] if not frame.get("kernel")]
            if found:
                yield found


def method(frame):
    found = re.search(r"\bHandlers\.(\w+)\(", frame.get("function", ""))
    return found[1] if found else None


def share_complete(blocks):
    found = [stack[-1].get("function") in FIRST for stack in stacks(blocks)]
    return sum(found) / max(len(found), 1)


def wrong_links(blocks):
    """Methods of ours with a wrong caller. A frame without a name may be any method."""
    wrong = set()
    for stack in stacks(blocks):
        for callee, caller in zip(stack, stack[1:]):
            if method(callee) and method(caller) and CALLERS.get(method(callee)) != method(caller):
                wrong.add((method(callee), method(caller)))
    return wrong


def check_stacks(tap, what, blocks):
    share = share_complete(blocks)
    tap.measured(share >= ENOUGH, f"{what}: stacks reach the thread's start, {100 * share:.1f} %, wanted {100 * ENOUGH:.0f}",
                 *{stack[-1].get("function") for stack in stacks(blocks)} - FIRST)
    wrong = wrong_links(blocks)
    tap.check(not wrong, f"{what}: no caller is wrong or left out", wrong)


def check_blamed(tap, what, block, wanted):
    if tap.check(block, f"{what}: there is a block"):
        frame = block["cause"].get("frame") or {}
        tap.check(method(frame) in wanted, f"{what}: {' or '.join(sorted(wanted))} is to blame", headline(block))
        tap.check(frame.get("language") == "java", f"{what}: as a Java method", frame)


def check_compiled(tap, what, folder, *options):
    server = Server(folder, *NOT_INLINED, *options)
    try:
        server.do("w" * 3000)
        server.write_map()
        with Trace(server.pid) as trace:
            moments = {letter: twice(server.do, letter) for letter in "cjnpl"}
    finally:
        server.end()
    # While a handler has overwritten the place of the wait, the loop's kind cannot be found: the
    # first block has only the kind of wait.
    check_run(tap, trace, what, "java", "java-nio", "epoll")
    tap.check(any(block["loop"] == "java-nio" for block in trace.blocks), f"{what}: the loop is java.nio's",
              {block["loop"] for block in trace.blocks})
    check_stacks(tap, what, trace.blocks)
    blocks = {letter: block_of(tap, trace.blocks, moment) for letter, moment in moments.items()}
    check_blamed(tap, f"{what}: the CPU", blocks["c"], {"busy", "outer", "middle", "inner"})
    check_blamed(tap, f"{what}: the class library", blocks["j"], {"library"})
    # Without its own name, a method that was never compiled is a frame of the interpreter: its
    # caller is blamed.
    for letter, name in (("n", "nap"), ("p", "park"), ("l", "contend")):
        check_blamed(tap, f"{what}: {name}", blocks[letter], {name, "handle"})
    chains = [[method(frame) for frame in stack if method(frame)] for stack in stacks([blocks["c"]] if blocks["c"] else [])]
    tap.check(["inner", "middle", "outer", "busy", "handle", "serve"] in [chain[:6] for chain in chains],
              f"{what}: the whole chain of calls", *chains[:4])


def check_map(tap, folder):
    """The map comes late, and is written again when there is more code: a new file of the same
    name."""
    server = Server(folder, *NOT_INLINED)
    try:
        server.do("w" * 1000)
        with Trace(server.pid) as trace:
            before = twice(server.do, "c")
            server.write_map()
            server.do("w" * 3000)
            server.write_map()
            after = twice(server.do, "c")
    finally:
        server.end()
    tap.check(sum("jcmd PID Compiler.perfmap" in line for line in trace.messages) == 1, "without a map, a message says how to get one",
              *trace.messages[-3:])
    block = block_of(tap, trace.blocks, before)
    if tap.check(block, "without a map the handler is a block"):
        tap.check(not any(map(method, (frame for stack in stacks([block]) for frame in stack))), "… without names of Java methods")
        check_stacks(tap, "without a map", [block])
    block = block_of(tap, trace.blocks, after)
    if tap.check(block, "with a map that was written twice the handler is a block"):
        check_blamed(tap, "with that map the CPU", block, {"busy", "outer", "middle", "inner"})


def check_interpreted(tap, folder):
    server = Server(folder, "-Xint")
    try:
        server.do("w" * 20)
        server.write_map()
        with Trace(server.pid) as trace:
            server.do("cjnpl" * 2)
    finally:
        server.end()
    check_stacks(tap, "interpreted", trace.blocks)
    tap.check(any(frame.get("function") == "Interpreter" for stack in stacks(trace.blocks) for frame in stack),
              "interpreted: the interpreter's frames are named")


def main():
    need("java", "javac", "jcmd")
    if os.uname().machine != "x86_64":
        skip_all("HotSpot's frames are known on x86-64")
    version = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    if int(re.search(r'version "(\d+)', version)[1]) < 17:
        skip_all("jcmd PID Compiler.perfmap came with JDK 17")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-java-", dir="/var/tmp") as folder:
        subprocess.run(["javac", "-d", folder, PROGRAM], check=True)
        check_compiled(tap, "with frame pointers", folder, "-XX:+PreserveFramePointer")
        check_compiled(tap, "without", folder)
        check_map(tap, folder)
        check_interpreted(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
