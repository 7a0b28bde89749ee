#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Processes that do not exist, are no processes, have ended, or end while they are traced."""
import os
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

RACES = 36


def free_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def kernel_thread():
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            if int(stat.read().rpartition(")")[2].split()[6]) & 0x200000:
                return pid
    return None


def refused(name, status, words, *args):
    result = bad.trace(*args, seconds=10)
    good = result.status == status and not result.raw and result.err.count("\n") == 1 and words in result.err
    ok(good and result.seconds < 5, name, result)


def test_refused():
    none = free_pid()
    refused("a pid that doesn't exist", 1, f"{none}", "-p", none)
    refused("a name that no process has", 1, "no process has this name", "-p", "abc")
    for text in ("0", "-1", "12x", "", "1,,2", "99999999999"):
        refused(f"-p '{text}' is no pid", 2, "--pid", "-p", text)
    thread = kernel_thread()
    if thread:
        refused("a kernel thread", 1, f"process {thread} is a kernel thread", "-p", thread)
    else:
        bad.skip("a kernel thread", "no kernel thread is visible here")
    for text in ("0", "-5ms", "5parsecs", "99999999999999999999s"):
        refused(f"-t {text}", 2, "--threshold", "-t", text, "-p", "1")


def test_several():
    living, none = bad.target("loop", 40), free_pid()
    refused("one of two pids doesn't exist", 1, f"{none}", "-p", f"{living.pid},{none}")
    threads = bad.target("crowd", 1, 0)
    tid = max(int(name) for name in os.listdir(f"/proc/{threads.pid}/task"))
    refused("a thread's id", 1, f"{tid} is a thread of process {threads.pid}", "-p", tid)
    result = bad.trace("--json", "-t", "25ms", "-d", "1s", "-p", f"{living.pid},{living.pid}", "-p", living.pid)
    starts = [record["start_ns"] for record in result.blocks()]
    ok(result.status == 0 and len(starts) > 5 and len(set(starts)) == len(starts),
       "a pid given three times is one process", result)
    bad.end(living, threads)


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def test_many():
    """More processes than the soft limit on open files allows."""
    many = [bad.target("loop", 40, 100) for _ in range(30)]
    pids = {process.pid for process in many}
    for backend in ("kernel", "uprobe"):
        result = bad.trace("--json", "-t", "25ms", "-d", "1s", "--backend", backend, "-p", ",".join(map(str, pids)),
                           preexec_fn=few_files)
        ok(result.status == 0 and {b["pid"] for b in result.blocks()} == pids, f"30 processes with 100 files, {backend}",
           result)
    bad.end(*many)


def test_ends():
    one, two = bad.target("loop", 40), bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", f"{one.pid},{two.pid}")
    time.sleep(0.5)
    bad.end(one)
    time.sleep(0.5)
    ok(tracer.process.poll() is None, "one of two ends: tracing goes on", tracer.stderr())
    bad.end(two)
    result = tracer.finish(5)
    ok(result.status == 0 and {r["pid"] for r in result.blocks()} == {one.pid, two.pid} and result.summary(),
       "both have ended: status 0, with all records", result)


def test_given_twice_ends():
    process = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", f"{process.pid},{process.pid}")
    bad.end(process)
    ok(tracer.finish(5).status == 0, "a pid given twice ends once")


def test_killed_in_dispatch():
    """The dispatch that SIGKILL cuts off is a block that ends with the process."""
    for mode in ("stuck", "spin"):
        process = bad.target(mode, preexec_fn=lambda: os.nice(-10))  # it gets CPU time, and with it samples
        tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
        bad.begin_endless(process)
        time.sleep(0.5)
        killed = time.monotonic_ns()
        bad.end(process)
        gone = time.monotonic_ns()
        result = tracer.finish(5)
        blocks = result.blocks()
        near = [killed - 100 * MS < b["start_ns"] + b["duration_ns"] < gone + 100 * MS for b in blocks]
        ok(result.status == 0 and near == [True] and bad.exact(blocks) and blocks[0]["samples"],
           f"killed in the middle of a dispatch ({mode}): a block with its end", result)


def test_counts_once():
    """An ended process counts once, even if it is still a zombie."""
    result = bad.trace("--json", "-t", "25ms", "--", bad.SIMJANK, "--quiet", "--truth", bad.scratch("truth"),
                       "--scenario", "sleep:40ms", "--count", "10")
    with open(bad.scratch("truth"), encoding="utf-8") as truth:
        said = bad.json.loads(truth.readlines()[-1])
    summary = result.summary()
    ok(summary and abs(summary["dispatches"] - said["dispatches"]) <= 2, "dispatches of an ended process count once",
       f"{said}\n{result}")
    ok(summary and sum(h["blocks"] for h in summary["loops"]) == summary["blocks"] == 10,
       "the loops' blocks are the summary's", result)


def test_race(backend):
    """The process ends at any moment: status 0, or 1 with a message; never a hang or a crash."""
    wrong, seen = [], set()
    for i in range(RACES):
        child = subprocess.Popen(["sleep", f"{i * 0.002:.3f}"])
        args = [bad.JANK, "--backend", backend, "-d", "50ms", "-p", str(child.pid)]
        tracer = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        child.wait()
        try:
            _, err = tracer.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            tracer.kill()
            err = "hangs"
        clear = tracer.returncode == 0 and not err or tracer.returncode == 1 and str(child.pid) in err
        seen.add(tracer.returncode)
        if not clear:
            wrong.append((i, tracer.returncode, err))
    ok(not wrong, f"{RACES} processes that end during the start, {backend} backend (seen: {sorted(seen)})", wrong)


bad.need_tracing()
test_refused()
test_several()
test_many()
test_ends()
test_given_twice_ends()
test_killed_in_dispatch()
test_counts_once()
for name in ("kernel", "uprobe"):
    test_race(name)
bad.done()
