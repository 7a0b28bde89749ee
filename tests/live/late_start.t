#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Loops that are woken and get no CPU: the delay, compared with the client's own clock, and the
named preemptor.

For each message, the client notes when it was about to send and when it had sent; the loop's
handler notes when it received it. So a start delay is within (about to send, received), and the
whole delay covers (had sent, received), however busy the machine is.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from hogs import Quota, hog, pinned, real_time  # noqa: E402
from live import MS, Tap, Trace, end, headline, need, start, wait_for  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "late_loop.py")
THRESHOLD = 25 * MS
COUNT = 8


def delays(scenario, *args):
    """The client's truth, and the trace."""
    program = start([sys.executable, PROGRAM, scenario, str(COUNT), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        with Trace(program.pid, threshold=f"{THRESHOLD // MS}ms") as trace:
            program.stdin.write(f"{time.monotonic_ns() + 200 * MS}\n")
            program.stdin.flush()
            truth = [tuple(map(int, line.split())) for line in program.stdout][1:]
            program.wait()
    finally:
        end(program)
        program.stdin.close()
        program.stdout.close()
    return truth, trace


def block_with(trace, received):
    """The dispatch that handled the message."""
    return next((b for b in trace.all_blocks if b["start_ns"] <= received <= b["start_ns"] + b["duration_ns"]), None)


def check_late(tap, scenario, truth, trace, causes, runner):
    # A message that arrives while the previous one is handled waits for that handler, not for a
    # CPU.
    free = [row for before, row in zip([(0, 0, 0), *truth], truth) if row[0] > before[2] + MS]
    late = [(sent, had, block_with(trace, had)) for about, sent, had in free if had - sent > THRESHOLD]
    befores = {had: about for about, _, had in truth}
    if not tap.check(len(late) >= 3, f"{scenario}: the client waited {len(late)} of {COUNT} times", truth):
        return
    missed = [(sent, had) for sent, had, block in late if not block]
    tap.check(not missed, f"{scenario}: each of them is a block", *missed, *map(headline, trace.all_blocks if missed else ()))
    found = [(sent, had, block) for sent, had, block in late if block]
    wrong = [(had - sent, b["start_delay_ns"], b["duration_ns"]) for sent, had, b in found
             if b["delay_ns"] < had - sent or b["start_delay_ns"] > had - befores[had] or
             b["delay_ns"] != b["start_delay_ns"] + b["duration_ns"]]
    tap.check(not wrong, f"{scenario}: its delay agrees with the client's", *wrong)
    off = sorted(b["start_delay_ns"] - (b["start_ns"] - sent) for sent, _, b in found)
    tap.note(f"{scenario}: start delay minus the client's: {off[0] / 1000:.1f} to {off[-1] / 1000:.1f} us")
    whats = [(b["cause"]["kind"], b["cause"].get("what")) for _, _, b in found]
    tap.check(whats and all(kind == "runnable" and what in causes for kind, what in whats),
              f"{scenario}: the cause is the wait for a CPU: {', '.join(causes)}", *whats)
    check_account(tap, scenario, found)
    if runner:
        # Neighbours may have a part of the CPU, too: each session has its own share (autogroup).
        unnamed = [(b["start_delay_ns"], b["preemptors"]) for _, _, b in found
                   if runner not in [p["comm"] for p in b["preemptors"]] or
                   sum(p["ns"] for p in b["preemptors"]) < b["start_delay_ns"] / 2]
        tap.check(not unnamed, f"{scenario}: '{runner}' is named as having the CPU", *unnamed)


def check_account(tap, scenario, found):
    wrong = []
    for _, _, block in found:
        times = block["time"]
        total = times["running_ns"] + times["runnable_ns"] + sum(times["blocked_ns"].values())
        wrong += [headline(block)] * (total != block["duration_ns"])
    tap.check(not wrong, f"{scenario}: `time` leaves it out", *wrong)


def check_summary(tap, scenario, truth, trace):
    loop = next((each for each in trace.summary["loops"] if each["pid"]), {})
    starts = loop.get("start_delays", {})
    longest = max(b["start_delay_ns"] for b in trace.all_blocks)
    tap.check(starts.get("max_ns", 0) >= longest and sum(b["count"] for b in starts["buckets"]) == starts["dispatches"],
              f"{scenario}: the summary has the longest start delay", starts, longest)


def check_replay(tap, scenario, trace):
    done = subprocess.run([os.environ.get("JANKBPF", "./jankbpf"), "-q", "--json", "replay", trace.journal], capture_output=True,
                          text=True, timeout=60, check=False)
    again = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "block"]
    same = [(b["start_delay_ns"], b["cause"]["summary"]) for b in trace.all_blocks] == \
        [(b["start_delay_ns"], b["cause"]["summary"]) for b in again]
    tap.check(same, f"{scenario}: a replay reports the same", done.stderr)


SLEEPER = """
import os, select, sys, threading
def loop():
    epoll = select.epoll()
    epoll.register(0, select.EPOLLIN)
    print('ready', flush=True)
    for timeout in -1, 0.01:
        if epoll.poll(timeout):
            os.read(0, 10)
os.sched_setaffinity(0, {1})
thread = threading.Thread(target=loop)
thread.run() if sys.argv[1] == 'main thread' else thread.start()
"""


def check_first(tap, thread):
    """It sleeps before the trace begins. When it is woken for the first time, it starts late."""
    cpus = os.sched_getaffinity(0)
    program = start([sys.executable, "-c", SLEEPER, thread], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        wait_for(lambda: is_asleep(program.pid), what="the sleep")
        with Trace(program.pid, threshold=f"{THRESHOLD // MS}ms") as trace:
            moment = time.monotonic_ns() + 50 * MS
            pid = hog(lambda: (pinned(1), real_time()), [moment], 90)
            pinned(0)
            time.sleep(max(0, moment + 20 * MS - time.monotonic_ns()) / 1e9)
            before = time.monotonic_ns()
            program.stdin.write("x\n")
            program.stdin.flush()
            after = time.monotonic_ns()
            program.wait()
            os.waitpid(pid, 0)
    finally:
        os.sched_setaffinity(0, cpus)
        end(program)
        program.stdin.close()
        program.stdout.close()
    starts = [(b["start_ns"], b["start_delay_ns"]) for b in trace.all_blocks]
    tap.check(any(before <= at - delay <= after and delay > THRESHOLD for at, delay in starts),
              f"asleep since before the trace, a {thread}: it started late", (before, after), starts)


def is_asleep(pid):
    """Do all its threads sleep?"""
    states = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as file:
            states.append(file.read().rpartition(")")[2].split()[0])
    return set(states) == {"S"}


def main():
    need()
    tap = Tap()
    if len(os.sched_getaffinity(0)) < 2:
        tap.skip("late starts", "one CPU: the client would be as late as its loop")
        tap.end()
        return
    for scenario, causes, runner in (("real-time", ("priority",), "hog"), ("nice", ("priority",), "hog"),
                                     ("affinity", ("affinity", "priority"), "hog")):
        truth, trace = delays(scenario)
        check_late(tap, scenario, truth, trace, causes, runner)
        check_summary(tap, scenario, truth, trace)
        check_replay(tap, scenario, trace)
    for thread in "main thread", "worker":
        check_first(tap, thread)
    quota = Quota(f"jank-late-{os.getpid()}")
    if quota.reason:
        tap.skip("quota", quota.reason)
    else:
        quota.prefer()
        truth, trace = delays("quota", os.path.join(quota.path, "cgroup.procs"))
        check_late(tap, "quota", truth, trace, ("throttled",), None)
    quota.remove()
    tap.end()


if __name__ == "__main__":
    main()
