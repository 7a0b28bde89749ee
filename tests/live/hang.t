#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Dispatches longer than --hang: reported once while they are open, and at their end if they have
one."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import fuse
from bad import MS, ok

HANG = 300


def trace_simjank(scenario, *options, count=2):
    return bad.trace("--json", "-t", "25ms", "--hang", f"{HANG}ms", *options, "--", bad.SIMJANK, "--quiet", "--scenario",
                     scenario, "--count", count)


def ends(record):
    return record["start_ns"] + record["duration_ns"]


def functions(record):
    return {f.get("function") for s in record["samples"] for f in s["stack"]}


def test_scenario(scenario, state, frame, *options):
    what = " ".join([scenario, *options])
    result = trace_simjank(scenario, *options)
    hangs, blocks = result.of("hang"), result.blocks()
    ok(result.status == 0 and len(hangs) == len(blocks) == 2, f"{what}: two hangs, and their two ends", result)
    ok([h["start_ns"] for h in hangs] == [b["start_ns"] for b in blocks] and
       [r["type"] for r in result.records()] == ["hang", "block", "hang", "block", "summary"],
       f"{what}: each hang comes before its end", result)
    ok(all(HANG * MS < h["duration_ns"] < b["duration_ns"] for h, b in zip(hangs, blocks)), f"{what}: while it is open",
       [r["duration_ns"] for r in hangs + blocks])
    ok(bad.exact(hangs + blocks), f"{what}: both accounts are exact", result)
    ok({r["severity"] for r in hangs + blocks} == {"hang"}, f"{what}: severity hang", result)
    key = {"running": lambda r: r["time"]["running_ns"]}.get(state, lambda r: r["time"]["blocked_ns"].get(state, 0))
    # Beside other programs it also waits for a CPU; truth.t judges that by the kernel's own
    # figures.
    ok(all(key(r) > 0.5 * (r["duration_ns"] - r["time"]["runnable_ns"]) for r in hangs + blocks), f"{what}: the time is {state}",
       [r["time"] for r in hangs])
    ok("-F" in options and state == "running" or all(frame in functions(h) for h in hangs),
       f"{what}: the stack so far", [functions(h) for h in hangs])
    ok(result.summary()["hangs"] == 2 and result.summary()["blocks"] == 2, f"{what}: the summary counts both",
       result.summary())
    bad.valid(result, f"{what}: valid records")
    spans = [s for b in blocks for s in b["samples"] if s["state"] == state and s.get("ns", 0) > 0.9 * 700 * MS]
    ok(state == "running" or len(spans) == 2, f"{what}: the end has the whole span, not a part", spans)


def test_seen_before(*options):
    """A check finds the main thread before its first wait in epoll; that wait belongs to its
    loop."""
    result = bad.trace("--json", "-t", "25ms", "--hang", f"{HANG}ms", *options, "--", bad.SIMJANK, "--quiet", "--start-delay", "2500ms",
                       "--scenario", "sleep:600ms", "--count", "1")
    ok([r["type"] for r in result.records()] == ["hang", "block", "summary"],
       f"a thread that was seen before its loop has its hang reported {' '.join(options)}", result)


def test_never_ends(mode, state):
    """The hang is reported while it is open, and has no end before the trace ends."""
    process = bad.target(mode)
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG}ms", "-p", process.pid)
    bad.begin_endless(process)
    bad.wait_for_hang(tracer)
    time.sleep(0.5)  # no second one comes
    result = tracer.stop()
    hangs = result.of("hang")
    ok(result.status == 0 and len(hangs) == 1 and bad.exact(hangs) and not result.blocks(),
       f"{mode}: a hang without an end is reported once", result)
    ok(hangs and "main" in functions(hangs[0]) and result.summary()["hangs"] == 1, f"{mode}: with its stack, {state}",
       hangs)
    bad.end(process)


