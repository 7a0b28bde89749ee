#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of Java's functions without any flag: interpreted, compiled and inlined methods of each JVM here,
with their lines. What is true is in the program's source: a frame's line is in its method, and calls the
method of the frame below."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from java import PROGRAMS, Server, compile_program, machines, stacks  # noqa: E402
from live import Tap, Trace, block_of, check_run, headline, need, skip_all, twice  # noqa: E402

CLASS = "shop.Names"
CALLERS = {"late": {"spin", "invoice", "match", "sort", "lambda$closure$0"}, "spin": {"price", "descend"},
           "price": {"checkout"}, "checkout": {"handle"}, "tax": {"total"}, "total": {"invoice"}, "invoice": {"handle"},
           "descend": {"descend", "handle"}, "nap": {"handle"}, "match": {"handle"}, "sort": {"handle"},
           "closure": {"handle"}, "handle": {"serve", "handle"}, "serve": {"main"}, "$ByKey.compare": {"$ByKey.compare"}}
# Of a byte: the methods in which the time goes, and those that call them up to the handler. Compiled code may
# have each of them inlined in the next, and tells of a running place only what is certain.
WANTED = {"s": (["late", "spin"], ["price", "checkout", "handle"]), "i": (["tax"], ["total", "invoice", "handle"]),
          "r": (["late", "spin"], ["descend", "handle"]), "n": (["nap"], []), "m": (["match", "late"], []),
          "o": (["$ByKey.compare"], ["sort", "handle"]), "c": (["late", "lambda$closure$0"], ["closure", "handle"])}
# Methods that stay in one line: the one that the source marks.
ONE_LINE = {"spin": "spin", "tax": "tax", "$ByKey.compare": "compare", "lambda$closure$0": "closure", "nap": "nap"}
WARM = 60
ENOUGH = 0.97
EXACT = 0.95
DEPTH = 61
MODES = {"mixed": (), "interpreted": ("-Xint",), "C1": ("-XX:TieredStopAtLevel=1",), "C2": ("-XX:-TieredCompilation",)}


class Source:
    """The methods of the program, by the lines of their braces."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = [""] + file.read().split("\n")
        self.ranges = {}
        name, prefix, indent = None, "", ""
        for number, line in enumerate(self.lines):
            begin = re.match(r"(\t+)(?:public |static )*[\w.<>]+ (\w+)\(.*\{$", line)
            inner = re.match(r"\tstatic final class (\w+)", line)
            if inner:
                prefix = f"${inner[1]}."
                outside = number
            elif line == "\t}" and not name:
                prefix = ""
            elif begin and not name:
                name, indent = prefix + begin[2], begin[1]
                self.ranges[name] = [number, number]
            elif name and line == indent + "}":
                self.ranges[name][1] = number
                name = None
        self.ranges["$ByKey.compare"][0] = outside  # a bridge method is at the line of its class
        self.ranges["lambda$closure$0"] = self.ranges["closure"]
        self.slow = {found[1]: number for number, line in enumerate(self.lines)
                     if (found := re.search(r"// slow: (\w+)$", line))}

    def is_in(self, method, line):
        first, last = self.ranges[method]
        return first <= line <= last

    def calls(self, line, method):
        return f"{method}(" in self.lines[line]


def method(frame):
    """Of the program's class: "spin", "$ByKey.compare"; None: another's."""
    found = re.fullmatch(re.escape(CLASS) + r"(?:\.|(?=\$ByKey))(.+)", frame.get("function", ""))
    return found[1] if found and frame.get("language") == "java" and "$$Lambda" not in found[1] else None


def is_bridge(frame, caller):
    """ByKey.compare(Object, Object), which the compiler adds at the line of the class."""
    return method(frame) == method(caller) == "$ByKey.compare"


def wrong_frames(source, blocks):
    """Names that cannot be, and lines that are not those of the call."""
    wrong, cnt = [], 0
    for stack in stacks(blocks):
        for callee, caller in zip([None, *stack], stack):
            name, line = method(caller), caller.get("line")
            cnt += caller.get("language") == "java"
            if not name:
                continue
            below = method(callee) if callee else None
            if below and name not in CALLERS.get(below, ()):
                wrong.append((below, name, line))
            elif name not in source.ranges or caller["file"] != "Names.java":
                wrong.append((name, caller))
            elif line and not source.is_in(name, line):
                wrong.append((name, line))
            elif below and line and not is_bridge(callee, caller) and not source.calls(line, below):
                wrong.append((below, name, line))
    return wrong, cnt


def lines_of_callers(blocks):
    """The share of the program's frames that call another Java method and have a line."""
    found = [bool(caller.get("line")) for stack in stacks(blocks) for callee, caller in zip(stack, stack[1:])
             if method(caller) and callee.get("language") == "java"]
    return sum(found) / max(len(found), 1)


