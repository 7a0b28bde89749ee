#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The control socket of an agent: --status, --pause and --resume, on a real redis-server; hostile clients."""
import json
import os
import socket
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, redis_in_group, total
from bad import ok


def ask(path, *words, **options):
    return subprocess.run([bad.JANK, "agent", "--control", path, *words], capture_output=True, text=True, check=False,
                          timeout=30, **options)


def state(path):
    return json.loads(ask(path, "--status", "--json").stdout)


def test_status(agent, path):
    mode = os.stat(path).st_mode
    ok(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, "the socket is for its owner only", oct(mode))
    said = ask(path, "--status")
    ok(said.returncode == 0 and f"process {agent.pid} since " in said.stdout and "watched 1 loops" in said.stdout,
       "--status prints its state", said)
    ok("lost nothing" in said.stdout and "own cost" in said.stdout and agent.path in said.stdout,
       "with losses, cost and configuration", said.stdout)
    now = state(path)
    ok(now["schema"] == "jankbpf-agent/1" and now["pid"] == agent.pid and now["paused"] is False and now["loops"] == 1,
       "--json: as JSON", now)


def test_pause(agent, path, redis):
    cnt = len(agent.records("block")) + 1
    redis.stall(0.1)
    ok(bad.wait_for(lambda: len(agent.records("block")) == cnt), "a stall is a block")
    ok(ask(path, "--pause").returncode == 0 and state(path)["paused"], "--pause")
    again = ask(path, "--pause")
    ok(again.returncode == 1 and "paused already" in again.stderr, "a second one is refused", again)
    before = agent.records("interval")
    bad.wait_for(lambda: any(i.get("paused_ns") for i in agent.records("interval")))
    for _ in range(200):
        redis.ping()
    redis.stall(0.1)
    bad.wait_for(lambda: len(agent.records("interval")) > len(before) + 4)
    ok(len(agent.records("block")) == cnt, "paused: a stall is no block")
    ok("paused for" in ask(path, "--status").stdout, "--status says so")
    ok(ask(path, "--resume").returncode == 0 and not state(path)["paused"], "--resume")
    redis.stall(0.1)
    ok(bad.wait_for(lambda: len(agent.records("block")) > cnt), "then a stall is a block again")
    ok(len(agent.records("block")) == cnt + 1, "only the new one")


def check_counts(agent, redis):
    agent.tracer.stop()
    intervals, summary = agent.records("interval"), agent.records("summary")[-1]
    paused = [i for i in intervals if i.get("paused_ns")]
    ok(paused and all(i["paused_ns"] == i["elapsed_ns"] and not i["dispatches"] for i in paused),
       "an interval is paused as a whole, and counts nothing", paused[:1])
    ok(summary["paused_ns"] == total(paused, "paused_ns") > 0, "the summary has the sum", summary.get("paused_ns"))
    ok(total(intervals, "dispatches") == summary["dispatches"] == total(summary["loops"], "dispatches"),
       "no count has what happened meanwhile",
       (total(intervals, "dispatches"), summary["dispatches"], total(summary["loops"], "dispatches")))
    spans = [(i["start_ns"], i["start_ns"] + i["elapsed_ns"]) for i in intervals]
    ok(all(a[1] == b[0] for a, b in zip(spans, spans[1:])), "the intervals have no gap")
    ok(not bad.validate(os.path.join(agent.dir, "blocks.jsonl")), "all records are valid")


def connect(path):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path)
    sock.settimeout(20)
    return sock


def is_closed(sock):
    try:
        return sock.recv(4096) in (b"", b"error: not a request\n")
    except ConnectionError:
        return True


