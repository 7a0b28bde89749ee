#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweep of an agent's budget: a loop with 1,000 to 500,000 dispatches a second, and how many windows of 10 s kept the budget.

governor.py [CPU [SECONDS [RATE...]]]   such as governor.py 1% 60 1000 500000"""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import bad  # noqa: E402
from agents import Agent  # noqa: E402
from group import Group  # noqa: E402

LOAD = os.environ.get("BENCH_RATE", ".output/rel/bench_rate")
RATES = (1000, 10000, 50000, 100000, 200000, 500000)
START_S = 15  # until the governor knows the load
WINDOW = 5    # intervals of 2 s


def cost(interval):
    return interval["cost"]["user_cpu_ns"] + interval["cost"].get("bpf_ns", 0)


def measure(group, cpu, seconds, rate):
    load = group.start(LOAD, str(rate), stdout=subprocess.PIPE, text=True)
    bad.STARTED.append(load)
    load.stdout.readline()
    agent = Agent(f"rate-{rate}-{cpu}", group, {"store": {"interval": "2s"}, "limits": {"cpu": f"{cpu}%"}})
    time.sleep(START_S + seconds)  # the measured time itself
    if load.poll() is not None:
        sys.exit(f"bench_rate {rate} has ended")
    agent.tracer.stop()
    bad.end(load)
    intervals = agent.records("interval")
    began = intervals[0]["start_ns"]
    late = [i for i in intervals[:-1] if i["start_ns"] - began >= START_S * 10**9]
    windows = [late[i:i + WINDOW] for i in range(len(late) - WINDOW + 1)]
    shares = [100 * sum(map(cost, w)) / sum(i["elapsed_ns"] for i in w) for w in windows]
    seen = sum(i["dispatches"] for i in late) / (sum(i["elapsed_ns"] for i in late) / 1e9)
    first = 100 * cost(intervals[1]) / intervals[1]["elapsed_ns"]
    kept = 100 * sum(s <= cpu for s in shares) / len(shares)
    print(f"{rate:8} {seen:10.0f} {first:10.2f} {sum(shares) / len(shares):8.2f} {max(shares):8.2f} {kept:8.0f} "
          f"{late[-1]['governor_level']:6} {late[-1].get('reduced', '-')}", flush=True)


def main():
    cpu = float(sys.argv[1].rstrip("%")) if len(sys.argv) > 1 else 1.0
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    rates = [int(word) for word in sys.argv[3:]] or RATES
    group = Group(f"jankbpf-bench-governor-{os.getpid()}")
    print(f"budget {cpu} % of a core; windows of 10 s within {seconds} s, after {START_S} s")
    print(f"{'rate':>8} {'counted/s':>10} {'at first %':>10} {'mean %':>8} {'most %':>8} {'kept %':>8} {'level':>6} without")
    for rate in rates:
        measure(group, cpu, seconds, rate)
    group.remove()


main()
