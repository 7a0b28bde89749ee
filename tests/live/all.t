#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf -a beside -p on the same processes, with each filter, and with hundreds of processes that
start and end."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from group import Group
from live import JANKBPF, MS, ROOT, Tap, Trace, build, check_run, headline, need

need("python3", "cc", "unshare")
tap = Tap()
SIMJANK = os.path.join(ROOT, "simjank")
CHURN_S = float(os.environ.get("CHURN_SECONDS", "12"))  # longer for a more exact result
CHURN_RATE = 120  # processes a second
CHURN_STALL_MS = 40
# spans of other threads are kept, up to 8 MiB; two histograms per process, 10 KiB
GROWTH_KB = 2048 + 8192 + 8192
THRESHOLD_NS = 25 * MS
CONTAINER = "5bd1" * 16


def simjank(*options, start=subprocess.Popen, program=SIMJANK):
    return start([program, "--quiet", *options]) if start is subprocess.Popen else start(program, "--quiet", *options)


def end(*processes):
    for process in processes:
        process.kill()
        process.wait()


def loops_of(trace):
    return {loop["pid"] for loop in trace.summary["loops"]}


def matching(block, others):
    """The other tracer's record of the same dispatch. The two clocks differ by microseconds."""
    return next((b for b in others if b["tid"] == block["tid"] and abs(b["start_ns"] - block["start_ns"]) < MS
                 and abs(b["duration_ns"] - block["duration_ns"]) < 2 * MS), None)


def test_same_blocks(group):
    """Two tracers at once: one by pid, one of the whole machine with -g."""
    inside = [simjank("--scenario", "busy:40ms,sleep:40ms-70ms,mutex:50ms", "--threads", "2", "--duration", "60s",
                      start=group.start) for _ in range(3)]
    decoy = simjank("--scenario", "sleep:60ms", "--duration", "60s")
    time.sleep(1)
    with Trace(*(p.pid for p in inside)) as by_pid, Trace(options=("-a", "-g", group.path)) as by_all:
        time.sleep(4)
        by_all.stop()
    end(decoy, *inside)
    check_run(tap, by_all, "-a -g", "simjank", "epoll")
    known = {p.pid for p in inside}
    tap.check({b["pid"] for b in by_all.blocks} == known, "-a -g: blocks of each process in the group, and of no other",
              {b["pid"] for b in by_all.blocks} ^ known)
    tap.check(loops_of(by_all) == known, "-a -g: counts no other process", loops_of(by_all) ^ known)
    # Compare the blocks that are long enough for both and within both runs.
    last = max(b["start_ns"] + b["duration_ns"] for b in by_all.blocks) - 500 * MS
    for what, ours, theirs in (("-p", by_pid, by_all), ("-a", by_all, by_pid)):
        first = max(min(b["start_ns"] for b in by_pid.blocks), min(b["start_ns"] for b in by_all.blocks)) + 500 * MS
        common = [b for b in ours.blocks if first < b["start_ns"] < last and b["duration_ns"] > THRESHOLD_NS + 2 * MS]
        missing = [headline(b) for b in common if not matching(b, theirs.blocks)]
        tap.measured(common and not missing, f"both found each of the {len(common)} blocks that {what} found",
                     *missing)
    block = by_all.blocks[0]
    tap.check(block["exe"].endswith("simjank") and block["uid"] == os.getuid() and block["ns_pid"] == block["pid"],
              "-a has the same names", block)


def test_names(folder):
    """-c by the name of one process, -u by a user, and the main thread alone."""
    mine = shutil.copy(SIMJANK, os.path.join(folder, "jankall-mine"))
    other = shutil.copy(SIMJANK, os.path.join(folder, "jankother"))
    inside = simjank("--scenario", "sleep:60ms", "--threads", "3", "--duration", "60s", program=mine)
    decoy = simjank("--scenario", "sleep:60ms", "--duration", "60s", program=other)
    time.sleep(1)
    uid = str(os.getuid())
    for options, what in ((("-c", "jankall-*"), "a pattern"), (("-c", "nobody", "-c", "jankall-min?", "-u", uid), "two"),
                          (("-c", "jankall-mine", "--main-thread"), "the main thread")):
        with Trace(options=("-a", *options)) as trace:
            time.sleep(1.5)
        pids, tids = {b["pid"] for b in trace.blocks}, {b["tid"] for b in trace.blocks}
        tap.check(pids == {inside.pid} == loops_of(trace), f"-c: {what} leaves one process", pids, loops_of(trace))
        main = "--main-thread" in options
        tap.check(len(tids) == (1 if main else 3) and (not main or tids == pids), f"-c: {what}: its threads", tids)
    with Trace(options=("-a", "-c", "jank*", "-u", str(os.getuid() + 1))) as trace:
        time.sleep(1)
    tap.check(not trace.blocks and not loops_of(trace), "-u: none of another user", trace.blocks[:1])
    end(inside, decoy)


