#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""32-bit programs: the records of a 32-bit simjank must be right with both kinds of probes. A
message names what cannot be seen."""
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import live  # noqa: E402
from live import (EXIT_CANNOT, JANKBPF, ROOT, Tap, Trace, end, frame_of, main_syscall, modules, need,  # noqa: E402
                  skip_all)

FOLDER = {"x86_64": "i686", "aarch64": "arm"}.get(os.uname().machine, "none")
SIMJANK = os.path.join(ROOT, ".output", FOLDER, "static", "simjank")
IS_32BIT = "is a 32-bit program"
RUNS_32BIT = "runs a 32-bit program"
ATTACHED = "raw_syscalls attached"
CALM = ["--quiet", "--scenario", "sleep,pipe,mutex", "--length", "40ms-70ms", "--gap", "20ms", "--duration", "4s"]
SLEEPS = {"nanosleep", "clock_nanosleep", "clock_nanosleep_time64"}
STALLS = ["--quiet", "--scenario", "sleep:40ms,pipe:40ms,busy:40ms"]


def truth_t():
    """Does for this build what truth.t does for each."""
    loader = importlib.machinery.SourceFileLoader("truth", os.path.join(HERE, "truth.t"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    module.simjank = lambda name: SIMJANK if name == "simjank" else os.path.join(ROOT, "simjank")
    return module


def need_compat():
    if not os.path.exists(SIMJANK):
        skip_all("no 32-bit simjank: its compiler or C library is not installed (make deps-cross; make compat32)")
    try:
        subprocess.run([SIMJANK, *STALLS, "--count", "1"], check=True, timeout=60)
    except OSError as error:
        skip_all(f"this kernel runs no 32-bit programs ({error.strerror}): CONFIG_IA32_EMULATION or CONFIG_COMPAT")


def with_options(folder, *options):
    """A jankbpf with these options on every call."""
    path = os.path.join(folder, "jankbpf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {JANKBPF} {' '.join(options)} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def check_names(tap, what, blocks):
    """A frame's name, if it has one, is right: simjank's handlers, their callees, and its
    servers."""
    with open(blocks, encoding="utf-8") as file:
        blocks = [b for b in live.json.loads("[" + ",".join(file) + "]") if b["type"] == "block"]
    named = [frame_of(b) for b in blocks if frame_of(b) and "simjank" in modules(b)]
    wrong = [name for name in named if not name.startswith(("handle_", "do_", "server__"))]
    tap.check(len(named) * 3 > len(blocks), f"{what}: functions have names", len(named), len(blocks))
    tap.check(len(wrong) * 20 <= len(named), f"{what}: the names are right", wrong)
    slept = {main_syscall(b) for b in blocks if live.blamed(b) == "sleep"} - {None}  # None: a switch that nobody saw
    tap.measured(slept and slept <= SLEEPS, f"{what}: system calls have the names of their own numbers", slept)


def check_truth(tap, truth, runner, *options):
    what = " ".join(["32-bit,", *options, runner.__name__])
    with tempfile.TemporaryDirectory() as folder:
        truth.JANKBPF = live.JANKBPF = with_options(folder, *options)
        try:
            path, blocks = runner(folder, "simjank", "kernel", [*truth.WORK, "--duration", "6s"])
            truth.judge(tap, what, path, blocks, ["--loop", "epoll"])
            check_names(tap, what, blocks)
        except (RuntimeError, subprocess.SubprocessError) as error:
            tap.check(False, what, error)
        finally:
            truth.JANKBPF = live.JANKBPF = JANKBPF


def check_mixed(tap, truth):
    """A 64-bit and a 32-bit process in one trace: the one probe that sees both sees both."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = [truth.start(folder, name, [*truth.WORK, "--duration", "4s"], name)
                 for name in ("simjank", "the other")]
        trace = truth.trace_started([process for process, _ in pairs])
        said = [line for line in trace.messages if IS_32BIT in line]
        tap.check(len(said) == 1 and f"process {pairs[0][0].pid} " in said[0], "both: a message says which is 32-bit",
                  *trace.messages)
        for (process, path), name in zip(pairs, ("32-bit", "64-bit")):
            own = os.path.join(folder, "own")
            with open(own, "w", encoding="utf-8") as file:
                file.writelines(live.json.dumps(b) + "\n" for b in trace.blocks if b["pid"] == process.pid)
            truth.judge(tap, f"both, the {name} one", path, own, ["--loop", "epoll"])


