#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hangs of an agent with overrides: each process by its own limit, counted as they are reported, over a pause, and after
SIGHUP; what a reload cannot change."""
import json
import os
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, Manager, Redis, total
from bad import MS, ok
from group import Group


def config(path, **more):
    return {"agent": {"control": path}, "block": {"threshold": "50ms", "hang": "1500ms"}, "store": {"interval": "200ms"},
            "limits": {"records-per-signature": 0},
            "override quick": {"match-cgroup": "*/quick", "hang": "500ms"}, **more}


def ask(path, *words):
    return subprocess.run([bad.JANK, "agent", "--control", path, *words], capture_output=True, text=True, check=True, timeout=30).stdout


def hangs(agent, redis):
    return [h for h in agent.records("hang") if h["pid"] == redis.pid]


def blocks(agent, redis):
    return [b for b in agent.records("block") if b["pid"] == redis.pid]


def stall(agent, redis, seconds):
    """Returns the new hangs, once the block at the end is known."""
    before, cnt = len(hangs(agent, redis)), len(blocks(agent, redis))
    redis.stall(seconds)
    bad.wait_for(lambda: len(blocks(agent, redis)) > cnt)
    return hangs(agent, redis)[before:]


def test_limits(agent, path, quick, usual):
    found = stall(agent, usual, 2.2)
    ok(len(found) == 1 and found[0]["duration_ns"] > 1500 * MS, "a hang by the limit of the rest", [h["duration_ns"] for h in found])
    ok(not stall(agent, usual, 0.9), "the override's limit is not that of the rest")
    found = stall(agent, quick, 0.9)
    ok(len(found) == 1 and 500 * MS < found[0]["duration_ns"] < 900 * MS, "and by an override's", [h["duration_ns"] for h in found])
    found = stall(agent, quick, 2.2)
    ok(len(found) == 1 and found[0]["duration_ns"] < 1500 * MS, "the limit of the rest is not the override's",
       [h["duration_ns"] for h in found])
    ok(json.loads(ask(path, "--status", "--json"))["hangs"] == 3, "--status counts those that were reported")
    counted = bad.wait_for(lambda: total(agent.records("interval"), "hangs") >= 3)
    cnt = len(agent.records("interval"))
    bad.wait_for(lambda: len(agent.records("interval")) > cnt + 2)
    ok(counted and total(agent.records("interval"), "hangs") == 3, "so do intervals", total(agent.records("interval"), "hangs"))


def test_pause(agent, path, manager, usual):
    before = len(hangs(agent, usual))
    thread = threading.Thread(target=usual.stall, args=(6,))
    thread.start()
    ask(path, "--pause")
    ok(manager.wait("STATUS=paused: "), "the manager is told of a pause")
    paused = lambda: total([i for i in agent.records("interval") if i.get("paused_ns")], "elapsed_ns")
    bad.wait_for(lambda: paused() > 2500 * MS)
    ok(len(hangs(agent, usual)) == before, "paused: a hang is not reported")
    ask(path, "--resume")
    found = bad.wait_for(lambda: len(hangs(agent, usual)) > before, 10)
    ok(found and hangs(agent, usual)[-1]["duration_ns"] < 5000 * MS, "once it is resumed, what still hangs is")
    thread.join()


def test_reload(agent, path, usual):
    agent.configure(config(path, block={"threshold": "20ms", "hang": "9s"}, probe={"marks": "auto"},
                           **{"override quick": {"match-cgroup": "*/quick", "hang": "300ms"}}))
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("reload: done")), "SIGHUP", agent.tracer.stderr())
    ok(agent.said("[block] hang cannot change in a run"), "the hang cannot change")
    ok(agent.said("[override quick] hang: hangs are looked for at the limits of the start"), "nor can there be another in an override",
       agent.tracer.stderr())
    ok(agent.said("the threshold is less than the start's 50.0 ms"), "a lower threshold lacks stacks", agent.tracer.stderr())
    ok(not agent.said("[probe] marks"), "a default that is written down is no change", agent.tracer.stderr())
    ok(len(stall(agent, usual, 2.2)) == 1, "the hang of the start stays")


def main():
    bad.need_tracing()
    try:
        group = Group(f"jankbpf-override-hang-test-{os.getpid()}")
        parts = Group("quick", group), Group("usual", group)
        quick, usual = Redis(parts[0], "quick"), Redis(parts[1], "usual")
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
    path, manager = bad.scratch("hang.socket"), Manager()
    agent = Agent("hang", group, config(path), manager)
    bad.wait_for(lambda: quick.ping() and usual.ping() and len({row["process"] for i in agent.records("interval") for row in i["loops"]}) and
                 json.loads(ask(path, "--status", "--json"))["loops"] >= 2)
    test_limits(agent, path, quick, usual)
    test_pause(agent, path, manager, usual)
    test_reload(agent, path, usual)
    agent.tracer.stop()
    quick.end()
    usual.end()
    for each in (*parts, group):
        each.remove()
    bad.done()


main()