PYTHON_LOOP = """
import asyncio, time
async def main():
    while True:
        await asyncio.sleep(0.02)
        time.sleep(0.04)
asyncio.run(main())
"""


def test_loops(group):
    """-l by the catalogue's names, -n with -l, and jankbpf loops."""
    python = group.start(sys.executable, "-c", PYTHON_LOOP)
    plain = simjank("--scenario", "sleep:60ms", "--duration", "60s", start=group.start)
    idle = group.start(sys.executable, "-c", "import select; select.epoll().poll()")
    time.sleep(1)
    with Trace(options=("-a", "-g", group.path, "-l", "python", "-n", "5")) as trace:
        trace.finish()
    tap.check(len(trace.blocks) == 5 and {b["pid"] for b in trace.blocks} == {python.pid}
              and {b["loop"] for b in trace.blocks} == {"python"}, "-l python -n 5: five of its blocks",
              [headline(b) for b in trace.blocks], trace.messages)
    tap.check(trace.summary["blocks"] == 5, "-l python -n 5: the summary agrees", trace.summary)
    replayed = subprocess.run([JANKBPF, "-q", "--json", "replay", trace.journal], capture_output=True, text=True,
                              timeout=60)
    again = [json.loads(line) for line in replayed.stdout.splitlines()]
    tap.check([(b["id"], b["loop"]) for b in again if b["type"] == "block"] == [(b["id"], b["loop"]) for b in trace.blocks],
              "a replay shows the same blocks with the same names", replayed.stdout[:2000], replayed.stderr)
    with Trace(options=("-a", "-g", group.path, "-l", "epoll")) as trace:
        time.sleep(1)
    tap.check({b["pid"] for b in trace.blocks} == {python.pid, plain.pid}, "-l epoll: no matter which loop it is",
              [headline(b) for b in trace.blocks])
    with Trace(threshold="60s", options=("-a", "-g", group.path)) as trace:
        time.sleep(1)
    names = {loop["pid"]: loop["loop"] for loop in trace.summary["loops"]}
    tap.check(not trace.blocks and names == {python.pid: "python", plain.pid: "epoll"},
              "the summary names loops that had no block", names)
    found = subprocess.run([JANKBPF, "loops", "-a", "-g", group.path], capture_output=True, text=True, timeout=60)
    tap.check(found.returncode == 0 and found.stdout.count("(pid ") == 3, "loops -a: three processes", found.stdout,
              found.stderr)
    for process, loop, what in ((python, "python", "a working loop"), (plain, "epoll", "an unknown loop"),
                                (idle, "python", "a loop that always waits")):
        tap.check(f"\n  {loop:14} thread {process.pid} " in found.stdout, f"loops: {what}", found.stdout)
    tap.check("waits in epoll_wait, called by wait__epoll_wait (simjank)" in found.stdout, "loops: the caller of the wait",
              found.stdout)
    none = subprocess.run([JANKBPF, "loops", "-p", str(os.getpid())], capture_output=True, text=True, timeout=60)
    tap.check(none.stdout == "no loop was seen\n" and none.returncode == 0, "loops -p: a process without a loop",
              none.stdout, none.stderr)
    end(python, plain, idle)


def test_identity(group):
    """A container is found by its cgroup, and the record has the pid that the process itself
    sees."""
    inner = Group(f"docker-{CONTAINER}.scope", group)
    process = inner.start("unshare", "--pid", "--fork", "--kill-child", SIMJANK, "--quiet", "--scenario",
                          "sleep:60ms", "--duration", "60s")
    time.sleep(1)
    with Trace(options=("-a", "-g", os.path.basename(inner.path))) as trace:
        time.sleep(1)
    end(process)
    inner.remove()
    block = trace.blocks[0] if trace.blocks else {}
    tap.check(block.get("container") == CONTAINER and block.get("unit") == f"docker-{CONTAINER}.scope",
              "-g by a unit's name; container and unit", trace.messages, block)
    tap.check(block.get("ns_pid") == 1 and block.get("pid") != 1, "the pid in its own namespace", block)


FILES_EACH = 3  # a library is kept open by three tables: names, callers, what is written to it