def run(*args):
    return subprocess.run([JANKBPF, "--json", "-t", "25ms", *args], capture_output=True, text=True, timeout=60)


def blocks_of(done):
    return [r for r in map(live.json.loads, done.stdout.splitlines()) if r["type"] == "block"]


def check_says(tap):
    """The backend's choice is reported. An impossible request is refused, with the remedy."""
    work = [SIMJANK, *STALLS, "--count", "3"]
    done = run("--", *work)
    tap.check(done.returncode == 0 and len(blocks_of(done)) >= 3, "auto: three blocks", done)
    said = [line for line in done.stderr.splitlines() if "lost:" not in line and ": watching " not in line]
    tap.check(len(said) == 1 and f"'{SIMJANK}' {IS_32BIT}" in done.stderr
              and "raw_syscalls" in done.stderr, "auto: a message says that waits are seen through raw_syscalls", done.stderr)
    done = run("--backend", "uprobe", "--", *work)
    tap.check(done.returncode == EXIT_CANNOT and f"'{SIMJANK}' {IS_32BIT}" in done.stderr
              and "--backend kernel" in done.stderr, "--backend uprobe -- COMMAND: refused, with the remedy", done)
    process = live.start([SIMJANK, "--wait", *STALLS])
    try:
        live.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == os.path.realpath(SIMJANK))
        done = run("--backend", "uprobe", "-p", str(process.pid))
        tap.check(done.returncode == EXIT_CANNOT and f"process {process.pid} {IS_32BIT}" in done.stderr,
                  "--backend uprobe -p PID: refused", done)
    finally:
        end(process)
    done = run("--disable-feature", "raw_syscalls", "--", *work)
    tap.check(done.returncode == EXIT_CANNOT and "raw_syscalls" in done.stderr, "without raw_syscalls: refused", done)


def check_exec(tap):
    """A 64-bit program that becomes a 32-bit one: the probe for its waits is attached then, if
    there is one."""
    command = ["--", "sh", "-c", "\"$@\"; exec \"$@\"", "sh", SIMJANK, *STALLS, "--count", "3", "--start-delay", "1s"]
    for options, remedy in ((["--disable-feature", "raw_syscalls"], "this kernel has no raw_syscalls"),
                            (["--backend", "uprobe"], "--backend kernel")):
        done = run(*options, *command)
        name = " ".join(["exec", *options])
        tap.check(done.returncode == 0 and done.stderr.count(RUNS_32BIT) == 1 and "blocks are lost" in done.stderr
                  and remedy in done.stderr, f"{name}: a message says what is lost, with the reason", done)
    for options, said in (([], 1), (["--disable-feature", "tp_btf"], 1),
                          (["--disable-feature", "syscall_tracepoints"], 0)):
        done = run(*options, *command)
        name = " ".join(["exec", *options])
        tap.check(done.returncode == 0 and len(blocks_of(done)) >= 3, f"{name}: three blocks", done)
        lines = [line for line in done.stderr.splitlines() if not any(words in line for words in ("lost:", "not watched: sh ", ": watching "))]
        tap.check(len(lines) == done.stderr.count(RUNS_32BIT) == said, f"{name}: there is one such message",
                  done.stderr)
    script = "sleep 1; exec \"$@\""
    process = live.start(["sh", "-c", script, "sh", SIMJANK, *STALLS, "--count", "3", "--start-delay", "1s"])
    try:
        live.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == os.path.realpath(SIMJANK))
        trace = Trace(process.pid)
        trace.finish()
        tap.check(trace.status == 0 and len(trace.blocks) >= 3, "exec, traced again by -p: three blocks", trace.messages)
    finally:
        end(process)


