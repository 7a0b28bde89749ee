#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""simjank itself: does its truth agree with the options, with itself and with strace?"""
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, cpu_times  # noqa: E402

BUILDS = ["./simjank", "./simjank-looper"]
MS = 1000000
SLACK_NS = 5 * MS  # the quickest dispatch of a scenario may end this much later than wanted
IO_SLACK_NS = 50 * MS  # the same where its last request may wait for the I/O of others
SLOW_SLACK_NS = 250 * MS  # the same on the slow disk, and for a CPU under a quota
TRIES = 3  # dispatches of a scenario, before it is judged
# share of the machine's time that other programs or a hypervisor took; above it, lengths are not
# simjank's
CROWDED = 0.1
SLOW = {"wakeup_latency", "inversion", "mutex_disk", "chain", "fsync", "read_cold", "cold_file", "throttled", "preempted"}

# What each scenario must do, if no neighbour takes the CPU.
KINDS = {
    "busy": "cpu", "kernel": "kernel", "sleep": "sleep", "mutex": "futex", "cond": "futex",
    "pipe": "pipe", "socket": "socket", "tcp": "socket", "disk": "disk", "dsync": "disk",
    "page_fault": "page_fault", "userfault": "page_fault", "runnable": "runnable", "poll": "poll",
    "select": "poll", "epoll": "poll", "stopped": "stopped", "mixed": "sleep", "mixed_cpu": "cpu",
    "mutex_busy": "futex", "mutex_disk": "futex", "chain": "futex", "inversion": "futex",
    "cond_timeout": "futex", "rwlock": "futex", "semaphore": "futex", "join": "futex", "eventfd": "other",
    "child": "child", "flock": "filesystem", "server": "socket", "tcp_server": "socket", "connect": "socket",
    "dns": "socket", "fsync": "disk", "read_cold": "disk", "cold_file": "page_fault",
    "preempted": "runnable", "rt_preempt": "runnable", "wakeup_latency": "runnable",
    "throttled": "runnable",
}
LONE = {"swap": "page_fault", "reclaim": "disk"}  # judged by names only
# The threads that the truth names: the end of the chain, the number in it, and the one that has the
# CPU.
CHAINS = {
    "mutex": ("holder", 1), "mutex_disk": ("holder", 1), "chain": ("signaller", 2), "inversion": ("lowly", 1),
    "join": ("joined", 1), "child": ("child", 1), "flock": ("locker", 1), "server": ("server", 1),
    "dns": ("resolver", 1), "semaphore": ("poster", 1), "rwlock": ("rwholder", 1),
}
OTHERS = {"child", "flock", "server"}  # the culprit is another process
PREEMPTORS = {"runnable": 3, "inversion": 3, "rt_preempt": 1, "throttled": 0}
OBJECTS = {"fsync": "slow", "chain": "slow", "flock": "lock", "page_fault": "cold", "server": "unix ",
           "tcp_server": "tcp 127.0.0.1:", "connect": "tcp 127.0.0.1:", "dns": "udp 127.83."}


