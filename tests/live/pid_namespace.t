#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf in a pid namespace of its own, as in a container: with the container's process ids it traces what runs there,
by -p, -a and a COMMAND, with typed and plain probes. What is outside is not traced, but can be to blame."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

OUTSIDE = 2000000000
INSIDE = ("unshare", "--fork", "--pid", "--mount-proc", "--kill-child")
SCENARIOS = "sleep:40ms,mutex:50ms,busy:30ms"
PROBES = {"typed probes": (), "plain probes": ("--disable-feature", "tp_btf")}


def script_of(work, trace):
    """A shell that starts the program, is the container's init, and becomes the tracer's parent."""
    return (*INSIDE, "sh", "-c", f'{bad.SIMJANK} --quiet {work} & "$0" "$@"; status=$?; kill $!; exit $status', bad.JANK, *trace)


def run(work, *trace):
    done = subprocess.run(script_of(work, trace), capture_output=True, timeout=120, check=False)
    return bad.Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"), 0)


def check_blocks(result, truth, what):
    begins = [each for each in truth if each.get("scenario") in ("sleep", "mutex")]
    blocks = result.blocks()
    ok(len(begins) >= 4 and not bad.missing([each["begin_ns"] for each in begins], blocks), f"{what}: each slow dispatch is a block", result)
    ok(all(block["time"]["running_ns"] + block["time"]["runnable_ns"] + sum(block["time"]["blocked_ns"].values())
           == block["duration_ns"] for block in blocks), f"{what}: exact accounts")
    pids = {(block["pid"], block["tid"]) for block in blocks}
    ok(len(pids) == 1 and max(max(pids)) < 1000, f"{what}: the container's process id", pids)
    mutex = [b for b in blocks if b["cause"].get("what") == "mutex"]
    holders = {step.get("tid") for block in mutex for step in block.get("chain", ())}
    ok(mutex and holders and all(tid and tid < 1000 for tid in holders), f"{what}: the holder of the lock, by its id there",
       (holders, mutex[:1]))
    blamed = {block["cause"].get("frame", {}).get("function") for block in blocks}
    ok({"do_sleep", "do_lock"} <= blamed, f"{what}: functions have names", blamed)


def truth_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_command(what, options):
    path = bad.scratch(re.sub(r"\W", "", what))
    done = subprocess.run([*INSIDE, bad.JANK, "--json", "-t", "25ms", *options, "--", bad.SIMJANK, "--quiet", "--truth", path,
                           "--scenario", SCENARIOS, "--count", "9"], capture_output=True, timeout=120, check=False)
    result = bad.Result(done.returncode, done.stdout, done.stderr.decode(), 0)
    check_blocks(result, truth_of(path), what)
    ok("process ids are those of this container" in result.err, f"{what}: it says whose process ids it prints", result.err)


def test_all():
    """A program inside and one outside. The one outside is not ours to see."""
    outside = bad.simjank("--quiet", "--scenario", "sleep:40ms", "--count", "100000")
    result = run(f"--scenario {SCENARIOS} --count 100000", "-a", "--json", "-t", "25ms", "-n", "6")
    bad.end(outside)
    names = {(loop["process"], loop["pid"] < 1000) for loop in result.summary()["loops"]} if result.summary() else None
    ok(result.status == 0 and len(result.of("block")) == 6, "-a: blocks of what runs inside", result)
    ok(names and all(inside for _, inside in names), "-a: nothing outside is traced", names)
    ok(all(block["pid"] < 1000 for block in result.of("block")), "-a: no block of the program outside")


def test_outside_hog():
    """Two programs outside that want the one CPU of a program inside: they are named, with the machine's id."""
    cpu = str(min(os.sched_getaffinity(0)))
    hogs = [bad.start(["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    done = subprocess.run([*INSIDE, bad.JANK, "--json", "-t", "25ms", "-n", "2", "-d", "60s", "--", "taskset", "-c", cpu, bad.SIMJANK,
                           "--quiet", "--scenario", "busy:60ms", "--count", "100"], capture_output=True, timeout=120, check=False)
    result = bad.Result(done.returncode, done.stdout, done.stderr.decode(), 0)
    bad.end(*hogs)
    ran = {task["pid"] for block in result.of("block") for task in block["preemptors"]}
    ok(ran & {OUTSIDE + hog.pid for hog in hogs}, "what runs instead, outside: the machine's id + 2000000000",
       (ran, [hog.pid for hog in hogs]))


def test_attach():
    result = run(f"--scenario {SCENARIOS} --count 100000", "-p", "2", "--json", "-t", "25ms", "-n", "4")
    ok(result.status == 0 and {block["pid"] for block in result.of("block")} == {2}, "-p: by the id in the container", result)


def main():
    bad.need_tracing()
    if subprocess.run([*INSIDE, "true"], capture_output=True, check=False).returncode:
        bad.skip_all("no pid namespace can be made here")
    for what, options in PROBES.items():
        test_command(what, options)
    test_attach()
    test_all()
    test_outside_hog()
    bad.done()


main()