def copies(folder, *names):
    """simjank under names unique to this run, for -c; names with 32 get the 32-bit one."""
    for name in names:
        shutil.copy(SIMJANK if name.endswith("32") else os.path.join(ROOT, "simjank"), os.path.join(folder, name))
    return lambda name: os.path.join(folder, name)


def start_turned(truth, folder, name):
    """As truth.start, through a shell, which is a 64-bit program."""
    path, given = truth.simjank(name), truth.simjank
    with open(path + ".sh", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nsleep 0.5\nexec {path} \"$@\"\n")
    os.chmod(path + ".sh", 0o755)
    truth.simjank = lambda name: path + ".sh"
    try:
        return truth.start(folder, name, CALM, name)
    finally:
        truth.simjank = given


def check_all(tap, truth):
    """-a: 32-bit programs that already run, that start later, and that other programs become,
    beside a 64-bit one."""
    mark = f"j{os.getpid() % 10000}"
    names = early, late, turned, other = [f"{mark}-{what}" for what in ("e32", "l32", "t32", "o64")]
    given = truth.simjank
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        truth.simjank = copies(os.path.join(folder, "bin"), *names)
        pairs = {early: truth.start(folder, early, CALM, early), other: truth.start(folder, other, CALM, other)}
        try:
            with Trace(options=("-a", "-c", f"{mark}-*")) as trace:
                pairs[late] = truth.start(folder, late, CALM, late)
                pairs[turned] = start_turned(truth, folder, turned)
                for process, _ in pairs.values():
                    process.send_signal(signal.SIGUSR1)
                for process, _ in pairs.values():
                    process.wait(60)
        finally:
            truth.simjank = given
            for process, _ in pairs.values():
                end(process)
        for name, what in zip(names, ("already running", "started later", "that was a shell", "of 64 bits")):
            process, path = pairs[name]
            own = os.path.join(folder, "own")
            with open(own, "w", encoding="utf-8") as file:
                file.writelines(live.json.dumps(b) + "\n" for b in trace.blocks if b["pid"] == process.pid)
            truth.judge(tap, f"-a, one {what}", path, own, ["--loop", "epoll"])
        said = [line for line in trace.messages if RUNS_32BIT in line]
        tap.check(len(said) == 1 and "raw_syscalls" in said[0], "-a: one message says so", *trace.messages)


def check_on_demand(tap):
    """-a: the probe that every system call pays for is attached only while there is a matching
    32-bit program."""
    mark = f"j{os.getpid() % 10000}"
    with tempfile.TemporaryDirectory() as folder:
        path = copies(folder, f"{mark}-d32", f"{mark}-d64", f"{mark}-x32")
        idle, outside = [live.start([path(f"{mark}-{name}"), *STALLS, "--wait"]) for name in ("d64", "x32")]
        try:
            with Trace(options=("-a", "-c", f"{mark}-d*")) as trace:
                more = live.start([path(f"{mark}-x32"), *STALLS, "--count", "3"])
                more.wait(60)
                time.sleep(2.5)
                tap.check(not any(ATTACHED in line for line in trace.messages), "not attached for a program that no filter admits",
                          *trace.messages)
                wanted = live.start([path(f"{mark}-d32"), *STALLS, "--start-delay", "1s", "--count", "3"])
                live.wait_for(lambda: any(ATTACHED in line for line in trace.messages), what="the attachment")
                wanted.wait(60)
                live.wait_for(lambda: any("no 32-bit program is left" in line for line in trace.messages),
                              what="the end of the attachment")
        finally:
            end(idle)
            end(outside)
        tap.check({b["pid"] for b in trace.blocks} == {wanted.pid} and len(trace.blocks) >= 3,
                  "attached for a program that a filter admits, until its end", trace.messages, trace.blocks)


def main():
    need()
    need_compat()
    tap = Tap()
    truth = truth_t()
    check_truth(tap, truth, truth.run_command)
    check_truth(tap, truth, truth.run_pid)
    check_truth(tap, truth, truth.run_command, "--disable-feature", "tp_btf")
    check_mixed(tap, truth)
    check_says(tap)
    check_exec(tap)
    check_all(tap, truth)
    check_on_demand(tap)
    tap.end()


if __name__ == "__main__":
    main()
