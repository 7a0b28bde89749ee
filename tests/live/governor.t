#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The governor of an agent on a real redis-server: with a tiny budget it takes its steps in order and says so, up to being
blind; blocks keep exact durations; with a larger budget it gives all back."""
import http.client
import os
import shutil
import signal
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, redis_in_group, total
from bad import MS, ok
from probed_code import Code
from real import free_port

ORDER = [None, "marks", "stack_copies", "sampling", "pools", "processes", "blind"]


class Load(threading.Thread):
    """Requests to redis, and a stall of 80 ms with each hundredth."""

    def __init__(self, redis):
        super().__init__(daemon=True)
        self.redis, self.stalls, self.ends = redis, 0, False

    def run(self):
        while not self.ends:
            for _ in range(100):
                self.redis.ping()
            self.redis.stall(0.08)
            self.stalls += 1


def others(agent):
    """Other agents of this machine: they probe redis' file, too."""
    pids = {int(pid) for pid in os.listdir("/proc") if pid.isdigit()} - {agent.pid}
    return [pid for pid in pids if comm(pid) == "jankbpf"]


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def words(agent):
    """What was reduced, one after the other."""
    seen = []
    for interval in agent.records("interval"):
        if not seen or seen[-1] != interval.get("reduced"):
            seen.append(interval.get("reduced"))
    return seen


def metrics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().split("\n")
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}


def is_exact(block):
    time = block["time"]
    return time["running_ns"] + time["runnable_ns"] + sum(time["blocked_ns"].values()) == block["duration_ns"]


def check_blocks(agent):
    blocks = agent.records("block")
    by_word = {word: [b for b in blocks if b.get("reduced") == word] for word in ORDER}
    ok(all(by_word[word] for word in ORDER[:5]), "there are blocks at each level before processes",
       {word: len(list_) for word, list_ in by_word.items()})
    ok(not by_word["blind"], "and none while it is blind")
    inexact = [b["duration_ns"] for b in blocks if not is_exact(b)]
    ok(not inexact, f"the account of time of all {len(blocks)} is exact", inexact[:3])
    slept = [b["time"]["blocked_ns"].get("sleep", 0) for b in blocks]
    slept = [ns for ns in slept if ns]
    wrong = [ns for ns in slept if not 79 * MS < ns < 200 * MS]
    ok(len(slept) > len(blocks) // 2 and not wrong, "what redis slept is exact at each level", (len(slept), wrong[:3]))
    long = [b["duration_ns"] for b in blocks if b["duration_ns"] > 1000 * MS]
    ok(not long, "and no time without probes became a block", long[:3])
    late = [b for word in ("sampling", "pools") for b in by_word[word]]
    ticks = [s for b in late for s in b["samples"] if s["state"] == "running"]
    ok(len(ticks) <= 2, "without sampling there are no ticks", len(ticks))


def main():
    bad.need_tracing()
    program = bad.scratch("redis-server")
    shutil.copy(shutil.which("redis-server") or bad.skip_all("no redis-server"), program)
    group, redis = redis_in_group("governor", program=program) # its own file: other agents probe that of the system
    code = Code(redis.pid, program)
    port, path = free_port(), bad.scratch("governor.socket")
    config = {"block": {"threshold": "40ms"}, "store": {"interval": "500ms"}, "metrics": {"listen": f"127.0.0.1:{port}"},
              "agent": {"control": path},
              "limits": {"records-per-signature": 0, "cpu": "60%", "cpu-recover": "1s"}}
    load = Load(redis)
    load.start()
    agent = Agent("governor", group, config)
    ok(bad.wait_for(code.is_probed), "at first redis' messages are probed")
    config["limits"]["cpu"] = "0.02%"
    agent.configure(config)
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: words(agent)[-1:] == ["blind"], 120), "with a tiny budget it ends blind", words(agent))
    ok(bad.wait_for(lambda: not code.is_probed()) or others(agent), "no mark is left in redis' code")
    ok(words(agent) == ORDER, "the steps come in their order", words(agent))
    levels = [i["governor_level"] for i in agent.records("interval")]
    ok(levels == sorted(levels) and levels[-1] == 6, "so do the levels", levels)
    bad.wait_for(lambda: metrics(port).get("jankbpf_blind") == 1)
    seen = metrics(port)
    ok(seen.get("jankbpf_blind") == 1 and seen["jankbpf_governor_level"] == 6 and seen["jankbpf_governor_steps_total"] == 6,
       "the metrics say so", {k: v for k, v in seen.items() if "governor" in k or "blind" in k})
    cnt, stalls = len(agent.records("block")), load.stalls
    bad.wait_for(lambda: load.stalls > stalls + 3)
    ok(len(agent.records("block")) <= cnt + 1, "blind: no block")
    ok(agent.said(f"process {redis.pid} (redis-server) is not watched"), "it names the process that it took", agent.tracer.stderr())
    ok(bad.wait_for(lambda: any(n["pid"] == redis.pid and n["reason"] == "budget" for i in agent.records("interval")
                                for n in i.get("not_watched", ()))), "so does not_watched, soon")
    ok(agent.said("level 5, blind: nothing is watched"), "the log says so", agent.tracer.stderr())
    ok(any(i.get("blind_ns") for i in agent.records("interval")), "intervals say for how long")
    config["limits"]["cpu"] = "60%"
    agent.configure(config)
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: words(agent)[-1] is None, 120), "with a larger budget it gives all back", words(agent))
    ok(words(agent) == ORDER + ORDER[-2::-1], "one step after the other", words(agent))
    ok(bad.wait_for(code.is_probed), "the marks are back")
    cnt = len(agent.records("block"))
    ok(bad.wait_for(lambda: any(not b.get("reduced") for b in agent.records("block")[cnt:])), "blocks are whole again")
    load.ends = True
    load.join()
    agent.tracer.stop()
    check_blocks(agent)
    summary = agent.records("summary")[-1]
    ok(summary["governor_steps"] == total([i for i in agent.records("interval") if "governor_steps" in i], "governor_steps") == 12,
       "the summary has all steps", summary.get("governor_steps"))
    complaints = bad.validate(os.path.join(agent.dir, "blocks.jsonl"))
    ok(not complaints, "all records are valid", complaints)
    redis.end()
    group.remove()
    bad.done()


main()
