#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One fault has one signature: each of simjank's, half of the time on a busy machine; scripts in
stripped interpreters (Debian's lua5.4 and redis), whose functions have no names."""
import collections
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from field import Field, SHORT  # noqa: E402
import faults  # noqa: E402
from live import Trace, end, headline, need, start  # noqa: E402
from real import Redis  # noqa: E402
import truth  # noqa: E402

ROUNDS = 2 if SHORT else 25  # of each of both halves
SHARE = 0.95  # a few blocks of a busy machine lack the evidence of their function
# A simjank that computes by the clock computes less on a busy machine: then its waits take most of the time.
MIXED = ("mixed", "mixed_cpu")
# The process's own helper threads, which it asks at the begin of some kinds and may have to wait for.
HELPERS = ("fixture__ask", "fixture__ask_work", "fixture__ask_locker")


class Hogs:
    """Processes that keep all CPUs busy."""

    def __enter__(self):
        self.pids = []
        for _ in range(os.cpu_count() + 1):
            pid = os.fork()
            if not pid:
                while True:
                    pass
            self.pids.append(pid)
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def simjank(names, signatures, notes):
    """One run over the kinds; adds the signature of each block that the truth knows."""
    with tempfile.TemporaryDirectory(prefix="field-signature-") as folder:
        known, records = faults.trace(folder, ",".join(names), ROUNDS * len(names))
        for block in records:
            dispatch = known.find(block) if block["type"] == "block" and block["pid"] == known.summary["pid"] else None
            if not dispatch or block["duration_ns"] <= block["threshold_ns"]:
                continue
            cause = block["cause"]
            if (cause.get("frame") or {}).get("function") in HELPERS:
                continue
            signatures[dispatch["scenario"]][cause.get("signature")] += 1
            notes[dispatch["scenario"], cause.get("signature")] = cause.get("summary", "")


def judge(field, name, counter, notes=None):
    most = counter.most_common(1)[0][1] if counter else 0
    details = [f"{n} {sig} {(notes or {}).get((name, sig), '')[:150]}" for sig, n in counter.most_common(5)]
    field.cases(f"{name}: one signature", most, sum(counter.values()), share=SHARE, details=details)


def all_kinds(field):
    names = [name for name in faults.names() if name not in (*faults.LONE, *MIXED)]
    signatures, notes = collections.defaultdict(collections.Counter), {}
    simjank(names, signatures, notes)
    with Hogs():
        simjank(names, signatures, notes)
    for name in names:
        judge(field, name, signatures[name], notes)


LUA = """
local socket = require("socket")
local server = assert(socket.bind("127.0.0.1", 0))
local function quicksort(n)
  local list = {}
  for i = 1, n do list[i] = (i * 7919) %% 104729 end
  table.sort(list)
  return #list
end
io.write("ready\\n") io.flush()
local till = socket.gettime() + %d
while socket.gettime() < till do
  for _ = 1, 5 do socket.select({server}, nil, 0.02) end
  quicksort(%d)
end
"""


def lua(field, folder):
    """A Lua program whose loop is select(): it sorts a table of its own again and again."""
    path = os.path.join(folder, "program.lua")
    signatures, sentences = collections.Counter(), {}
    for loaded in (False, True):
        with open(path, "w", encoding="utf-8") as file:
            file.write(LUA % (20 if SHORT else 60, 60000))
        process = start(["lua5.4", path], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        trace = Trace(process.pid, threshold="25ms")
        if loaded:
            with Hogs():
                process.wait(120)
        else:
            process.wait(120)
        trace.stop()
        for block in trace.blocks:
            signatures[block["cause"].get("signature")] += 1
            sentences["lua", block["cause"].get("signature")] = headline(block) + block["cause"]["summary"]
        process.stdout.close()
    judge(field, "lua", signatures, sentences)


SCRIPT = "local t = {} for i = 1, 100000 do t[i % 1000] = tostring(i * 3.1) end return #t"


def redis(field, folder):
    server = Redis(folder)
    signatures, sentences = collections.Counter(), {}
    for loaded in (False, True):
        with Trace(server.process.pid, threshold="25ms") as trace:
            if loaded:
                with Hogs():
                    for _ in range(ROUNDS):
                        server.do("EVAL", SCRIPT, "0")
            else:
                for _ in range(ROUNDS):
                    server.do("EVAL", SCRIPT, "0")
                    time.sleep(0.05)
        for block in trace.blocks:
            signatures[block["cause"].get("signature")] += 1
            sentences["redis", block["cause"].get("signature")] = headline(block) + block["cause"]["summary"]
    end(server.process)
    judge(field, "redis", signatures, sentences)


def main():
    need("cc")
    field = Field("one signature for one fault")
    all_kinds(field)
    field.programs((lua, "lua5.4"), (redis, "redis-server"))
    field.done()


main()
