# SPDX-License-Identifier: GPL-2.0
"""stalls.js on a node: what is blamed, and at which line, against what the program does."""
import collections
import os
import re
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Moment, Trace, end, start  # noqa: E402
import subprocess  # noqa: E402

PROGRAM = os.path.join(HERE, "stalls.js")
# the function to blame, and words of the sentence
CASES = {"busy": ("until", ""), "json": ("parseCatalog", "JSON.parse ← parseCatalog"),
         "regex": ("checkName", "a regular expression ← checkName"), "fifo": ("loadConfig", "readFileSync ← loadConfig"),
         "lock": ("takeLock", ""), "sort": ("compareRows", ""), "recursion": ("descend", ""), "method": ("rebuild", ""),
         "async": ("finish", ""), "closure": ("closure", ""), "unnamed": ("anonymous in unnamed #2", ""), "collection": ("grow", "")}
# who may be on the stack with the function, outwards; the handler is the last
ALLOWED = {"until", "compute", "parseCatalog", "checkName", "loadConfig", "takeLock", "sortRows", "compareRows", "descend",
           "rebuild", "finish", "perRequest", "closure", "grow", "onCommand"} | {
               f"cases.{name}" for name in CASES} | set(CASES)


def lines():
    with open(PROGRAM, encoding="utf-8") as file:
        return {mark: nr for nr, line in enumerate(file, 1) for mark in re.findall(r"@(\w+)$", line.rstrip())}


class Stalls:
    def __init__(self, node, folder, *options):
        self.fifo = os.path.join(folder, f"fifo-{os.getpid()}-{time.monotonic_ns()}")
        os.mkfifo(self.fifo)
        self.process = start([node, *options, PROGRAM, self.fifo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def do(self, case):
        if case == "fifo":
            threading.Thread(target=self.write_late, daemon=True).start()
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def write_late(self):
        time.sleep(0.15)
        with open(self.fifo, "w", encoding="ascii") as file:
            file.write("x")

    def end(self):
        end(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


def own_frames(block):
    """The program's frames of each of its stacks with any."""
    for sample in block["samples"]:
        found = [f for f in sample.get("stack", ()) if f.get("file", "").endswith("stalls.js")]
        yield sample, found


class Result:
    """Of one case: blamed, and the counts of stacks and lines."""

    def __init__(self):
        self.blamed, self.summary, self.stacks, self.named = None, "", 0, 0
        self.lines, self.wrong = collections.Counter(), collections.Counter()


def judge(case, block, where):
    result = Result()
    function, _ = CASES[case]
    if not block:
        return result
    result.blamed = ((block.get("cause") or {}).get("frame") or {}).get("function")
    result.summary = block["cause"]["summary"]
    for sample, found in own_frames(block):
        stack = sample.get("stack", ())
        is_js = any("JSEntry" in f.get("function", "") for f in stack)
        result.stacks += is_js
        result.named += is_js and bool(found)
        for frame in found:
            if re.split(" in | #", frame["function"])[0] not in ALLOWED | {"anonymous"}:
                result.wrong[frame["function"]] += 1
        for frame in found[:1]:
            if frame["function"] == function and frame.get("line"):
                result.lines[abs(frame["line"] - where[case]) <= 1] += 1
    return result


def run(node, warm, options=()):
    """{case: Result}, and the trace."""
    where = lines()
    with tempfile.TemporaryDirectory(prefix="jank-languages-", dir="/var/tmp") as folder:
        stalls = Stalls(node, folder, *options)
        moments = {}
        try:
            for _ in range(2 * warm):
                for case in CASES:
                    stalls.do(case)
            with Trace(stalls.pid) as trace:
                time.sleep(1)
                for case in CASES:
                    moments[case] = []
                    for _ in range(2):
                        with Moment() as moment:
                            stalls.do(case)
                        moments[case].append(moment)
                        time.sleep(0.05)
        finally:
            stalls.end()
    results = {}
    for case, pair in moments.items():
        both = [judge(case, moment.block(trace.blocks), where) for moment in pair]
        results[case] = max(both, key=lambda r: (r.blamed == CASES[case][0], r.stacks))
    return results, trace