def run(build, *options, prefix=()):
    """Its truth: the dispatches, the summary."""
    with tempfile.NamedTemporaryFile() as truth:
        done = subprocess.run([*prefix, build, "--quiet", "--truth", truth.name, *options],
                              capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{build} {options}: {done.returncode}, {done.stderr}")
        records = [json.loads(line) for line in open(truth.name, encoding="utf-8")]
    return records[:-1], records[-1]


def start_waiting(build, *options):
    """A simjank that waits for SIGUSR1 and has reported that it is ready."""
    reader, writer = os.pipe()
    process = subprocess.Popen([build, "--quiet", "--wait", "--ready-fd", str(writer), *options],
                               pass_fds=[writer], stdout=subprocess.PIPE, text=True)
    os.close(writer)
    with os.fdopen(reader) as ready:
        line = ready.readline()
    return process, line


def own_seconds():
    """The CPU time of this test and of the programs that it started, except those still running."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Account:
    """The machine's CPU time since this began, by user."""

    def __init__(self):
        self.begun, self.own = cpu_times(), own_seconds()

    def others(self):
        """The share of the machine that was neither idle nor this test's."""
        total, busy = (now - then for now, then in zip(cpu_times()[::2], self.begun[::2]))
        return (busy - (own_seconds() - self.own) * os.sysconf("SC_CLK_TCK")) / max(total, 1)


def test_scenarios(tap, build):
    dispatches, summary = run(build, "--length", "20ms-40ms", "--gap", "5ms", "--short-rate", "500/s",
                              "--count", str(4 * len(KINDS)))
    left_out = summary["left_out"]
    done = {name: [d for d in dispatches if d["scenario"] == name] for name in KINDS if name not in left_out}
    # Others have a further turn in place of a scenario that is left out.
    tap.check(done and all(len(ds) >= 4 for ds in done.values()) and summary["type"] == "summary",
              f"{build}: every scenario ran four times", summary)
    for name in left_out:
        tap.skip(f"{build}: {name}", "what it needs is not available here")
    for name, ds in done.items():
        test_scenario(tap, build, name, ds)
        test_blame(tap, f"{build}: {name}", name, ds)
    test_consistency(tap, build, dispatches, summary)


def is_stolen(name, kind, dispatch):
    """A thread that always wants a CPU, or most of the time, has it or waits for it, as far as its
    kernel reports."""
    if kind not in ("cpu", "kernel", "runnable") or name == "wakeup_latency":
        return False
    wanted = 0.65 if name == "mixed_cpu" else 0.9
    return dispatch["cpu_ns"] + dispatch["run_delay_ns"] < wanted * dispatch["duration_ns"]


def is_as_wanted(name, kind, dispatches):
    """By the dispatches that no busy neighbour or hypervisor disturbed; None if there are none."""
    free = [d for d in dispatches if (kind == "runnable" or d["run_delay_ns"] < d["duration_ns"] / 10)
            and not is_stolen(name, kind, d)]
    if not free:
        return None
    late = min(d["duration_ns"] - d["wanted_ns"] for d in free)
    slack_ns = IO_SLACK_NS if kind in ("disk", "page_fault") else SLACK_NS
    slack_ns = SLOW_SLACK_NS if name in SLOW else slack_ns
    of_kind = [kind in (d["kind"], *d["also"]) for d in free]
    # A crowd needs some milliseconds to gather.
    return (any if name == "preempted" else all)(of_kind) and -MS / 10 <= late <= slack_ns


def test_scenario(tap, build, name, dispatches):
    """A wrong scenario is tried again alone. On a machine that others use, the result says nothing
    about simjank."""
    kind = KINDS[name]
    what = f"{build}: {name} is {kind} and as long as wanted"
    good, others = is_as_wanted(name, kind, dispatches), 0
    for _ in range(TRIES - 1):
        if good:
            break
        account = Account()
        dispatches, _ = run(build, "--scenario", f"{name}:20ms-40ms", "--count", "4", "--gap", "5ms")
        dispatches = [d for d in dispatches if d["scenario"] == name]
        good, others = is_as_wanted(name, kind, dispatches), max(others, account.others())
    if good is None or (not good and others > CROWDED):
        tap.skip(what, f"other programs, or a hypervisor, took {100 * others:.0f} % of the machine")
    else:
        tap.check(good, what, dispatches)


def test_blame(tap, what, name, dispatches):
    """The thread that the truth blames, of the dispatches that went as intended."""
    meant = [d for d in dispatches if d["kind"] == KINDS[name] and not d["also"]]
    if name in CHAINS and meant:
        comm, length = CHAINS[name]
        bad = [d for d in meant if d["culprit"]["comm"] != comm or len(d["chain"]) != length
               or d["chain"][-1] != d["culprit"]["tid"] or d["tid"] in d["chain"]
               or (d["culprit"]["pid"] != d["pid"]) != (name in OTHERS)]
        tap.check(not bad, f"{what} is the fault of {comm}", bad)
    if name in PREEMPTORS and meant:
        bad = [d for d in meant if len(set(d.get("preemptors", ()))) != PREEMPTORS[name]]
        tap.check(not bad, f"{what}: {PREEMPTORS[name]} other threads have the CPU", bad)
    if name in OBJECTS and meant:
        wanted = OBJECTS[name]
        bad = [d for d in meant if not d["object"].get("peer", "").startswith(wanted)
               and not d["object"].get("path", "").endswith("/" + wanted)]
        tap.check(not bad, f"{what}: the truth names {wanted}", bad)


def made_by(pid):
    return [path for top in ("/var/tmp", "/sys/fs/cgroup/*") for path in glob.glob(f"{top}/simjank.{pid}.*")]


def is_tidy(pid):
    deadline = time.monotonic() + 20
    while made_by(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not made_by(pid)


def test_lone(tap, build):
    """Scenarios that change the whole process: each runs alone and leaves nothing behind."""
    for name, kind in LONE.items():
        what = f"{build}: {name} is {kind}"
        try:
            dispatches, summary = run(build, "--scenario", f"{name}:60ms", "--count", "4", "--gap", "5ms")
        except RuntimeError as error:
            tap.skip(what, str(error).strip().replace("#", ""))
            continue
        done = [d for d in dispatches if d["scenario"] == name]
        tap.check(len(done) == 4 and any(kind in (d["kind"], *d["also"]) for d in done), what, done)
        tap.check(is_tidy(summary["pid"]), f"{build}: nothing of {name} is left", made_by(summary["pid"]))


def test_tidy(tap, build):
    """Directories, cgroups and swap are removed when the program ends, even when it is killed."""
    for name in ("all", "swap"):
        for number in (signal.SIGTERM, signal.SIGKILL):
            what = f"{build}: {name}: {number.name} leaves nothing behind"
            process, line = start_waiting(build, "--scenario", name)
            if not line:
                process.communicate(timeout=30)
                tap.skip(what, f"{name} is not possible here")
                continue
            made = made_by(process.pid)
            process.send_signal(number)
            process.communicate(timeout=30)
            with open("/proc/swaps", encoding="utf-8") as swaps:
                tidy = is_tidy(process.pid) and f"simjank.{process.pid}." not in swaps.read()
            tap.check(made and tidy, what, made, made_by(process.pid))


def test_left_out(tap, build):
    """Without privilege, `all` means all that is possible. A scenario given by name must be
    possible."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(build, folder)
        for scenario, status in (("all", 0), ("throttled", 1)):
            done = subprocess.run([program, "--scenario", scenario, "--count", "1", "--truth", "-"], text=True,
                                  capture_output=True, timeout=60, user=65534, group=65534)
            if scenario == "all":
                summary = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
                left = [line.split(": ")[2] for line in done.stderr.splitlines() if ": left out: " in line]
                tap.check("throttled" in left and left == summary.get("left_out"),
                          f"{build}: impossible scenarios are left out, with a message", done)
            tap.check(done.returncode == status, f"{build}: {scenario} without privilege: status {status}", done)


def test_consistency(tap, build, dispatches, summary):
    bad = [d for d in dispatches
           if d["duration_ns"] != d["end_ns"] - d["begin_ns"]
           or d["cpu_ns"] + d["run_delay_ns"] > d["duration_ns"] + MS
           or d["stopped_ns"] > d["duration_ns"] or d["duration_ns"] <= summary["truth_min_ns"]]
    tap.check(not bad, f"{build}: CPU time and run delay fit into every duration", bad)
    ordered = all(a["end_ns"] <= b["begin_ns"] for a, b in zip(dispatches, dispatches[1:]))
    tap.check(ordered, f"{build}: no dispatch begins before the last one ended")
    counted = sum(summary["scenarios"].values()) == summary["dispatches"]
    kept = sum(summary["kinds"].values()) == summary["kept"] == len(dispatches)
    tap.check(counted and kept and not summary["lost"], f"{build}: the counts agree", summary)


def test_seed(tap, build):
    options = ["--scenario", "sleep:1ms-9ms,pipe:2ms-8ms", "--order", "random", "--count", "12", "--gap", "1ms"]
    plans = [[(d["scenario"], d["wanted_ns"]) for d in run(build, *options, "--seed", seed)[0]
              if d["wanted_ns"]] for seed in ("5", "5", "6")]
    tap.check(plans[0] == plans[1] != plans[2], f"{build}: the seed decides order and lengths", plans)


def test_threads(tap, build):
    dispatches, summary = run(build, "--threads", "3", "--scenario", "sleep:60ms,stopped:20ms",
                              "--order", "random", "--gap", "10ms", "--count", "12")
    tap.check(len({d["tid"] for d in dispatches}) == 3, f"{build}: three loops have three threads", summary)
    stopped = [d for d in dispatches if d["stopped_ns"] > 10 * MS]
    tap.check({"sleep", "stopped"} <= {d["scenario"] for d in stopped},
              f"{build}: other loops' dispatches also know of a stop", dispatches)


def test_quiet(tap, build):
    """Idle waits and short dispatches are not in the truth, only in its counts."""
    dispatches, summary = run(build, "--scenario", "idle:60ms,short", "--count", "6", "--truth-min", "20ms")
    tap.check(not dispatches and summary["scenarios"]["idle"] == 3,
              f"{build}: idle waits and short dispatches are no jank", dispatches)


def test_waits(tap, build):
    """A dispatch follows each wait except a loop's last one. A loop that is told to end in its last
    dispatch does not wait again."""
    what = f"{build}: strace sees as many waits as the truth has dispatches"
    if not shutil.which("strace"):
        return tap.skip(what, "strace is not installed")
    with tempfile.NamedTemporaryFile(mode="r") as trace:
        strace = ["strace", "-f", "-e", "trace=epoll_wait,epoll_pwait,epoll_pwait2", "-o", trace.name]
        _, summary = run(build, "--scenario", "sleep:5ms,idle:20ms,pipe:5ms", "--count", "9", "--threads",
                         "2", prefix=strace)
        waits = sum("epoll_" in line and "resumed" not in line for line in trace)
    tap.check(0 <= waits - summary["dispatches"] <= summary["threads"], what, f"{waits} waits, {summary}")


def test_stop(tap, build):
    process, line = start_waiting(build, "--scenario", "hang:700ms", "--duration", "1h", "--truth", "-")
    tap.check(line == f"ready {process.pid}\n", f"{build}: reports that it is ready", line)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    records = [json.loads(text) for text in process.communicate(timeout=30)[0].splitlines()]
    whole = [d["duration_ns"] >= 700 * MS for d in records if d.get("scenario") == "hang"]
    tap.check(process.returncode == 0 and whole == [True],
              f"{build}: at SIGTERM the dispatch ends and the truth is written", records)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
        return [int(child) for child in text.read().split()]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as text:
            return text.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_kill(tap, build):
    process, _ = start_waiting(build, "--scenario", "runnable,stopped")
    helpers = children(process.pid)
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    while any(map(lives, helpers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    tap.check(len(helpers) == 4 and not any(map(lives, helpers)),
              f"{build}: kill -9 leaves no helper process", helpers)


def test_usage(tap, build):
    other = ["--wait-call", "epoll_wait"] if "looper" in build else ["--form", "fd"]
    wrong = [["--scenario", "nope"], ["--scenario", ","], ["--scenario", "busy:5parsecs"], ["--length", "9-3"],
             ["--gap", "-1"], ["--duration", "99999999999999999999s"], ["--duration", "25h"], ["--threads", "0"],
             ["--seed", "x"], ["--count", "0"], ["--order", "up"], ["--short-rate", "1e9"], ["more"], other]
    for options in wrong:
        done = subprocess.run([build, *options], capture_output=True, text=True, timeout=30)
        tap.check(done.returncode == 2 and done.stderr, f"{build}: {' '.join(options)} is wrong usage", done)
    done = subprocess.run([build, "--quiet", "--scenario", "sleep:1ms", "--count", "1", "--truth", "/proc/none"],
                          capture_output=True, text=True, timeout=30)
    tap.check(done.returncode == 1 and "/proc/none" in done.stderr, f"{build}: a truth that cannot be written", done)


def main():
    tap = Tap()
    for build in BUILDS:
        if not os.path.exists(build):
            tap.skip(build, "not built: android-libutils-dev is not installed")
            continue
        for test in (test_scenarios, test_lone, test_tidy, test_left_out, test_seed, test_threads, test_quiet, test_waits,
                     test_stop, test_kill, test_usage):
            test(tap, build)
    for call in ("epoll_pwait", "epoll_pwait2"):
        dispatches, _ = run("./simjank", "--wait-call", call, "--scenario", "sleep:5ms", "--count", "2")
        tap.check(sum(d["scenario"] == "sleep" for d in dispatches) == 2, f"./simjank waits by {call}", dispatches)
    tap.end()


if __name__ == "__main__":
    main()