def check_lines(tap, what, source, blocks):
    """The interpreter knows its place exactly. The bridge method does not stay in that line."""
    found = [(method(frame), frame.get("line")) for stack in stacks(blocks) for callee, frame in zip([{}, *stack], stack)
             if method(frame) in ONE_LINE and not is_bridge(callee, frame)]
    right = sum(source.slow[ONE_LINE[name]] == line for name, line in found)
    tap.measured(right >= EXACT * len(found) > 0, f"{what}: the line is exact in {right} of {len(found)} frames",
                 *{place for place in found if source.slow[ONE_LINE[place[0]]] != place[1]})


def check_blamed(tap, what, blocks, interpreted):
    for letter, (slow, callers) in WANTED.items():
        block = blocks[letter] or {}
        frame = block.get("cause", {}).get("frame") or {}
        wanted = slow if interpreted else slow + callers
        tap.check(method(frame) in wanted, f"{what}: {' or '.join(wanted)} is to blame", block and headline(block), frame)


def check_recursion(tap, what, block):
    whole = [stack for stack in stacks([block] if block else []) if any(method(frame) == "main" for frame in stack)]
    depths = {sum(method(frame) == "descend" for frame in stack) for stack in whole}
    tap.check(depths and max(depths) == DEPTH, f"{what}: each call of a recursion is there", depths)


def check_mode(tap, what, source, folder, java, options):
    server = Server(folder, CLASS, *options, java=java)
    try:
        server.do("w" * WARM)
        with Trace(server.pid) as trace:
            moments = {letter: twice(server.do, letter) for letter in WANTED}
    finally:
        server.end()
    check_run(tap, trace, what, "java", "java-nio", "epoll")
    found = list(stacks(trace.blocks))
    named = sum(any(map(method, stack)) for stack in found)
    tap.measured(named >= ENOUGH * len(found) > 0, f"{what}: the program's methods in {named} of {len(found)} stacks",
                 *[stack[:4] for stack in found if not any(map(method, stack))][:2])
    wrong, cnt = wrong_frames(source, trace.blocks)
    tap.check(cnt and not wrong, f"{what}: of {cnt} Java frames none is wrong", *wrong[:4])
    share = lines_of_callers(trace.blocks)
    tap.measured(share >= ENOUGH, f"{what}: {100 * share:.1f} % of the methods that call others have a line")
    blocks = {letter: block_of(tap, trace.blocks, moment) for letter, moment in moments.items()}
    check_blamed(tap, what, blocks, "-Xint" in options)
    if "-Xint" in options:
        check_lines(tap, what, source, trace.blocks)
    check_recursion(tap, what, blocks["r"])
    tap.check(not any("has no names" in line for line in trace.messages), f"{what}: no message asks for a map")


def main():
    need("java", "javac")
    if os.uname().machine != "x86_64":
        skip_all("HotSpot's frames are known on x86-64")
    tap = Tap()
    source = Source(os.path.join(PROGRAMS, "Names.java"))
    with tempfile.TemporaryDirectory(prefix="jank-java-", dir="/var/tmp") as folder:
        compile_program(folder, "Names.java")
        for number, java in machines():
            if number not in (*range(17, 19), 21, 25):
                tap.skip(1, f"JDK {number}: its layout is not supported")
                continue
            for mode, options in list(MODES.items())[:2 if number > 17 else None]:
                check_mode(tap, f"JDK {number}, {mode}", source, folder, java, options)
    tap.end()


if __name__ == "__main__":
    main()
