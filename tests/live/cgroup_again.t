#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A selected cgroup that is not there yet, is removed and made again, as by a restart of its unit: an agent and a trace
watch it again. Questions to an agent whose configuration has errors since."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, Redis
from bad import ok
from group import Group

NAME = f"jankbpf-again-{os.getpid()}.service"


class Later:
    """Stands for a cgroup in the configuration before it is made."""
    path = NAME


def service(name, parent):
    group = Group(NAME, parent)
    return group, Redis(group, name)


def remove(group, redis):
    redis.end()
    group.remove()


def stalls(records, redis):
    """A cgroup is found within about a second; stalls before that are not seen."""
    redis.stall(0.1)
    return [b for b in records() if b["pid"] == redis.pid]


def ask(agent, path, *words):
    return subprocess.run([bad.JANK, "agent", "--config", agent.path, "--control", path, *words], capture_output=True, text=True,
                          check=False, timeout=30)


def test_agent(parent):
    path = bad.scratch("again.socket")
    config = {"agent": {"control": path}, "block": {"threshold": "50ms"}, "limits": {"records-per-signature": 0},
              "store": {"interval": "200ms"}}
    agent = Agent("again", Later, config)
    ok(bad.wait_for(lambda: agent.said(f"'{NAME}': there is no such cgroup now")), "an agent waits for a cgroup that is not there",
       agent.tracer.stderr())
    ok(f"no such cgroup now: {NAME}" in ask(agent, path, "--status").stdout, "--status says so")
    ok(json.loads(ask(agent, path, "--status", "--json").stdout)["missing_cgroups"] == [NAME], "as JSON, too")
    blocks = lambda: agent.records("block")
    for turn in ("first", "second"):
        group, redis = service(turn, parent)
        ok(bad.wait_for(lambda: stalls(blocks, redis)), f"the {turn} cgroup of this name is watched", agent.tracer.stderr())
        ok(json.loads(ask(agent, path, "--status", "--json").stdout)["missing_cgroups"] == [], "nothing is missing")
        remove(group, redis)
    ok(agent.tracer.stderr().count("there is no such cgroup now") == 1, "it is said once", agent.tracer.stderr())
    agent.configure({"block": {"thresold": "3ms"}, "agent": {"control": path}, "store": {"format": "json"}})
    said = ask(agent, path, "--status")
    ok(said.returncode == 0 and said.stdout.startswith("process ") and not said.stderr,
       "a question does not need the rest of the configuration; its form is that of the command line", said)
    agent.tracer.stop()


def test_trace(parent):
    none = bad.trace("--json", "-a", "-g", NAME, seconds=20)
    ok(none.status == 1 and "there is no such cgroup" in none.err, "a trace needs the cgroup at its start", none)
    group, redis = service("trace", parent)
    tracer = bad.Tracer("--json", "-t", "50ms", "-a", "-g", NAME)
    blocks = lambda: [r for r in map(json.loads, tracer.stdout().split(b"\n")[:-1]) if r["type"] == "block"]
    bad.wait_for(lambda: stalls(blocks, redis))
    remove(group, redis)
    group, redis = service("trace-again", parent)
    ok(bad.wait_for(lambda: stalls(blocks, redis)), "a trace watches it again", tracer.stderr())
    tracer.stop()
    remove(group, redis)


def main():
    bad.need_tracing()
    try:
        parent = Group(f"jankbpf-again-test-{os.getpid()}")
        remove(*service("probe", parent))
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
    test_agent(parent)
    test_trace(parent)
    parent.remove()
    bad.done()


main()