def test_anr():
    """A hang is reported again at each of Android's limits; a replay reports the same."""
    journal = bad.scratch("anr.journal")
    result = bad.trace("-q", "--json", "-t", "25ms", "--hang", "2s", "--journal", journal, "--", bad.SIMJANK, "--quiet",
                       "--scenario", "hang:11s", "--count", "1", seconds=60)
    found = [(r["type"], r["duration_ns"] // (1000 * MS), r.get("anr")) for r in result.records() if r["type"] != "summary"]
    ok([(kind, anr) for kind, _, anr in found] == [("hang", None), ("hang", 5), ("hang", 10), ("block", 10)],
       "a dispatch of 11 s: a hang at 2, 5 and 10 s, and its end", result)
    ok([at for _, at, _ in found[:2]] == [2, 5] and found[2][1] >= 10, "each in time", found)
    ok(bad.exact(result.of("hang")) and all("handle_hang" in functions(h) for h in result.of("hang")), "each with its account and stack", result)
    again = bad.trace("-q", "--json", "replay", journal)
    ok([r for r in again.records() if r["type"] == "hang"] == result.of("hang"), "a replay has the same", again)


def test_killed():
    """A hang that SIGKILL ends is a block."""
    process = bad.target("stuck")
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG}ms", "-p", process.pid)
    bad.begin_endless(process)
    bad.wait_for_hang(tracer)
    bad.end(process)
    result = tracer.finish(10)
    ok([r["type"] for r in result.records()] == ["hang", "block", "summary"] and bad.exact(result.records()),
       "a hang that SIGKILL ends", result)


FUSE_LOOP = """
import os, select, sys
epoll, (reader, writer) = select.epoll(), os.pipe()
epoll.register(reader, select.EPOLLIN)
os.write(writer, b'x')
print('ready', flush=True)
sys.stdin.readline()
epoll.poll()
CALL
"""


def test_fuse(call):
    """The daemon of a file system does not answer: no thread wakes the waiting one, and yet the
    daemon has a name."""
    if not fuse.available():
        return bad.skip("a daemon that does not answer", "no /dev/fuse")
    with fuse.Fuse(bad.scratch(f"stuck-{call}"), {"file": b"text"}, lambda *_: True) as stuck:
        path = f"{stuck.path}/file"
        process = bad.start([sys.executable, "-c", FUSE_LOOP.replace("CALL", f"os.{call}({path!r})")], stdin=bad.subprocess.PIPE,
                            stdout=bad.subprocess.PIPE, stderr=bad.subprocess.DEVNULL, text=True)
        process.stdout.readline()
        tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG}ms", "-p", process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        bad.wait_for(lambda: b'"hang"' in tracer.stdout(), 10)
        result = tracer.stop()
        hang = (result.of("hang") or [None])[0]
        waits = [s["waited_for"] for s in hang["samples"] if s.get("waited_for")] if hang else []
        ok(waits and all(w["path"] == path and w["device"] == "fuse" for w in waits), f"{call} on FUSE: the file and its file system", result)
        ok(waits and all(w.get("peer_task", {}).get("pid") == stuck.pid for w in waits) and
           f"{path} on fuse (" in hang["cause"]["summary"] and f"pid {stuck.pid})" in hang["cause"]["summary"], "and its daemon", result)
    bad.end(process)
    return None


def test_options(process):
    for options, text in ((["--hang", "0"], "never"), (["--hang", "10s"], "later")):
        result = bad.trace("--json", "-t", "25ms", "-d", "1s", *options, "-p", process.pid)
        ok(result.status == 0 and result.blocks() and not result.of("hang")
           and {b["severity"] for b in result.blocks()} == {"jank"}, f"--hang {options[1]}: {text}", result)
    result = bad.trace("-t", "25ms", "--hang", "10ms", "-p", process.pid)
    ok(result.status == 2 and "--hang" in result.err, "--hang below the threshold is refused", result)
    result = bad.trace("--json", "-t", "10ms", "--hang", "39ms", "-n", "10", "-p", process.pid)
    ok({b["severity"] for b in result.blocks()} == {"hang"}, "the end of one that just passed --hang is a hang too", result)


def test_outputs():
    """Text says that it is open. -o keeps both records, and one log."""
    directory = bad.scratch("dir")
    result = bad.trace("-t", "25ms", "--hang", f"{HANG}ms", "-o", directory, "--journal", bad.scratch("journal"), "--",
                       bad.SIMJANK, "--quiet", "--scenario", "hang:700ms", "--count", "1")
    ok("STILL OPEN after 3" in result.out and "the hang's end" in result.out, "text", result)
    with open(f"{directory}/blocks.jsonl", "rb") as file:
        kept = [bad.json.loads(line)["type"] for line in file]
    logs = [name for name in os.listdir(directory) if name.endswith(".log")]
    ok(kept == ["hang", "block", "summary"] and len(logs) == 1, "-o", f"{kept} {logs}")
    replayed = bad.trace("replay", "--json", bad.scratch("journal"))
    again = [(r["type"], r.get("severity")) for r in replayed.records()]
    ok(again == [("hang", "hang"), ("block", "hang"), ("summary", None)], "replay", again)


bad.need_tracing()
test_anr()
test_scenario("hang:700ms", "sleep", "handle_hang")
test_scenario("hang_busy:700ms", "running", "handle_hang_busy")
test_scenario("hang:700ms", "sleep", "handle_hang", "--backend", "uprobe")
test_scenario("hang_busy:700ms", "running", "handle_hang_busy", "-F", "0")
test_seen_before()
test_seen_before("--disable-feature", "task_storage")
test_never_ends("stuck", "blocked")
test_never_ends("spin", "running")
test_killed()
test_fuse("stat")
test_fuse("listxattr")
looping = bad.target("loop", 40)
test_options(looping)
test_outputs()
bad.done()