def test_hostile(agent, path, redis):
    garbage = connect(path)
    garbage.sendall(b"\x00\xff" * 4000)
    ok(is_closed(garbage), "garbage is refused")
    wrong = connect(path)
    wrong.sendall(b"status jsonx\n")
    ok(wrong.recv(100) == b"error: not a request\n", "so is another word")
    slow = connect(path)
    slow.sendall(b"sta")
    slow.sendall(b"tus\n")
    ok(slow.recv(4096).startswith(b"ok\nprocess"), "a request may come in parts")
    before = len(os.listdir(f"/proc/{agent.pid}/fd"))
    idle = [connect(path) for _ in range(50)]
    idle[-1].sendall(b"s")
    ok(state(path)["pid"] == agent.pid, "50 clients that say nothing do not keep others out")
    ok(is_closed(idle[0]), "the oldest are dropped")
    # The agent opens others for a while, such as a window of statistics.
    ok(bad.wait_for(lambda: len(os.listdir(f"/proc/{agent.pid}/fd")) <= before + 4), "and take few descriptors")
    for sock in idle:
        sock.close()
    os.chmod(path, 0o666)
    os.chmod(os.path.dirname(path), 0o755)
    nobody = ask(path, "--pause", user=65534, group=65534)
    ok(nobody.returncode == 1 and not state(path)["paused"], "another user gets no answer, whatever the mode", nobody)
    os.chmod(path, 0o600)
    cnt = len(agent.records("block"))
    redis.stall(0.1)
    ok(bad.wait_for(lambda: len(agent.records("block")) > cnt), "and the agent goes on")


def test_second(group, path):
    second = Agent("second", group, {"agent": {"control": path}})
    ok(bad.wait_for(lambda: second.said("another agent answers there")), "a second agent says that the socket is taken")
    second.tracer.stop()
    ok(os.path.exists(path), "and leaves it alone")


def test_between(group):
    """Intervals are far apart. Where nothing has marks, an agent only looks for hangs between them, and an answer counts
    until now."""
    path = bad.scratch("between.socket")
    agent = Agent("between", group, {"agent": {"control": path}, "block": {"threshold": "50ms", "hang": "500ms"},
                                     "store": {"interval": "1h"}, "limits": {"records-per-signature": 0}})
    busy = group.start(bad.SIMJANK, "--quiet", "--scenario", "sleep:1ms", "--gap", "5ms", "--duration", "1h")
    slow = group.start(bad.SIMJANK, "--quiet", "--scenario", "sleep:1500ms", "--gap", "200ms", "--duration", "1h")
    bad.STARTED.extend((busy, slow))
    blocks = lambda: [b for b in agent.records("block") if b["pid"] == slow.pid]
    bad.wait_for(lambda: len(blocks()) >= 4)
    hangs = {h["start_ns"]: h["duration_ns"] for h in agent.records("hang")}
    late = [b["duration_ns"] for b in blocks() if hangs.get(b["start_ns"], b["duration_ns"]) >= b["duration_ns"]]
    ok(not late, "hangs are reported while they last", (late, hangs))
    before = state(path)["dispatches"]
    ok(bad.wait_for(lambda: state(path)["dispatches"] > before + 200), "--status counts what no interval has yet",
       (before, state(path)["dispatches"]))
    agent.tracer.stop()
    bad.end(busy, slow)
    told, cnt = total(agent.records("interval"), "dispatches"), agent.records("summary")[-1]["dispatches"]
    ok(before + 200 < told <= cnt, "at the end an interval has it, too", (before, told, cnt))


def main():
    bad.need_tracing()
    group, redis = redis_in_group("control")
    path = bad.scratch("control.socket")
    none = ask(path, "--status")
    ok(none.returncode == 1 and "no agent runs with this control" in none.stderr, "without an agent: the reason", none)
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(path)
    stale.close()
    agent = Agent("control", group, {"agent": {"control": path}, "block": {"threshold": "50ms"},
                                     "store": {"interval": "200ms"}, "limits": {"records-per-signature": 0}})
    bad.wait_for(lambda: redis.ping() and agent.records("interval") and agent.records("interval")[-1]["dispatches"])
    test_status(agent, path)
    test_hostile(agent, path, redis)
    test_second(group, path)
    test_pause(agent, path, redis)
    check_counts(agent, redis)
    ok(not os.path.exists(path), "at its end the socket is removed")
    redis.end()
    test_between(group)
    group.remove()
    bad.done()


main()
