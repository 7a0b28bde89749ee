#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""[override NAME] of an agent: other thresholds for redis-server and node at the same time, by process, cgroup and loop;
watch = no; all of it changed by SIGHUP."""
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, Redis
from bad import MS, ok
from group import Group

SCRIPT = """setInterval(() => {}, 5);
process.stdin.on('data', (ms) => { const end = Date.now() + Number(ms); while (Date.now() < end); console.log('done'); });"""


class Node:
    def __init__(self, group):
        self.process = group.start("node", "-e", SCRIPT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        bad.STARTED.append(self.process)
        self.pid = self.process.pid

    def stall(self, ms):
        self.process.stdin.write(f"{ms}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


def config(redis, node, **more):
    return {"block": {"threshold": "100ms"}, "store": {"interval": "200ms"}, "limits": {"records-per-signature": 0}, **more,
            "override redis": {"match-process": "redis-*", "match-cgroup": "*/kept", "threshold": redis},
            "override node": {"match_loop": "nod?", "threshold": node, "hang": "0", "fps": 30}}


def of(agent, process):
    return [b for b in agent.records("block") if b["pid"] == process.pid]


def within(agent, process, ms, first=0):
    """Delays of blocks that are none by this threshold. A busy machine makes a stall longer."""
    return [b["delay_ns"] for b in of(agent, process)[first:] if b["delay_ns"] <= ms * MS]


def rows(agent, name):
    """Of the last interval: one for each threshold, since an agent's intervals have no pid."""
    return [row for row in agent.records("interval")[-1]["loops"] if row["process"].startswith(name)]


def test_thresholds(agent, redis, node):
    redis.stall(0.06)
    ok(bad.wait_for(lambda: of(agent, redis)), "redis: 60 ms are over its threshold of 30 ms", agent.tracer.stderr())
    node.stall(160)
    node.stall(60)
    node.stall(300)
    ok(bad.wait_for(lambda: any(b["duration_ns"] > 250 * MS for b in of(agent, node))),
       "node: 300 ms are over its threshold of 200 ms")
    block, slow = of(agent, redis)[0], of(agent, node)[-1]
    ok(not within(agent, node, 200), "160 and 60 ms are not", within(agent, node, 200))
    ok(block["threshold_ns"] == 30 * MS and slow["threshold_ns"] == 200 * MS, "the blocks have their thresholds")
    ok(slow["dropped_frames"] == slow["delay_ns"] * 30 // 10**9, "frames are counted by node's rate", slow["dropped_frames"])
    ok(block["samples"], "there are stacks for redis' short stall", block["stack_quality"])
    rows_now = [row for i in agent.records("interval") for row in i["loops"] if row["process"].startswith("redis")]
    # a row without one is of the other redis, before it was switched off
    ok({row.get("threshold_ns") for row in rows_now} - {None} == {30 * MS}, "intervals have redis' threshold", rows_now[-1:])
    times = [dict(b["time"]["blocked_ns"], r=b["time"]["running_ns"], w=b["time"]["runnable_ns"]) for b in (block, slow)]
    ok([sum(t.values()) for t in times] == [block["duration_ns"], slow["duration_ns"]], "their accounts of time are exact")


def test_unwatched(agent, off):
    for _ in range(20):
        off.ping()
    off.stall(0.3)
    ok(bad.wait_for(lambda: [n for i in agent.records("interval") for n in i.get("not_watched", ())
                             if n["pid"] == off.pid and n["reason"] == "override"]), "watch = no: the reason is in not_watched")
    ok(not of(agent, off), "no block of it")


def test_reload(agent, redis, off, node):
    agent.configure(config("250ms", "50ms"))
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("reload: done")), "SIGHUP reads the overrides again", agent.tracer.stderr())
    cnt, slow = len(of(agent, redis)), len(of(agent, node))
    redis.stall(0.2)
    node.stall(90)
    ok(bad.wait_for(lambda: len(of(agent, node)) > slow), "node: 90 ms are over 50 ms now")
    ok(not within(agent, redis, 250, cnt), "redis: 200 ms are not over 250 ms", within(agent, redis, 250, cnt))
    for _ in range(20):
        off.ping()
    bad.wait_for(lambda: off.ping() and any("threshold_ns" not in row for row in rows(agent, "redis")))
    off.stall(0.2)
    ok(bad.wait_for(lambda: of(agent, off)), "what was not watched is watched now", agent.tracer.stderr())
    ok(of(agent, off)[0]["threshold_ns"] == 100 * MS, "by the threshold of the rest")
    bad_one = dict(config("1ms", "50ms"), **{"override empty": {"threshold": "1s"}, "override redis": {"match-proces": "x"}})
    agent.configure(bad_one)
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("did you mean match-process?") and agent.said("[override empty] matches nothing")),
       "errors name the key, the section and a remedy", agent.tracer.stderr())


def dispatches(agent):
    return sum(row["dispatches"] for i in agent.records("interval") for row in i["loops"] if row["process"].startswith("redis"))


def test_again(agent, off):
    """A process that is watched again counts from its first dispatch, not only from its former count on."""
    for _ in range(3000):
        off.ping()
    intervals = len(agent.records("interval"))
    bad.wait_for(lambda: len(agent.records("interval")) > intervals + 3)
    cnt = dispatches(agent)
    agent.configure(config("250ms", "50ms", **{"override off": {"match-cgroup": "*/left", "watch": "no"}}))
    agent.process.send_signal(signal.SIGHUP)
    intervals = len(agent.records("interval"))
    bad.wait_for(lambda: off.ping() and len(agent.records("interval")) > intervals + 5)
    left = dispatches(agent)
    for _ in range(50):
        off.ping()
    bad.wait_for(lambda: len(agent.records("interval")) > intervals + 10)
    ok(cnt > 3000 and dispatches(agent) - left < 50, "then its dispatches do not count", (cnt, left, dispatches(agent)))
    agent.configure(config("250ms", "50ms"))
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: off.ping() and dispatches(agent) - left > 100), "watched again: new dispatches are in the intervals",
       (left, dispatches(agent)))


def main():
    bad.need_tracing()
    if not shutil.which("node"):
        bad.skip_all("no node")
    try:
        group = Group(f"jankbpf-override-test-{os.getpid()}")
        kept, left = Group("kept", group), Group("left", group)
        redis, off = Redis(kept, "redis"), Redis(left, "off")
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
    node = Node(kept)
    agent = Agent("override", group, config("30ms", "200ms", **{"override off": {"match-cgroup": "*/left", "watch": "no"}}))
    bad.wait_for(lambda: redis.ping() and off.ping() and agent.records("interval") and
                 rows(agent, "redis") and rows(agent, "node"))
    test_thresholds(agent, redis, node)
    test_unwatched(agent, off)
    test_reload(agent, redis, off, node)
    test_again(agent, off)
    for process in (redis, off, node):  # the summary counts until the end, a moment longer than the last interval
        os.kill(process.pid, signal.SIGSTOP)
    agent.tracer.stop()
    for process in (redis, off, node):
        os.kill(process.pid, signal.SIGCONT)
    told = sum(row["dispatches"] for i in agent.records("interval") for row in i["loops"])
    summary = agent.records("summary")[-1]
    ok(summary["dispatches"] == told, "the summary has as many dispatches as the intervals", (summary["dispatches"], told))
    complaints = bad.validate(os.path.join(agent.dir, "blocks.jsonl"))
    ok(not complaints, "all records are valid", complaints)
    bad.end(node.process)
    redis.end()
    off.end()
    for each in (kept, left, group):
        each.remove()
    bad.done()


main()
