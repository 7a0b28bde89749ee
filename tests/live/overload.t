#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Overload: the ring is full, losses are counted by reason, records are whole. Then all is well
again."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

RSS_MAX_KB, GROWTH_KB = 60 * 1024, 1024
STARVED_S = 0.1


def waited_s(pid):
    """How long its main thread, which serves the ring, has waited for a CPU."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


def dispatches(summary):
    return sum(sum(loop["log2"]) for loop in summary["loops"])


def test_stopped_reader(mode):
    """SIGSTOP of jankbpf itself, while the target makes thousands of blocks with stacks."""
    process = bad.target(*mode)
    what = " ".join(map(str, mode))
    tracer = bad.Tracer("--json", "-t", "100us", "-F", "4999", "-p", process.pid)
    time.sleep(0.5)
    os.kill(tracer.pid, signal.SIGSTOP)
    time.sleep(4)
    os.kill(tracer.pid, signal.SIGCONT)
    time.sleep(0.7)
    continued = time.monotonic_ns()
    time.sleep(0.3)
    alive, rss = tracer.process.poll() is None, bad.rss_kb(tracer.pid)
    result = tracer.stop()
    summary = result.summary() or {"lost": {}, "dispatches": 0, "blocks": 0, "loops": []}
    lost = summary["lost"]
    ok(alive and result.status == 0 and bad.exact(result.blocks()), f"{what}: survived, every account exact", result.err)
    shed, full = lost.get("samples_shed", 0), lost.get("ring_full", 0)
    ok(shed > 100, f"{what}: samples were shed and counted (lost: {lost})", result.err)
    ok("lost: " in result.err and f"{shed} samples_shed" in result.err, f"{what}: stderr reports it", result.err)
    missing = sum(loop["blocks"] for loop in summary["loops"]) - len(result.blocks())
    ok(0 <= missing <= full + lost.get("queue_full", 0),
       f"{what}: {missing} blocks are missing, all of them counted", lost)
    marked = [b for b in result.blocks() if "lost" in b]
    ok(marked or not any(b["samples"] for b in result.blocks()), f"{what}: {len(marked)} blocks say what they lack")
    late = [b for b in result.blocks() if b["start_ns"] > continued]
    ok(late and rss < RSS_MAX_KB, f"{what}: {len(late)} blocks afterwards, {rss} KiB", result.err)
    ok(summary["dispatches"] == dispatches(summary) and summary["dispatches"] >= len(result.blocks()),
       f"{what}: the histogram has every dispatch", summary)
    bad.valid(result, f"{what}: the records are valid")
    bad.end(process)


def test_blocks_first():
    """Stacks are shed while a quarter of the ring is still free: no block is lost because of a
    sample."""
    process = bad.target("storm", 2, 20000, 1)
    tracer = bad.Tracer("--json", "-t", "10ms", "-F", "9999", "-p", process.pid)
    os.kill(tracer.pid, signal.SIGSTOP)
    time.sleep(5)
    os.kill(tracer.pid, signal.SIGCONT)
    time.sleep(0.5)
    result = tracer.stop()
    lost = result.summary()["lost"]
    ok(lost.get("samples_shed", 0) > 0 and not lost.get("ring_full"), f"samples are shed, blocks are not ({lost})", result)
    bad.end(process)


def test_threads_churn():
    """Thousands of threads that start and end leave nothing behind."""
    process = bad.target("churn")
    tracer = bad.Tracer("--json", "-t", "1ms", "-p", process.pid)
    time.sleep(4)
    early, late = bad.at_rest(lambda: bad.rss_kb(tracer.pid), 8, lambda a, b: b - a >= GROWTH_KB)
    starved_s = waited_s(tracer.pid)
    result = tracer.stop()
    ok(result.status == 0 and late - early < GROWTH_KB and late < RSS_MAX_KB,
       f"threads that start and end: {early} KiB, then {late} KiB", result.err)
    lost, blocks = result.summary()["lost"], len(result.blocks())
    if starved_s > STARVED_S:  # then the ring fills up to the half
        lost.pop("stack_copies_shed", 0)
    other = set(lost) - bad.BUSY_LOSSES
    ok(not other and blocks > 100, f"with no loss in {blocks} blocks (the tracer waited {starved_s:.2f} s for a CPU)", lost)
    bad.end(process)


bad.need_tracing()
test_stopped_reader(("storm", 2, 150))
test_stopped_reader(("storm", 8, 150, 1))
test_blocks_first()
test_threads_churn()
bad.done()
