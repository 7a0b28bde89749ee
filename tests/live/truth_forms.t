#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The forms of simjank: threads, other waits, each way to give a Looper work, several processes."""
import concurrent.futures
import importlib.machinery
import importlib.util
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, need  # noqa: E402


def sibling(name):
    loader = importlib.machinery.SourceFileLoader("truth", os.path.join(HERE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    return module


truth = sibling("truth.t")


# Several loops, so no hogs: they delay the other loops where simjank's truth does not see it.
THREADS = ["--threads", "3", "--scenario", "busy,kernel,sleep,mutex,cond,pipe,socket,tcp,disk,page_fault,"
           "userfault,poll,select,epoll,mixed,mixed_cpu"]


def several(tap):
    """-p A,B,C: each one's blocks are judged by its own truth."""
    what, options = "-p A,B,C", [*truth.WORK, "--duration", "4s"]
    builds = ["simjank", "simjank"] + ["simjank-looper"] * os.path.exists(truth.simjank("simjank-looper"))
    with tempfile.TemporaryDirectory() as folder:
        started = [truth.start(folder, build, [*options, "--seed", str(i), "--scenario", "sleep,pipe,poll,mutex"],
                               f"truth{i}") for i, build in enumerate(builds)]
        trace = truth.trace_started([process for process, _ in started])
        blocks = trace.keep(os.path.join(folder, "blocks"))
        for build, (process, path) in zip(builds, started):
            loop = "android-looper" if "looper" in build else "epoll"
            truth.judge(tap, f"{what}, {build}", path, blocks, ["--loop", loop])
        pids = {process.pid for process, _ in started}
        seen = {block["pid"] for block in trace.blocks}
        tap.check(seen == pids, f"{what}: the blocks are of all {len(pids)}", seen, pids)
        tap.check({entry["pid"] for entry in trace.summary["loops"]} == pids,
                  f"{what}: the summary counts the dispatches of each", trace.summary)


def main():
    need()
    tap = Tap()
    looper = os.path.exists(truth.simjank("simjank-looper"))
    cases = [
        ("simjank", "kernel", truth.run_pid, THREADS),
        ("simjank", "uprobe", truth.run_command, THREADS),
        ("simjank", "kernel", truth.run_command, ["--wait-call", "epoll_pwait"]),
        ("simjank", "uprobe", truth.run_pid, ["--wait-call", "epoll_pwait"]),
        ("simjank", "kernel", truth.run_pid, ["--wait-call", "epoll_pwait2"]),
        ("simjank", "uprobe", truth.run_command, ["--wait-call", "epoll_pwait2"]),
        ("simjank-looper", "kernel", truth.run_pid, THREADS),
        ("simjank-looper", "kernel", truth.run_command, ["--form", "message"]),
        ("simjank-looper", "uprobe", truth.run_pid, ["--form", "fd"]),
        ("simjank-looper", "kernel", truth.run_pid, ["--form", "after"]),
    ]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = []
        for build, backend, runner, options in cases:
            what = f"{build} {' '.join(options[:2])}, {backend}"
            if "looper" in build and not looper:
                tap.skip(what, "not built: android-libutils-dev is not installed")
                continue
            future = pool.submit(truth.run, os.path.join(folder, str(len(runs))), runner, build, backend, options, 4)
            runs.append((what, future, "android-looper" if "looper" in build else "epoll"))
        for what, future, loop in runs:
            truth.check(tap, what, future, loop)
    several(tap)
    tap.end()


if __name__ == "__main__":
    main()
