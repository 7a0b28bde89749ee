#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Targets that exec, live in another mount namespace, or have lost their files."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok, skip

BACKENDS = ("kernel", "uprobe")
TIMEOUT = bad.START_S


def named(result, function, module=None):
    return [f for b in result.blocks() for s in b["samples"] for f in s["stack"]
            if f.get("function") == function and (not module or f.get("module", "").endswith(module))]


def test_exec(how, backend):
    """An exec by the main thread, or by another thread, which becomes the main thread."""
    process = bad.target("exec", *how)
    # else a slow start of the tracer misses what comes before the exec
    process.send_signal(signal.SIGSTOP)
    tracer = bad.Tracer("--json", "-t", "25ms", "--backend", backend, "-p", process.pid)
    process.send_signal(signal.SIGCONT)
    bad.wait_for(lambda: tracer.stdout().count(b'"process":"exe"') >= 16, TIMEOUT)
    result = tracer.stop()
    lengths = [b["duration_ns"] // bad.MS for b in result.blocks()]
    names = {b["process"] for b in result.blocks()}
    first, then = [n for n in lengths if n < 55], [n for n in lengths if n >= 55]
    what = f"exec {' '.join(how)}, {backend}"
    ok(result.status == 0 and len(first) >= 4 and len(then) >= 8 and bad.exact(result.blocks()),
       f"{what}: dispatches before and after", f"{lengths} {result}")
    ok(names <= {"target", "exe"} and {b["pid"] for b in result.blocks()} == {process.pid}, f"{what}: one process", names)
    # a dispatch that only waited for a CPU, or for its exec, may have no stack
    cut = [b for b in result.blocks() if b["tid"] != process.pid and b["time"]["blocked_ns"].get("sleep", 0) > 25 * bad.MS]
    ok(not how or cut and all(b["samples"] for b in cut), f"{what}: the thread keeps its number, and its stacks until then",
       cut)
    last = result.blocks()[-1]
    ok(last["tid"] == process.pid and any(f.get("function") == "run_loop" for s in last["samples"] for f in s["stack"]),
       f"{what}: names of the new program", last)
    bad.end(process)


def test_exec_storm():
    """exec after exec: never a hang or a crash."""
    script = bad.scratch("again")
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "$1" = 0 ] && exec sleep 0.2\nexec "$0" $(($1 - 1))\n')
    os.chmod(script, 0o755)
    for backend in BACKENDS:
        result = bad.trace("--backend", backend, "--", script, "150", seconds=40)
        ok(result.status == 0 and "lost" not in result.err, f"150 execs in a row, {backend} ({result.seconds:.1f} s)", result)


def test_headless(backend, end_ms):
    """A process whose main thread has ended, or ends meanwhile."""
    process = bad.target("headless", end_ms)
    time.sleep(0.1)
    tracer = bad.Tracer("--json", "-t", "25ms", "--backend", backend, "-p", process.pid)

    def is_long():
        """Blocks from before the end of the main thread until long after it."""
        begins = [bad.json.loads(line)["start_ns"] for line in tracer.stdout().split(b"\n")[:-1]]
        return len(begins) > 10 and begins[-1] - begins[0] > (600 + end_ms) * bad.MS

    seen = bad.wait_for(is_long)
    alive = tracer.process.poll() is None
    result = tracer.stop()
    what = f"a main thread that {'ends meanwhile' if end_ms else 'has ended'}, {backend}"
    ok(seen and alive and result.status == 0, f"{what}: blocks of the other threads", result)
    ok(named(result, "handle_busy"), f"{what}: names", result)
    bad.end(process)


def make_root(name):
    """A directory with a copy of the target and its libraries."""
    root = bad.scratch(name)
    files = subprocess.run(["ldd", bad.TARGET], capture_output=True, text=True, check=True).stdout.split()
    for path in [word for word in files if word.startswith("/")]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    os.makedirs(root + "/tmp")
    shutil.copy(bad.TARGET, root + "/target")
    return root


def judge_loop(process, what, backend, program="target", options=()):
    result = bad.trace("--json", "-t", "25ms", "-n", "4", "--backend", backend, "-p", process.pid, *options,
                       seconds=TIMEOUT)
    ok(result.status == 0 and len(result.blocks()) == 4 and bad.exact(result.blocks()), f"{what}, {backend}: blocks",
       result)
    ok(named(result, "handle_busy", program) and named(result, "main", program), f"{what}, {backend}: names", result)
    return result


def test_mount_namespace():
    root = make_root("root")
    probe = subprocess.run(["unshare", "-m", "true"], check=False)
    if probe.returncode:
        return skip("another mount namespace", "unshare -m is not possible")
    for backend in BACKENDS:
        process = bad.start(["unshare", "-m", "chroot", root, "/target", "storm", "1", "40000", "10"],
                            stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        judge_loop(process, "its own mount namespace and root, its own libc", backend)
        bad.end(process)
    return None


def test_other_libc():
    """COMMAND execs a program with another libc than its own."""
    root = make_root("other")
    for backend in BACKENDS:
        result = bad.trace("--json", "-t", "25ms", "-n", "4", "--backend", backend, "-F", "0", "--", "sh", "-c",
                           f"sleep 0.2; exec chroot {root} /target storm 1 40000 10 >/dev/null", seconds=TIMEOUT)
        ok(result.status == 0 and len(result.blocks()) == 4, f"exec of a program with its own libc, {backend}", result)


def test_deleted():
    """The program and its libc are deleted from the disk, or replaced by garbage."""
    for what in ("deleted", "replaced"):
        for backend in BACKENDS:
            root = make_root(f"{what}-{backend}")
            process = bad.start(["chroot", root, "/target", "storm", "1", "40000", "10"], stdout=subprocess.PIPE, text=True)
            process.stdout.readline()
            shutil.rmtree(root)
            if what == "replaced":
                make_root(f"{what}-{backend}")
                for where, _, names in os.walk(root):
                    for name in names:
                        with open(f"{where}/{name}", "r+b") as file:
                            file.write(b"garbage " * 100)
            judge_loop(process, f"its files are {what}", backend)
            bad.end(process)


bad.need_tracing()
for mode in BACKENDS:
    test_exec((), mode)
    test_exec(("thread",), mode)
    test_headless(mode, 0)
    test_headless(mode, 1000)
test_exec_storm()
test_mount_namespace()
test_other_libc()
test_deleted()
bad.done()
