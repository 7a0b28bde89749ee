#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A loop with blocks only: the histogram's quantiles and maximum, compared with the blocks' own
durations."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

# Durations by a log-normal law, twenty sleeps of 20 ms, and one of 300 ms; each dispatch ends in
# the next wait.
LOOP = """
import os, random, select, time
loop, always = select.epoll(), os.eventfd(1)
loop.register(always, select.EPOLLIN)
random.seed(7)
for i in range({count}):
    loop.poll()
    if i % 60 == 1:
        time.sleep(0.3 if i == 61 else 0.02)
    end = time.monotonic_ns() + int(random.lognormvariate(13, 0.6))
    while time.monotonic_ns() < end:
        pass
loop.poll()
"""
COUNT = 1200
US, MS = 1000, 1000000
UNITS = {"ns": 1, "µs": US, "ms": MS, "s": 1000 * MS}


def exact(durations, permille):
    rank = -(-len(durations) * permille // 1000)
    return sorted(durations)[rank - 1]


def run(*options, count=COUNT):
    return bad.trace(*options, "--", sys.executable, "-c", LOOP.format(count=count), seconds=120)


def test_json(mode):
    what = " ".join(("a threshold below all", *mode))
    result = run("-q", "--json", "-t", "20us", *mode)
    summary, durations = result.summary(), [block["duration_ns"] for block in result.blocks()]
    loop = summary["loops"][0]
    lost = {reason: n for reason, n in summary["lost"].items() if reason in ("ring_full", "queue_full", "filtered")}
    bad.valid(result, f"{what}: the records are valid")
    if not ok(len(durations) == COUNT == loop["dispatches"], f"{what}: {COUNT} dispatches, each a block",
              (len(durations), loop["dispatches"], lost)):
        return
    ok(loop["max_ns"] == max(durations), f"{what}: the maximum is the longest block's duration",
       (loop["max_ns"], max(durations)))
    for name, permille in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990), ("p999_ns", 999)):
        want = exact(durations, permille)
        ok(abs(loop[name] - want) <= 0.02 * want, f"{what}: {name} is within 2 % of the blocks' ({want})", loop[name])
    ok(sum(b["count"] for b in loop["buckets"]) == COUNT == sum(loop["log2"]), f"{what}: every dispatch is in a bucket", loop)
    lower, wrong = -1, []
    for bucket in loop["buckets"]:
        inside = sum(lower < ns <= bucket["upper_ns"] for ns in durations)
        wrong += [(bucket, inside)] * (inside != bucket["count"])
        lower = bucket["upper_ns"]
    ok(not wrong, f"{what}: each bucket counts the blocks that end in it", wrong[:4])


def test_edge(mode):
    what = " ".join(("a threshold between them", *mode))
    result = run("-q", "--json", "-t", "500us", *mode)
    loop, blocks = result.summary()["loops"][0], len(result.blocks())
    over = sum(b["count"] for b in loop["buckets"] if b["upper_ns"] > 500 * US)
    ok(0 < blocks < COUNT and over == blocks == loop["blocks"],
       f"{what}: it is a bucket's edge: above it are as many dispatches as blocks ({blocks})", loop)


def test_text():
    result = run("-t", "10s")
    said = {name: float(number) * UNITS[unit] for name, number, unit in
            re.findall(r"(p50|p99|max) ([0-9.]+) ([nµm]?s)", result.out)}
    if not ok(set(said) == {"p50", "p99", "max"}, "the summary has p50, p99 and the maximum", result.out + result.err):
        return
    ok(300 * MS <= said["max"] < 10000 * MS, "the longest slept for 300 ms", said)
    ok(20 * MS * 0.98 <= said["p99"] <= said["max"], "one in a hundred slept for 20 ms", said)
    ok(said["p50"] < 20 * MS, "most did not sleep", said)
    few = run("-t", "10s", count=50)
    ok(" p50 " in few.out and " p99 " not in few.out and " max " in few.out, "fifty dispatches give no p99",
       few.out + few.err)


bad.need_tracing()
for backend in ((), ("--disable-feature", "task_storage")):
    test_json(backend)
    test_edge(backend)
test_text()
bad.done()
