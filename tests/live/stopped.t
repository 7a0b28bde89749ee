#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A target that SIGSTOP or a debugger stops in the middle of a dispatch."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok, skip

STOP_S = 1.5
TRIES = 5  # a debugger takes time to start: it may come after the dispatch
# The state that a stop in a dispatch shows as, by what the dispatch does.
MODES = {"sleep": ("loop", 2000, 300), "busy": ("storm", 1, 600000, 300)}


def stop_by_signal(process):
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(STOP_S)
    os.kill(process.pid, signal.SIGCONT)


def stop_by_debugger(command):
    """A debugger, attached for a while, then detached."""
    def stop(process):
        words = [word.replace("PID", str(process.pid)) for word in command]
        debugger = bad.start(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        debugger.wait(60)
    return stop


def longest_stopped(records):
    return max((r["time"]["blocked_ns"].get("stopped", 0) for r in records if r["type"] == "block"), default=0)


def is_cut(record):
    return record["type"] == "block" and record["time"]["blocked_ns"].get("stopped", 0) > 700 * MS


def stop_in_dispatch(process, stop, tracer, tries):
    """Returns after the dispatch, with --debugging when its block is written."""
    for _ in range(tries):
        bad.in_dispatch(process)
        stop(process)
        bad.wait_for(lambda: bad.is_waiting(process))
        if bad.wait_for(lambda: any(map(is_cut, map(bad.json.loads, tracer.stdout().split(b"\n")[:-1]))), 3):
            return


def run_one(name, mode, stop, debugging, options=()):
    process = bad.target(*MODES[mode], preexec_fn=lambda: os.nice(-10))  # neighbours shall not prolong its dispatches
    tracer = bad.Tracer("--json", "-t", "300ms", *(["--debugging"] if debugging else []), *options, "-p", process.pid)
    stop_in_dispatch(process, stop, tracer, TRIES if debugging and stop != stop_by_signal else 1)
    result = tracer.stop()
    bad.end(process)
    blocks, stopped = result.blocks(), longest_stopped(result.blocks())
    ok(result.status == 0 and bad.exact(result.records()), f"{name}, {mode}: exact", result)
    if not debugging:
        ok(blocks and stopped < 300 * MS, f"{name}, {mode}: a block that was mostly stopped is not reported", blocks)
        return
    cut = list(filter(is_cut, blocks))
    if not ok(len(cut) == 1 and cut[0]["cause"]["kind"] == "stopped", f"{name}, {mode}: --debugging reports it", blocks):
        return
    asleep = [(s["state"], s.get("syscall")) for s in cut[0]["samples"] if s["state"] not in ("runnable", "running")]
    ok(mode != "sleep" or asleep and set(asleep[1:2]) == {("stopped", "clock_nanosleep")} and
       set(asleep[2:]) <= {("sleep", "clock_nanosleep")}, f"{name}, {mode}: the sleep goes on as one", asleep)
    rest = cut[0]["duration_ns"] - stopped
    ok(30 * MS < rest < 950 * MS + cut[0]["time"]["runnable_ns"], f"{name}, {mode}: the rest of its time is unchanged ({rest // MS} ms)", cut)


def test_hang():
    """A debugger's stop is no hang; a hang after it is one."""
    for debugging in (False, True):
        process = bad.target("stuck")
        tracer = bad.Tracer("--json", "-t", "25ms", "--hang", "300ms", *(["--debugging"] if debugging else []), "-p",
                            process.pid)
        bad.begin_endless(process)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1)
        if debugging:
            bad.wait_for_hang(tracer)
        hangs = tracer.stdout().count(b'"type":"hang"')
        ok(hangs == debugging, f"stopped for longer than --hang{' with --debugging' * debugging}: {hangs} hangs",
           tracer.stdout())
        os.kill(process.pid, signal.SIGCONT)
        bad.wait_for_hang(tracer)
        time.sleep(0.5)  # no second one comes
        result = tracer.stop()
        ok(len(result.of("hang")) == 1 and bad.exact(result.records()), "when it goes on, it hangs once", result)
        bad.end(process)


bad.need_tracing()
for doing in MODES:
    for option in (False, True):
        run_one("SIGSTOP" + " --debugging" * option, doing, stop_by_signal, option)
if shutil.which("gdb"):
    GDB = ["gdb", "-q", "-nx", "-batch", "-p", "PID", "-ex", f"shell sleep {STOP_S}", "-ex", "detach"]
    for option in (False, True):
        run_one("gdb" + " --debugging" * option, "busy", stop_by_debugger(GDB), option)
    run_one("gdb, uprobe backend", "busy", stop_by_debugger(GDB), True, ["--backend", "uprobe"])
else:
    skip("gdb", "gdb is not installed")
if shutil.which("strace"):
    STRACE = ["timeout", "-s", "INT", str(STOP_S), "strace", "-f", "-o", "/dev/null", "-p", "PID"]
    run_one("strace", "busy", stop_by_debugger(STRACE), False)
else:
    skip("strace", "strace is not installed")
test_hang()
bad.done()
