#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Options on a running program, as far as no other test covers them."""
import os
import pty
import re
import select
import struct
import sys
import termios
import fcntl
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

COLOR = re.compile(rb"\x1b\[")


def test_no_samples(process):
    result = bad.trace("--json", "-t", "10ms", "-n", "4", "-F", "0", "-p", process.pid)
    states = {s["state"] for b in result.blocks() for s in b["samples"]}
    ok(result.status == 0 and len(result.blocks()) == 4 and "running" not in states and bad.exact(result.blocks())
       and all(b["time"]["running_ns"] + b["time"]["runnable_ns"] > 30 * MS for b in result.blocks()), "-F 0: blocks, no samples", result)
    bad.valid(result, "-F 0: valid records")


def test_frequency(process):
    counts = {}
    for hz in (99, 999):
        result = bad.trace("--json", "-t", "10ms", "-n", "10", "-F", hz, "-p", process.pid)
        blocks = result.blocks()
        ran = sum(b["time"]["running_ns"] for b in blocks)
        counts[hz] = sum(s["state"] == "running" for b in blocks for s in b["samples"]) * 1e9 / ran
    ok(0.5 * 99 < counts[99] < 1.3 * 99 and 0.6 * 999 < counts[999] < 1.2 * 999, f"-F: samples a second {counts}", counts)


