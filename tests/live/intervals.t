#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""--interval: its records follow each other without a gap, sum to the summary, and outlive the run."""
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok


def of_type(records, kind):
    return [record for record in records if record["type"] == kind]


def test_sums(process):
    """A thread that ends in the run has its counts in a record of the kernel, the others in a look."""
    result = bad.Tracer("--json", "-t", "25ms", "-d", "4", "--interval", "500ms", "-p", process.pid).finish(60)
    records = result.records()
    bad.valid(result, "records with intervals fit the schema")
    intervals, summary = of_type(records, "interval"), of_type(records, "summary")[0]
    ok(len(intervals) >= 4, "a record each half second", len(intervals))
    ends = [i["start_ns"] + i["elapsed_ns"] for i in intervals]
    ok(ends[:-1] == [i["start_ns"] for i in intervals[1:]], "each begins where the last one ended", ends)
    for field in ("dispatches", "blocks"):
        total = sum(i[field] for i in intervals)
        at_end = records.index(summary) - records.index(intervals[-1]) - 1
        # Blocks that the last interval could not see yet stand between it and the summary.
        late = at_end if field == "blocks" else 0
        # Dispatches go on between the last interval and the summary.
        ok(summary[field] - 5 <= total + late <= summary[field], f"they sum to the summary's {field}",
           (total, late, summary[field]))
        ok(all(i[field] == sum(loop[field] for loop in i["loops"]) for i in intervals), f"as do its loops' {field}")
    buckets = [sum(b["count"] for b in loop["buckets"]) == loop["dispatches"] for i in intervals for loop in i["loops"]]
    ok(buckets and all(buckets), "each dispatch is in a bucket")
    longest = max(loop["max_ns"] for i in intervals for loop in i["loops"])
    ok(longest == max(loop["max_ns"] for loop in summary["loops"]), "the longest dispatch is in one of them", longest)
    ok(all(i["cost"]["user_cpu_ns"] > 0 for i in intervals), "each has its cost")


def test_open():
    """A dispatch of two seconds is seen while it is open, and grows."""
    process = bad.simjank("--scenario", "sleep:2s", "--count", "100")
    result = bad.Tracer("--json", "-t", "100ms", "-d", "5", "--interval", "300ms", "-p", process.pid).finish(60)
    opens = [i["open"][0] for i in of_type(result.records(), "interval") if i["open"]]
    ok(opens and all(o["tid"] == process.pid and o["loop"] == "epoll" for o in opens), "the open dispatch is named", opens)
    ok(all(o["process"] == "simjank" for o in opens), "also by its process", opens)
    ok(any(o["state"] == "sleep" and o["duration_ns"] > 500 * MS for o in opens), "with its state and time", opens)
    bad.end(process)


def test_killed(process):
    """Of a run that is killed, only the last interval is missing."""
    directory = bad.scratch("killed")
    tracer = bad.Tracer("--json", "-t", "25ms", "-o", directory, "--interval", "200ms", "-p", process.pid)
    path = os.path.join(directory, "blocks.jsonl")

    def intervals():
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return of_type([json.loads(line) for line in file.read().split("\n")[:-1]], "interval")

    bad.wait_for(lambda: len(intervals()) >= 5)
    os.kill(tracer.pid, signal.SIGKILL)
    tracer.finish(10)
    kept = intervals()
    ok(len(kept) >= 5 and sum(i["dispatches"] for i in kept) > 0, "kill -9: the intervals before it are kept", len(kept))


def main():
    process = bad.simjank("--scenario", "busy:30ms,sleep:40ms", "--count", "100000", "--threads", "2")
    test_sums(process)
    test_killed(process)
    bad.end(process)
    test_open()
    bad.done()


main()
