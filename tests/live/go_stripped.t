#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A stripped Go program: its functions have names from Go's own table, in stacks and in the
verdict."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import ROOT, Tap, Trace, need  # noqa: E402

SOURCE = os.path.join(ROOT, "tests", "loops", "netpoll.go")
CACHE = os.path.join(ROOT, ".output", "go-cache")


def build(folder, name, flags):
    path = os.path.join(folder, name)
    env = dict(os.environ, GO111MODULE="off", GOFLAGS="", GOCACHE=os.environ.get("GOCACHE", CACHE))
    subprocess.run(["go", "build", f"-ldflags={flags}", "-o", path, SOURCE], check=True, env=env)
    return path


def user_stacks(trace):
    for block in trace.blocks:
        for sample in block["samples"]:
            stack = [frame for frame in sample.get("stack", ()) if not frame.get("kernel")]
            if stack:
                yield stack


def run(program):
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    with Trace(process.pid, threshold="30ms", options=("-l", "go")) as trace:
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(2)
    process.communicate(timeout=20)
    return trace


def check(tap, what, trace, program):
    of_it = [frame for stack in user_stacks(trace) for frame in stack if frame.get("module") == program]
    nameless = [frame for frame in of_it if "function" not in frame]
    tap.check(len(of_it) > 50 and not nameless, f"{what}: each of its {len(of_it)} frames has a name", nameless[:3])
    names = {frame.get("function") for frame in of_it}
    tap.check({"main.serve", "main.spin", "main.nap"} <= names and
              {"runtime.goexit", "runtime.goexit.abi0"} & names, f"{what}: each of its functions is there", names)
    causes = [(block.get("cause", {}).get("frame") or {}).get("function") for block in trace.blocks]
    named = [cause for cause in causes if cause]  # a thread may have run only Go's runtime
    tap.check(2 * len(named) > len(causes) and all(cause.startswith("main.") for cause in named),
              f"{what}: the verdict names one of the program's functions", causes)


def main():
    need("go")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-go-", dir="/var/tmp") as folder:
        for what, flags in (("with symbols", ""), ("stripped", "-s -w")):
            program = build(folder, what.replace(" ", "-"), flags)
            check(tap, what, run(program), program)
    tap.end()


if __name__ == "__main__":
    main()