def state_of(pid):
    """Its long-lived descriptors without those of libraries, plus repeated ones of a library; its
    memory; its BPF objects (one may be a window of statistics)."""
    fds = bad.all_fds_of(pid)
    for _ in range(5):
        time.sleep(0.05)
        now = bad.all_fds_of(pid)
        fds = {fd: name for fd, name in fds.items() if now.get(fd) == name}
    files = collections.Counter(name for name in map(str, fds.values()) if re.search(r"\.(so|debug)\b", name))
    often = sum(max(0, cnt - FILES_EACH) for cnt in files.values())
    return len(fds) - sum(files.values()) + often, bad.rss_kb(pid), len(bad.held(pid))


def churn(group, comer, seconds, truth):
    """Starts processes at a rate until the time is over. One in four execs; one in four has its
    loop in a thread."""
    modes, running, number = ([], ["exec"], ["thread"], []), [], 0
    begin = time.monotonic()
    enter = ["sh", "-c", 'echo $$ >"$0"/cgroup.procs; mode=$1; shift; while read -r m; do "$@" $m & done', group.path]
    shell = subprocess.Popen([*enter, "-", comer, str(CHURN_STALL_MS)], stdin=subprocess.PIPE, stdout=truth, text=True)
    while time.monotonic() - begin < seconds:
        shell.stdin.write(" ".join(modes[number % len(modes)]) + "\n")
        shell.stdin.flush()
        number += 1
        time.sleep(max(0.0, begin + number / CHURN_RATE - time.monotonic()))
    shell.stdin.close()
    shell.wait()
    return number, running


def test_churn(group, folder):
    comer, shell = build(folder, "comer.c", "-pthread"), shutil.which("sh")
    path = os.path.join(folder, "truth")
    with open(path, "w", encoding="utf-8") as truth, Trace(options=("-a", "-g", group.path)) as trace:
        cnt, _ = churn(group, comer, CHURN_S / 3, truth)
        first = state_of(trace.process.pid)
        more, _ = churn(group, comer, CHURN_S, truth)
        time.sleep(1.2)
        last = state_of(trace.process.pid)
        cpu = bad.cpu_s(trace.process.pid)
    stalls = [tuple(map(int, line.split())) for line in open(path, encoding="utf-8")]
    by_pid = {}
    for block in trace.blocks:
        by_pid.setdefault(block["pid"], []).append(block)
    missed = [s for s in stalls if not any(b["start_ns"] < s[1] + MS and
                                           b["start_ns"] + b["duration_ns"] > s[1] + s[2] - MS
                                           for b in by_pid.get(s[0], ()))]
    tap.note(f"{cnt + more} processes, {len(stalls)} stalls, {len(trace.blocks)} blocks; tracer: {cpu:.1f} s of CPU, "
             f"{first} then {last} (descriptors, KiB, BPF objects)")
    tap.check(len(stalls) > CHURN_RATE * CHURN_S * 0.8, "hundreds of processes ran", len(stalls))
    tap.check(not missed, f"no stall of {len(stalls)} was missed", missed[:5], trace.summary)
    tap.check(len(trace.blocks) <= len(stalls) * 1.1, "and none was invented", len(trace.blocks))
    names = {(b["process"], b.get("exe") and os.path.basename(b["exe"])) for b in trace.blocks}
    nameless = sum("exe" not in b for b in trace.blocks)  # ended before jankbpf could read its name
    # the shell that starts them is traced, too
    names.discard((os.path.basename(shell), os.path.basename(os.path.realpath(shell))))
    tap.measured(names <= {(name, exe) for name in ("comer", "exe") for exe in ("comer", None)}
                 and nameless < len(trace.blocks) / 20,
                 f"each has its name, and all but {nameless} the path of the program", names, nameless)
    # the shell's copy may lie where a child's is mapped
    check_run(tap, trace, "churn", spared=("stack_copies_shed",))
    tap.check(abs(last[0] - first[0]) <= 2, "the number of descriptors stays the same", first, last)
    tap.check(last[1] - first[1] < GROWTH_KB, "so does the memory", first, last)
    tap.check(abs(last[2] - first[2]) <= 1, "and the number of BPF objects", first, last)


def main():
    with tempfile.TemporaryDirectory(prefix="jank-all-") as folder:
        test_names(folder)
        try:
            group = Group(f"jank-all-{os.getpid()}")
        except OSError as why:
            tap.skip("narrowed by cgroup", why)
            return
        try:
            test_same_blocks(group)
            test_loops(group)
            test_identity(group)
            test_churn(group, folder)
        finally:
            for pid in group.pids():  # groups of a failed test
                subprocess.run(["kill", "-9", pid], check=False)
            group.remove()


main()
tap.end()
