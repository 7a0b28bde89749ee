#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Processes with thousands of threads and a hundred thousand mappings."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

THREADS, LOOPS, MAPS = 5000, 200, 100000
RSS_MAX_KB = 60 * 1024


def trace_crowd(process, name, *options):
    begin = time.monotonic()
    tracer = bad.Tracer("--json", "-t", "25ms", *options, "-p", process.pid)
    started = time.monotonic() - begin
    time.sleep(4)
    rss, cpu = bad.rss_kb(tracer.pid), bad.cpu_s(tracer.pid)
    result = tracer.stop()
    share = cpu / (time.monotonic() - begin)
    ok(result.status == 0 and bad.exact(result.blocks()), f"{name}: exact", result)
    ok(started < 5 and rss < RSS_MAX_KB, f"{name}: traced after {started:.2f} s, {rss} KiB, {100 * share:.0f} % CPU",
       result.err)
    return result, share


def test_threads(backend):
    name = f"{THREADS} idle threads and {LOOPS} loops, {backend}"
    try:
        process = bad.target("crowd", THREADS, LOOPS)
    except RuntimeError as error:
        return bad.skip(name, f"this machine allows no such crowd: {error}")
    result, _ = trace_crowd(process, name, "--backend", backend)
    loops = {b["tid"] for b in result.blocks()}
    summary = result.summary()
    lost = set(summary["lost"]) - {"wakeup_missed", "evidence_shed", "stack_copies_shed", "preemptors_capped"}
    ok(len(loops) == LOOPS + 1 and not lost, f"{name}: a block of each loop", f"{len(loops)} {summary}")
    shed = summary["lost"].get("stack_copies_shed", 0)
    ok(shed < 0.1 * summary["blocks"], f"{name}: hardly any stack copy is dropped when threads sleep at once ({shed})", summary)
    counted = sum(loop["blocks"] for loop in summary["loops"])
    # The threads' counts are read first, the last blocks after them.
    ok(abs(counted - summary["blocks"]) <= 0.02 * counted, f"{name}: the summary counts all threads", summary)
    bad.end(process)
    return None


def test_ends_together():
    """All threads of a crowd end at once."""
    process = bad.target("crowd", 0, 1000)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    time.sleep(2)
    bad.end(process)
    result = tracer.finish(10)
    summary = result.summary()
    ok(result.status == 0 and len({b["tid"] for b in result.blocks()}) == 1001, f"1001 loops that are killed at once "
       f"({len(result.blocks())} blocks, lost {summary['lost']})", result.err)


def test_maps(backend):
    name = f"{MAPS} mappings, {backend}"
    with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
        before = file.read()
    if int(before) < 2 * MAPS:
        with open("/proc/sys/vm/max_map_count", "w", encoding="ascii") as file:
            file.write(str(2 * MAPS))
    try:
        process = bad.target("maps", MAPS)
    except RuntimeError as error:
        return bad.skip(name, str(error))
    finally:
        with open("/proc/sys/vm/max_map_count", "w", encoding="ascii") as file:
            file.write(before)
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
        count = sum(1 for _ in file)
    result, share = trace_crowd(process, name, "--backend", backend)
    named = [f for b in result.blocks() for s in b["samples"] for f in s["stack"] if f.get("function") == "handle_busy"]
    ok(count > MAPS and len(result.blocks()) > 20 and named, f"{name}: blocks have names", result)
    ok(share < 0.5, f"{name}: the maps are not read over and over", share)
    bad.end(process)
    return None


bad.need_tracing()
for how in ("kernel", "uprobe"):
    test_threads(how)
test_ends_together()
for how in ("kernel", "uprobe"):
    test_maps(how)
bad.done()
