#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What happens to a machine as a whole: no descriptor is free, the clock is set, everything stops for
ten seconds. Tracing goes on, or ends with the reason; whatever is missing is counted. Full disks are
in disk.t, readers that leave in stdout.t."""
import argparse
import datetime
import os
import resource
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import truth
from bad import MS, ok

CLOCK = ".output/faults/clock.so"
STALLS = ["--scenario", "sleep,busy", "--length", "40ms-60ms", "--gap", "20ms"]
GUARD = 8 * MS
DAY_S = 86400
STOP_S = 10


def judged(result, path):
    """The result compared with simjank's truth, and how many blocks are counted as missing."""
    args = argparse.Namespace(threshold=25 * MS, guard=GUARD, hang=0, debugging=False, starved=False, loop=None)
    judgement = truth.Judgement(truth.Truth(path), args)
    for record in result.records():
        judgement.add(record)
    summary = result.summary()
    lost = sum(count for reason, count in summary["lost"].items() if reason not in bad.BUSY_LOSSES)
    return judgement, lost + summary.get("stopped_blocks", 0)


# --- descriptors

def limited(files):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def test_few_files():
    """From too few for a pipe to enough: it refuses with the remedy, or it traces well."""
    stalls = [bad.SIMJANK, "--quiet", *STALLS, "--count", "2", "--start-delay", "300ms"]
    statuses = []
    for files in (6, 16, 32, 48, 64, 80, 96, 112, 128, 512):
        result = bad.trace("--json", "-t", "25ms", "--", *stalls, preexec_fn=limited(files))
        statuses.append(result.status)
        said = "ulimit -Hn" in result.err or "Too many open files" in result.err
        ok(result.status == 0 and len(result.blocks()) == 2 or result.status in (1, 77) and said and not result.raw,
           f"{files} files: status {result.status}", result)
    ok(statuses[0] and not statuses[-1], "too few and enough", statuses)


def test_no_files_left():
    """Every descriptor is in use while it traces: blocks go on, and new processes are traced later or
    the failure is told."""
    process = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "25ms", "-o", bad.scratch("full-table"), "-p", process.pid)
    before = resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE)
    least_free = min(set(range(before[0])) - set(bad.fds_of(tracer.pid)))
    resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE, (least_free, before[1]))
    known = tracer.stdout().count(b"\n")
    ok(bad.wait_for(lambda: tracer.stdout().count(b"\n") > known + 20), "no descriptor is free: blocks go on", tracer.stderr())
    resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE, before)
    known = tracer.stdout().count(b"\n")
    bad.wait_for(lambda: tracer.stdout().count(b"\n") > known + 5)
    result = tracer.stop()
    logs = [name for name in os.listdir(bad.scratch("full-table")) if name.endswith(".log")]
    missing = len(result.of("block")) - len(logs)
    ok(result.status == 0 and bad.exact(result.records()) and missing <= (result.summary()["lost"].get("unwritten_records", 0)),
       f"the {missing} missing logs are counted", result)
    nameless = [b for b in result.of("block") if not any("function" in f for s in b["samples"] for f in s["stack"])]
    told = "no descriptor was free" in result.err or "Too many open files" in result.err
    ok(not nameless or told, f"{len(nameless)} blocks without names: a message says why", result.err)
    bad.end(process)


# --- the clock

def set_clock(path, seconds):
    with open(path, "r+b") as file:
        file.write(struct.pack("=q", seconds))


def test_clock():
    """CLOCK_REALTIME jumps a day back, and a day forward. Times are monotonic, so only `start` changes."""
    subprocess.run(["make", "-s", "faults-clock"], check=True)
    path = bad.scratch("clock")
    with open(path, "wb") as file:
        file.write(bytes(8))
    process = bad.target("loop", 40)
    directory = bad.scratch("kept")
    tracer = bad.Tracer("--json", "-t", "25ms", "-d", "60s", "-o", directory, "-p", process.pid,
                        env={**os.environ, "LD_PRELOAD": CLOCK, "FAULTS_CLOCK": path})
    for jump in (0, -DAY_S, DAY_S, 0):
        set_clock(path, jump)
        known = tracer.stdout().count(b"\n")
        bad.wait_for(lambda: tracer.stdout().count(b"\n") > known + 10)
    ok(tracer.process.poll() is None, "the clock is set: -d does not depend on it", tracer.stderr())
    result = tracer.stop()
    bad.end(process)
    blocks = result.of("block")
    starts = [datetime.datetime.fromisoformat(b["start"]).timestamp() - b["start_ns"] / 1e9 for b in blocks]
    days = {round((start - starts[0]) / DAY_S) for start in starts}
    begins = [b["start_ns"] for b in blocks]
    ok(result.status == 0 and begins == sorted(begins) and bad.exact(blocks) and not set(result.summary()["lost"]) - bad.BUSY_LOSSES,
       f"each of {len(blocks)} blocks is exact, and none is lost", result)
    ok(days == {0, -1, 1}, "`start` follows the clock", days)
    ok(sum(b["duration_ns"] > 200 * MS for b in blocks) == 0, "durations do not")
    logs = [name for name in os.listdir(directory) if name.endswith(".log")]
    ok(len(logs) == len(blocks), f"each block has its log ({len(logs)})", sorted(logs))


# --- everything stops

def test_pause():
    """Tracer and program are stopped together, as by a suspended virtual machine or a shell."""
    path = bad.scratch("truth")
    process = bad.simjank(*STALLS, "--count", "60", "--start-delay", "500ms", "--wait", "--truth", path)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    process.send_signal(signal.SIGUSR1)
    bad.wait_for(lambda: tracer.stdout().count(b"\n") > 5)
    for sig in (signal.SIGSTOP, signal.SIGCONT):
        for each in (tracer.pid, process.pid):
            os.kill(each, sig)
        time.sleep(STOP_S if sig == signal.SIGSTOP else 0)
    known = tracer.stdout().count(b"\n")
    process.wait(30)
    result = tracer.finish()
    judgement, counted = judged(result, path)
    missing = judgement.missing()
    ok(result.status == 0 and len(result.of("block")) > known, "stopped for 10 s: tracing goes on", result)
    ok(len(missing) <= counted, f"each stall is a block, or counted ({len(missing)} missing, {counted} counted)", missing)
    ok(not judgement.twice and not judgement.invented and bad.exact(result.records()), "no block is invented or inexact",
       judgement.invented)
    ok(not result.of("hang"), "the stop is no hang", result.of("hang"))


bad.need_tracing()
test_few_files()
test_no_files_left()
test_clock()
test_pause()
bad.done()
