#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A thousand blocks a second, programs that start and end: memory, descriptors and BPF objects do
not grow."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

MEMORY_MAX_KB, GROWTH_KB = 60 * 1024, 1024  # pages that our processes share count once
# Longer for a more exact result.
SECONDS = float(os.environ.get("LEAK_SECONDS", "6"))
WARM_S = 3


def look(tracer):
    fds = bad.all_fds_of(tracer.pid)
    for _ in range(5):  # some are open only for a moment
        time.sleep(0.05)
        fds = {fd: name for fd, name in bad.all_fds_of(tracer.pid).items() if fds.get(fd) == name}
    return bad.pss_kb(tracer.pid), fds, bad.held(tracer.pid), int(bad.status_of(tracer.pid)["Threads"])


def differences(first, last):
    """Growth of descriptors, BPF objects and threads. A timer may be open at one sample; a leak
    grows with each exec."""
    return [f"{set(map(str, a)) ^ set(map(str, b))}" for a, b in zip(first[1:3], last[1:3])
            if abs(len(a) - len(b)) > 1] + (
        [f"{first[3]} threads, then {last[3]}"] if first[3] != last[3] else [])


def watch(name, process, *options):
    tracer = bad.Tracer(*options, "-p", process.pid, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    time.sleep(WARM_S)
    first, last = bad.at_rest(lambda: look(tracer), SECONDS,
                              lambda a, b: b[0] - a[0] >= GROWTH_KB or differences(a, b))
    cpu = bad.cpu_s(tracer.pid) / (time.monotonic() - began)
    result = tracer.stop()
    ok(result.status == 0 and last[0] - first[0] < GROWTH_KB and last[0] < MEMORY_MAX_KB,
       f"{name}: {first[0]} KiB, then {last[0]} KiB ({100 * cpu:.0f} % CPU)", result.err)
    ok(not differences(first, last), f"{name}: {len(last[1])} descriptors, {len(last[2])} BPF objects, {last[3]} threads",
       differences(first, last))
    ok(not bad.left(last[2]), f"{name}: nothing stays in the kernel", bad.left(last[2]))
    return result


def test_blocks():
    """Text with names for each block; with -o, also files, which are bounded."""
    process = bad.target("storm", 1, 800)
    watch("a thousand blocks a second", process, "-t", "500us", "-F", "999")
    directory = bad.scratch("dir")
    watch("the same with -o", process, "-t", "500us", "--json", "-o", directory, "--max-size", "1M")
    size = sum(os.stat(f"{directory}/{name}").st_size for name in os.listdir(directory))
    ok(size <= 1 << 20, f"-o keeps within --max-size: {size} bytes", os.listdir(directory)[:10])
    bad.end(process)


def test_execs():
    """Each exec is another program with other mappings."""
    script = bad.scratch("again")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ -e {bad.SCRATCH}/stop ] && exec {bad.TARGET} loop\nsleep 0.05\nexec "$0"\n')
    os.chmod(script, 0o755)
    for backend in ("kernel", "uprobe"):
        process = bad.start([script], stdout=subprocess.DEVNULL)
        watch(f"exec after exec, {backend}", process, "--backend", backend)
        bad.end(process)


def test_short_runs():
    """Runs of any length, one after the other."""
    for i in range(6):
        for backend in ("kernel", "uprobe"):
            bad.trace("-d", f"{1 + i * 20}ms", "--backend", backend, "--", bad.SIMJANK, "--quiet")
    children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True,
                              check=False).stdout.split()
    ok("jankbpf" not in children and "simjank" not in children, "a dozen short runs leave no process", children)


bad.need_tracing()
test_blocks()
test_execs()
test_short_runs()
bad.done()
