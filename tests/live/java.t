#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A real JVM: stacks through HotSpot's compiled and interpreted code, to the thread's start. Names are
those that java_names.t tests."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from java import Server, compile_program, stacks, version  # noqa: E402
from live import Tap, Trace, block_of, check_run, headline, need, skip_all, twice  # noqa: E402

FIRST = {"clone3", "__clone3", "clone", "__clone", "start_thread"}
CALLERS = {"inner": "middle", "middle": "outer", "outer": "busy", "busy": "handle", "library": "handle", "nap": "handle",
           "park": "handle", "contend": "handle", "store": "handle", "handle": "serve", "serve": "main"}
NOT_INLINED = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Handlers.*")
ENOUGH = 0.95


def method(frame):
    found = re.fullmatch(r"Handlers\.(\w+)", frame.get("function", ""))
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
    server = Server(folder, "Handlers", *NOT_INLINED, *options)
    try:
        server.do("w" * 3000)
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
    for letter, name in (("n", "nap"), ("p", "park"), ("l", "contend")):
        check_blamed(tap, f"{what}: {name}", blocks[letter], {name})
    chains = [[method(frame) for frame in stack if method(frame)] for stack in stacks([blocks["c"]] if blocks["c"] else [])]
    tap.check(["inner", "middle", "outer", "busy", "handle", "serve"] in [chain[:6] for chain in chains],
              f"{what}: the whole chain of calls", *chains[:4])


def check_map(tap, folder):
    """A map adds the names of HotSpot's own code, and takes none away."""
    server = Server(folder, "Handlers", *NOT_INLINED)
    try:
        server.do("w" * 1000)
        with Trace(server.pid) as trace:
            before = twice(server.do, "c")
            server.write_map()
            after = twice(server.do, "c")
    finally:
        server.end()
    tap.check(not any("has no names" in line for line in trace.messages), "no message asks for a map", *trace.messages[-3:])
    for what, moments, stub in (("without a map", before, True), ("with a map", after, False)):
        block = block_of(tap, trace.blocks, moments)
        if tap.check(block, f"{what} the handler is a block"):
            check_blamed(tap, f"{what}: the CPU", block, {"busy", "outer", "middle", "inner"})
            named = {frame.get("function") for stack in stacks([block]) for frame in stack}
            tap.check(("HotSpot stub" in named) == stub, f"{what}: HotSpot's own code", named)


def check_interpreted(tap, folder):
    server = Server(folder, "Handlers", "-Xint")
    try:
        server.do("w" * 20)
        with Trace(server.pid) as trace:
            server.do("cjnpl" * 2)
    finally:
        server.end()
    check_stacks(tap, "interpreted", trace.blocks)
    nameless = [stack for stack in stacks(trace.blocks) if not any(map(method, stack))]
    tap.check(not nameless, "interpreted: each stack has methods", *nameless[:1])


def main():
    need("java", "javac", "jcmd")
    if os.uname().machine != "x86_64":
        skip_all("HotSpot's frames are known on x86-64")
    if version("java") < 17:
        skip_all("jcmd PID Compiler.perfmap came with JDK 17")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-java-", dir="/var/tmp") as folder:
        compile_program(folder, "Handlers.java")
        check_compiled(tap, "with frame pointers", folder, "-XX:+PreserveFramePointer")
        check_compiled(tap, "without", folder)
        check_map(tap, folder)
        check_interpreted(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
