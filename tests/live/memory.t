#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Another user's programs make jankbpf hold as much as they can: memory stays bounded, and other
programs are reported meanwhile."""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok, skip

# a typical MemoryMax=100M of an agent; without a budget 400 threads took 170 MB in 6 s
RSS_MAX_KB = 100 * 1024
# measured: 0.5 s; without a limit to the reading of the ring it took minutes
END_MAX_S = 10
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
WATCHED_S = 10


def attacker(*args):
    """Starts hoard as another user, who cannot read our directories. Its stacks are 150 frames
    deep."""
    exe = "/proc/self/fd/%d" % PROGRAM
    process = bad.start([*NOBODY, exe, "hoard", *map(str, args)], stdout=bad.subprocess.PIPE, text=True, pass_fds=[PROGRAM])
    return process if process.stdout.readline() == "ready\n" else None


def peak_kb(pid):
    return int(bad.status_of(pid)["VmHWM"].split()[0])


def test(what, *args, thinned=False, endless=True):
    hoard, second = attacker(*args), bad.target("loop", 40, 10)
    if not hoard:
        skip(what, "another user cannot have that many threads here")
        return
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", "2s", "-p", hoard.pid, "-p", second.pid)
    before = bad.rss_kb(tracer.pid)
    time.sleep(WATCHED_S)
    late = time.monotonic_ns() - 3 * 10**9
    peak, alive = peak_kb(tracer.pid), tracer.process.poll() is None
    asked = time.monotonic()
    result = tracer.stop(seconds=60)
    took = time.monotonic() - asked
    lost = (result.summary() or {"lost": {}})["lost"]
    records = [r for r in result.records() if r["type"] != "summary"]
    theirs = [r for r in records if r["pid"] == hoard.pid]
    others = [r for r in records if r["pid"] == second.pid]
    fresh = [r for r in others if r["start_ns"] > late and r["samples"]]
    ok(alive and result.status == 0 and bad.exact(records), f"{what}: survived, every account exact", result.err)
    ok(peak < RSS_MAX_KB, f"{what}: {before} KiB, then {peak} KiB at most", result.err)
    ok(fresh, f"{what}: {len(others)} blocks of another program, {len(fresh)} with evidence in the last 3 s", result.err)
    ok(took < END_MAX_S, f"{what}: ended {took:.2f} s after Ctrl-C", result.err)
    if thinned:
        marked = sum("samples_capped" in r.get("lost", {}) for r in theirs)
        ok(marked and lost.get("samples_capped"), f"{what}: {marked} of {len(theirs)} records say that they were thinned", lost)
    ok(lost.get("samples_capped") or not endless, f"{what}: what is left out is counted", lost)
    ok("lost: " in result.err or not lost, f"{what}: losses are reported ({lost})", result.err)
    bad.end(hoard, second)


bad.need_tracing()
if not shutil.which("setpriv"):
    bad.skip_all("no setpriv")
PROGRAM = os.open(bad.TARGET, os.O_RDONLY)
test("400 threads that sleep for 40 ms", 400, 40000, 1, 150, 10, endless=False)
test("400 endless dispatches", 400, 20000, 0, 150, 3000, thinned=True)
# most hangs are written before the queue is full
test("4,000 endless dispatches", 4000, 200000, 0, 150, 5000)
os.close(PROGRAM)
bad.done()