def test_fps(process):
    """The trace with one rate, and replays of it with others."""
    journal = bad.scratch("fps")
    for fps in (30, 60, 144, 1000):
        source = ("replay", journal) if os.path.exists(journal) else ("-n", "2", "--journal", journal, "-p", process.pid)
        result = bad.trace(*source, "--json", "-t", "10ms", "--fps", fps)
        good = [b["dropped_frames"] == b["delay_ns"] // (10**9 // fps) for b in result.blocks()]
        ok(good == [True, True], f"--fps {fps}", [(b["dropped_frames"], b["delay_ns"]) for b in result.blocks()])


def test_verbosity(process):
    args = ["-t", "10ms", "-n", "1", "-p", process.pid]
    quiet, normal, verbose, most = (bad.trace(*options, *args) for options in (["-q"], [], ["-v"], ["-vv"]))
    block, whole = (result.out.partition("━━ summary")[0] for result in (quiet, normal))
    ok(not quiet.err and re.match("━━ [0-9.]+ ms", block) and " ▒" not in block and len(block) < len(whole) * 0.6,
       "-q: only headlines, nothing on stderr", f"{quiet}")
    ok(not normal.complaints() and "summary" in normal.out, "nothing on stderr if all is well", normal)
    ok(re.match(r"jankbpf: watching target \(\d+\).*, over 10\.0 ms\n", normal.err), "a line on stderr says when tracing has begun", normal)
    ok("tracing; waits by tracepoints" in verbose.err, "-v says how it traces", verbose)
    said = [[line for line in result.err.splitlines() if "lost:" not in line] for result in (verbose, most)]
    ok(len(said[1]) >= len(said[0]) and most.status == 0, "-vv", most)


def test_backends(process):
    for backend, words in (("auto", "tracepoints"), ("kernel", "tracepoints"), ("uprobe", "uprobes")):
        result = bad.trace("-v", "--json", "-t", "10ms", "-n", "3", "--backend", backend, "-p", process.pid)
        ok(f"waits by {words}" in result.err and len(result.blocks()) == 3, f"--backend {backend}", result)
    result = bad.trace("--backend", "kernel", "--disable-feature", "syscall_tracepoints", "--disable-feature",
                       "raw_syscalls", "-p", process.pid)
    ok(result.status == 77 and "--backend kernel" in result.err, "--backend kernel, on a kernel without it", result)


def test_journal(process):
    journal = bad.scratch("journal")
    result = bad.trace("--json", "-t", "10ms", "-n", "5", "--journal", journal, "-p", process.pid)
    again = bad.trace("replay", "--json", journal)

    def without_cost(records):
        return [{k: v for k, v in r.items() if k != "cost"} for r in records if r["type"] != "summary"]

    ok(again.status == 0 and without_cost(again.records()) == without_cost(result.records()),
       "--journal: replay gives the same blocks", f"{result}\n{again}")
    fewer = bad.trace("replay", "--json", "-t", "1h", journal)
    ok(fewer.status == 0 and not fewer.blocks(), "with another threshold, other blocks", fewer)
    ok(os.stat(journal).st_mode & 0o777 == 0o600, "only its owner can read the journal", oct(os.stat(journal).st_mode))


def test_two_pids():
    one, two, other = (bad.target("storm", 1, 40000, 10) for _ in range(3))
    result = bad.trace("--json", "-t", "10ms", "-d", "1s", "-p", one.pid, "-p", two.pid)
    pids = {b["pid"] for b in result.blocks()}
    ok(pids == {one.pid, two.pid}, "-p twice: both processes, and no other", f"{pids} {result}")
    ok({loop["pid"] for loop in result.summary()["loops"]} == pids, "each with its histogram", result.summary())
    bad.end(one, two, other)


def test_later_threads():
    """Threads that start after the trace began."""
    process = bad.target("churn")
    time.sleep(0.3)
    old = {int(name) for name in os.listdir(f"/proc/{process.pid}/task")}
    for backend in ("kernel", "uprobe"):
        result = bad.trace("--json", "-t", "1ms", "-d", "1s", "--backend", backend, "-p", process.pid)
        new = {b["tid"] for b in result.blocks()} - old
        ok(len(new) > 100, f"{len(new)} threads that were started later, {backend}", result)
    bad.end(process)


def on_terminal(process, *options, seconds=2.5, env=None):
    """What a terminal of 70 columns gets from stdout and stderr."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    tracer = bad.start([bad.JANK, "-t", "10ms", "-d", "2s", *options, "-p", str(process.pid)], stdin=follower,
                       stdout=follower, stderr=follower, env=dict(os.environ, **(env or {})))
    os.close(follower)
    seen, deadline = b"", time.monotonic() + seconds + 30
    while select.select([leader], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        seen += data
    status = tracer.wait(10)
    os.close(leader)
    return status, seen


def test_terminal(process):
    plain = dict(os.environ)
    plain.pop("NO_COLOR", None)
    status, seen = on_terminal(process, env={"NO_COLOR": ""})
    ok(status == 0 and b"\x1b[1" in seen, "colour on a terminal", seen[-800:])
    ok(b"dispatches" in seen.split("━━ summary".encode())[0] and b"\r\x1b[K" in seen, "a status line that is erased",
       seen[-800:])
    status, seen = on_terminal(process, env={"NO_COLOR": "1"})
    ok(status == 0 and not COLOR.search(seen.replace(b"\x1b[K", b"")), "none with NO_COLOR", seen[-800:])
    lines = [COLOR.sub(b"", line).decode() for line in seen.replace(b"\r\x1b[K", b"\n").splitlines()]
    ok(max(map(len, lines)) <= 70, "no line is longer than the terminal", [line for line in lines if len(line) > 70])
    status, seen = on_terminal(process, "-q", env={"NO_COLOR": "1"})
    ok(status == 0 and b"\x1b" not in seen, "-q has no status line", seen[-800:])
    result = bad.trace("-t", "10ms", "-n", "2", "-p", process.pid)
    ok(b"\x1b" not in result.raw and not result.complaints(), "no colour and no status line in a file", result)
    result = bad.trace("-t", "10ms", "-n", "1", "--color", "always", "-p", process.pid, env={**os.environ, "LC_ALL": "C"})
    ok(b"\x1b[" in result.raw, "--color always: also in a file", result)
    ok(result.raw.isascii() and b"== " in result.raw, "only ASCII in the C locale", result)
    status, seen = on_terminal(process, "--color", "never")
    ok(status == 0 and not COLOR.search(seen.replace(b"\x1b[K", b"")), "--color never: none on a terminal", seen[-800:])


def test_qualifier(process):
    directory = bad.scratch("qualifier")
    bad.trace("-t", "10ms", "-n", "1", "-o", directory, "--qualifier", "build 7 = é", "-p", process.pid)
    logs = [name for name in os.listdir(directory) if name.endswith(".log")]
    with open(f"{directory}/{logs[0]}", encoding="utf-8") as file:
        text = file.read()
    ok(len(logs) == 1 and re.search(r"^qua = build 7 .*é", text, re.M), "--qualifier", text[:300])


bad.need_tracing()
busy = bad.target("storm", 1, 40000, 20)
for test in (test_no_samples, test_frequency, test_fps, test_verbosity, test_backends, test_journal, test_terminal,
             test_qualifier):
    test(busy)
bad.end(busy)
test_two_pids()
test_later_threads()
bad.done()
