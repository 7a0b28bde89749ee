#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf compared with simjank's truth: both loops, both backends, both ways to attach.

The guard and the tolerances are wide, so that a busy neighbour cannot spoil a time; they only catch
defects. Every dispatch must be reported once, none may be invented, each account must sum up, and
the cause must be right. The runs mostly sleep, so two of them run at a time.
"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import JANKBPF, ROOT, Tap, Trace, end, judge_truth, need  # noqa: E402

JUDGED = ["--threshold", "25ms", "--guard", "8ms", "--tolerance", "duration_p99=5ms",
          "--tolerance", "running_max=20ms",
          # One missed wake-up moves a whole wait for a CPU. A neighbour causes it; it is counted as
          # lost.
          "--tolerance", "runnable_max=none", "--tolerance", "runnable_p50=2ms",
          "--tolerance", "cpu_max=20ms", "--tolerance", "kind_rate=0.95"]
WORK = ["--quiet", "--length", "40ms-70ms", "--gap", "20ms", "--order", "random"]
SECONDS = 7


def simjank(build):
    return os.path.join(ROOT, build)


def judge(tap, what, truth, blocks, options=()):
    judge_truth(tap, what, truth, blocks, [*JUDGED, *options])


def run_command(folder, build, backend, options):
    """jankbpf -- simjank: the truth and the blocks."""
    truth, blocks = os.path.join(folder, "truth"), os.path.join(folder, "blocks")
    with open(blocks, "wb") as out:
        done = subprocess.run([JANKBPF, "-q", "--json", "-t", "25ms", "--backend", backend, "--",
                               simjank(build), "--truth", truth, "--start-delay", "500ms", *options],
                              stdout=out, stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode or done.stderr:
        raise RuntimeError(f"jankbpf: status {done.returncode}, {done.stderr}")
    return truth, blocks


def start(folder, build, options, name="truth"):
    """A simjank that waits for its trace, and the path of its truth."""
    truth = os.path.join(folder, name)
    reader, writer = os.pipe()
    process = subprocess.Popen([simjank(build), "--truth", truth, "--wait", "--ready-fd", str(writer),
                                "--start-delay", "50ms", *options], pass_fds=[writer])
    os.close(writer)
    with os.fdopen(reader) as ready:
        ready.readline()
    return process, truth


def trace_started(started, *options):
    """One trace of processes that wait for it; they run to their end."""
    try:
        trace = Trace(*[process.pid for process in started], options=options)
        for process in started:
            process.send_signal(signal.SIGUSR1)
        trace.finish()
    finally:
        for process in started:
            end(process)
    return trace


def run_pid(folder, build, backend, options):
    """jankbpf -p of a simjank that already waits."""
    process, truth = start(folder, build, options)
    trace = trace_started([process], "--backend", backend)
    if trace.status:
        raise RuntimeError(f"jankbpf: status {trace.status}, {trace.messages}")
    return truth, trace.keep(os.path.join(folder, "blocks"))


def run(folder, runner, build, backend, options=(), seconds=SECONDS):
    os.mkdir(folder)
    return runner(folder, build, backend, [*WORK, "--duration", f"{seconds}s", *options])


def check(tap, what, future, loop):
    try:
        truth, blocks = future.result()
    except (RuntimeError, subprocess.SubprocessError) as error:
        tap.check(False, what, error)
        return
    judge(tap, what, truth, blocks, ["--loop", loop])


def main():
    need()
    tap = Tap()
    runs = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for build, loop in (("simjank", "epoll"), ("simjank-looper", "android-looper")):
            if not os.path.exists(simjank(build)):
                tap.skip(build, "not built: android-libutils-dev is not installed")
                continue
            for backend in ("kernel", "uprobe"):
                for way, runner in (("-- COMMAND", run_command), ("-p PID", run_pid)):
                    future = pool.submit(run, os.path.join(folder, str(len(runs))), runner, build, backend)
                    runs.append((f"{build}, {backend}, {way}", future, loop))
        for what, future, loop in runs:
            check(tap, what, future, loop)
    tap.end()


if __name__ == "__main__":
    main()
