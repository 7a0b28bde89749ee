#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the thread did that a dispatch waits for, beside threads that sleep for 1 ms again and again: its account covers
the wait. With JANK_PARTNERS=all (make partners) for each kind of partner, length, number of threads, and with two links."""
import itertools
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import fuse
from bad import MS, ok

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "partners.c")
KINDS = ("mutex", "condition", "join", "pipe", "unix", "tcp", "flock", "child", "posix", "inherited", "rwlock",
         "terminal") + (("fuse",) if fuse.available() else ())
HANGS = {"unix": 1, "poll": 1, "tcp": 1, "pipe": 1, "flock": 1, "posix": 1, "inherited": 1, "ofd": 1, "child": 1, "terminal": 1,
         "fuse": 1, "mutex": 2, "rwlock": 2, "join": 2}  # with how many links
ALL = os.environ.get("JANK_PARTNERS") == "all"
ROUNDS = 2 if ALL else 3
COVERED, WRONG = 0.9, 0.05  # of the wait
MISSED = 0.05


def build(folder):
    path = os.path.join(folder, "partners")
    subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, PROGRAM, "-lpthread"], check=True)
    return path


class Case:
    def __init__(self, path, kind, held_ms, often, links):
        self.held_ns = held_ms * MS
        self.links = links
        self.what = f"{kind}, {held_ms} ms, beside {often} threads" + (", two links" if links > 1 else "")
        self.process = bad.start([path, kind, str(held_ms), str(often), str(links)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def ask(self):
        self.process.stdin.write(b"x")
        self.process.stdin.flush()

    def blocks(self):
        """Of the handlers that waited while all probes were there: not the first one's."""
        tracer = bad.Tracer("--json", "-t", "100ms", "-p", self.process.pid)
        for done in range(ROUNDS + 1):
            self.ask()
            bad.wait_for(lambda: tracer.stdout().count(b'"type":"block"') > done, 30)
        self.result = tracer.stop()
        bad.end(self.process)
        return [block for block in self.result.blocks() if block["duration_ns"] >= self.held_ns][1:]

    def link(self, block):
        """The last one, if it is the thread that slept."""
        last = (block.get("chain") or [{}])[-1]
        return last if last.get("comm") == ("far" if self.links > 1 else "partner") else {}

    def parts(self, block):
        return self.link(block).get("time", {})

    def covers(self, block):
        time = self.parts(block)
        known = time.get("running_ns", 0) + time.get("runnable_ns", 0) + sum(time.get("blocked_ns", {}).values())
        return known >= COVERED * self.link(block).get("ns", block["duration_ns"])

    def is_wrong(self, block):
        """It slept all the time but for waits for a CPU, and nothing else."""
        time = self.parts(block)
        blocked = time.get("blocked_ns", {})
        others = time.get("running_ns", 0) + sum(blocked.values()) - blocked.get("sleep", 0)
        return bool(time) and (others > WRONG * self.held_ns or
                               self.covers(block) and blocked.get("sleep", 0) < (1 - WRONG) * self.held_ns)


def test(*args):
    case = Case(*args)
    blocks = case.blocks()
    ok(len(blocks) == ROUNDS, f"{case.what}: a block each time", case.result)
    ok(not any(map(case.is_wrong, blocks)), f"{case.what}: no wrong account", list(map(case.parts, blocks)))
    return [(case.covers(block), case.what, block.get("chain")) for block in blocks]


def test_all(path, cases):
    """Beside other programs a span may find its slot taken."""
    waits = [wait for case in cases for wait in test(path, *case)]
    missed = [wait[1:] for wait in waits if not wait[0]]
    ok(len(missed) <= MISSED * len(waits), f"{len(waits) - len(missed)} of {len(waits)} accounts cover the wait", missed)


def test_hang(path, kind, links, last):
    """While the wait lasts, the thread is named that will end it, and what it does now; a replay has the same."""
    case = Case(path, kind, 100000, 2, links)
    journal = bad.scratch(f"{kind}.journal")
    tracer = bad.Tracer("--json", "--hang", "300ms", "--journal", journal, "-p", case.process.pid)
    case.ask()
    bad.wait_for(lambda: b'"type":"hang"' in tracer.stdout(), 15)
    result = tracer.stop()
    bad.end(case.process)
    hangs = result.of("hang")
    chain = [(link.get("comm"), link.get("state")) for hang in hangs for link in hang.get("chain", [])]
    ok(chain[-1:] == [last] and len(chain) == links, f"{kind}: a hang shows for whom it waits", [chain, result])
    bad.valid(result, f"{kind}: valid records")
    again = bad.trace("-q", "--json", "replay", journal)
    ok(again.of("hang") == hangs, f"{kind}: a replay has the same", [hangs, again.of("hang")])


def test_several(path, kind):
    """Two processes may end the wait: both are named, and neither is accused."""
    case = Case(path, kind, 100000, 2, 1)
    journal = bad.scratch(f"{kind}.journal")
    tracer = bad.Tracer("--json", "--hang", "300ms", "--journal", journal, "-p", case.process.pid)
    case.ask()
    bad.wait_for(lambda: b'"type":"hang"' in tracer.stdout(), 15)
    result = tracer.stop()
    bad.end(case.process)
    hang = next(iter(result.of("hang")), {})
    enders = {task["comm"]: task["pid"] for task in hang.get("enders", [])}
    ok(sorted(enders) == ["other", "partner"] and not hang.get("chain"), f"{kind}: a hang shows who may end it", result)
    ok(all(f"{comm} (pid {pid})" in hang["cause"]["summary"] for comm, pid in enders.items()), f"{kind}: in words, too", hang.get("cause"))
    bad.valid(result, f"{kind}: valid records")
    again = bad.trace("-q", "--json", "replay", journal)
    ok(again.of("hang") == result.of("hang"), f"{kind}: a replay has the same", again)


def test_attach(path):
    """The other thread, which sleeps for a time, may do so in the background: the main thread is in the handler."""
    case = Case(path, "pipe", 100000, 0, 1)
    case.ask()
    bad.wait_for(lambda: not bad.is_waiting(case.process))
    tracer = bad.Tracer("--json", "--hang", "300ms", "-p", case.process.pid)
    bad.wait_for(lambda: b'"type":"hang"' in tracer.stdout(), 15)
    result = tracer.stop()
    hang = next(iter(result.of("hang")), {})
    ok(hang.get("began") == "before the trace" and hang["cause"]["kind"] == "pipe", "attached while it waits: a hang", result)
    bad.end(case.process)


bad.need_tracing()
with tempfile.TemporaryDirectory(prefix="jank-partners-") as built:
    program = build(built)
    if ALL:
        test_all(program, itertools.product(KINDS, (200, 1000, 3000), (0, 1, 3, 5, 10, 20), (1, 2)))
    else:
        test_all(program, [*((each, 300, 5, 1) for each in KINDS), ("mutex", 300, 20, 2), ("pipe", 300, 0, 2)])
        for each in filter(HANGS.get, (*KINDS, "ofd", "poll")):
            test_hang(program, each, HANGS[each], ("partner" if HANGS[each] == 1 else "far", "sleep"))
        test_several(program, "shared")
        test_several(program, "children")
        test_attach(program)
bad.done()
