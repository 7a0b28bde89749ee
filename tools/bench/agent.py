#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an agent takes: idle, then on a busy machine each step the CPU in user space, in percent of a core, memory (resident
and proportional) and descriptors of all its processes; then how they grew. Each second one more process comes, for 3 s. load: CPU
of what is traced, with the probes, for the same work each step: where it rises, the machine is slower, and the agent with it.

agent.py [SECONDS [PROCESSES [RATE]]]   such as agent.py 7200 500 50000, where RATE is that of all processes"""
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import bad  # noqa: E402
from agents import Agent  # noqa: E402
from group import Group  # noqa: E402

LOAD = os.environ.get("BENCH_RATE", ".output/rel/bench_rate")
SLOW = ("--scenario", "sleep,busy,mutex,pipe", "--length", "40ms-120ms", "--gap", "2s", "--order", "random", "--quiet", "--duration", "24h")
SHORT = ("--scenario", "sleep:1ms", "--gap", "100ms", "--quiet", "--duration", "3s")
STEPS = 20
START_S = 30  # until it has found all processes
IDLE_S = 60


def load_s(group):
    for line in open(f"{group.path}/cpu.stat", encoding="utf-8"):
        if line.startswith("usage_usec"):
            return int(line.split()[1]) / 1e6
    raise OSError(f"{group.path}: no CPU time")


def sample(agent, group):
    return {"load_s": load_s(group), "at": time.monotonic(), "cpu_s": bad.cpu_s(agent.pid), "rss_kb": bad.rss_kb(agent.pid),
            "pss_kb": bad.pss_kb(agent.pid), "fds": len(bad.all_fds_of(agent.pid))}


def pct(before, after, key="cpu_s"):
    return 100 * (after[key] - before[key]) / (after["at"] - before["at"])


def idle_pct(agent, group):
    time.sleep(START_S)
    before = sample(agent, group)
    time.sleep(IDLE_S)
    return pct(before, sample(agent, group))


def come_and_go(group, end):
    running = []
    while not end.wait(1):
        running = [process for process in running if process.poll() is None]
        running.append(group.start(bad.SIMJANK, *SHORT, stdout=subprocess.DEVNULL))
    for process in running:
        process.wait()


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 50000
    group = Group(f"jankbpf-bench-agent-{os.getpid()}")
    agent = Agent("crowd", group, {"store": {"interval": "10s"}})
    print(f"idle: {idle_pct(agent, group):.2f} % in user space, over {IDLE_S} s", flush=True)
    load = group.start(LOAD, str(rate), str(processes), stdout=subprocess.PIPE, text=True)
    slow = group.start(bad.SIMJANK, *SLOW, stdout=subprocess.DEVNULL)
    bad.STARTED.extend((load, slow))
    load.stdout.readline()
    ended = threading.Event()
    comers = threading.Thread(target=come_and_go, args=(group, ended))
    comers.start()
    time.sleep(START_S)
    first = last = sample(agent, group)
    print(f"{len(group.pids())} processes, {rate} dispatches a second")
    print(f"{'s':>6} {'user %':>7} {'load %':>7} {'counted/s':>10} {'blocks':>7} {'RSS KiB':>8} {'PSS KiB':>8} {'fds':>5}", flush=True)
    for _ in range(STEPS):
        time.sleep(seconds / STEPS)
        now = sample(agent, group)
        elapsed = now["at"] - last["at"]
        late = agent.records("interval")[-max(1, int(elapsed // 10)):]
        late_ns = sum(i["elapsed_ns"] for i in late)
        print(f"{now['at'] - first['at']:6.0f} {pct(last, now):7.2f} {pct(last, now, 'load_s'):7.1f} "
              f"{1e9 * sum(i['dispatches'] for i in late) / late_ns:10.0f} {sum(i['blocks'] for i in late):7} "
              f"{now['rss_kb']:8} {now['pss_kb']:8} {now['fds']:5}", flush=True)
        last = now
    print(f"mean {pct(first, last):.2f} % in user space; grown in {last['at'] - first['at']:.0f} s: RSS "
          f"{last['rss_kb'] - first['rss_kb']} KiB, PSS {last['pss_kb'] - first['pss_kb']} KiB, "
          f"descriptors {last['fds'] - first['fds']}")
    ended.set()
    comers.join()
    bad.end(load, slow)
    agent.tracer.stop()
    bad.wait_for(lambda: not group.pids())
    group.remove()


main()
