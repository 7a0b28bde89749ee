#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Service and version of real redis-servers, by their environment and build ids: in blocks and intervals."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, Redis
from bad import ok
from group import Group

FIELDS = ("service_name", "service_version", "service_namespace", "deployment_environment", "version")
SECRET = "hunter2hunter2"


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    return next((line.split()[-1] for line in notes.split("\n") if "Build ID" in line), None)


def main():
    bad.need_tracing()
    try:
        group = Group(f"jankbpf-application-test-{os.getpid()}")
        # A title that is written over the arguments reaches into the environment, which is gone then.
        named = Redis(group, "named", "--set-proc-title", "no", env={
            "PATH": os.environ["PATH"], "PASSWORD": SECRET, "OTEL_SERVICE_NAME": "cart",
            "OTEL_RESOURCE_ATTRIBUTES": f"service.version=2.7.1,service.namespace=shop,deployment.environment=test,token={SECRET}"})
        plain = Redis(group, "plain", env={"PATH": os.environ["PATH"]})
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
    agent = Agent("application", group, {"block": {"threshold": "30ms"}, "store": {"interval": "200ms"}})
    bad.wait_for(lambda: named.ping() and plain.ping() and
                 agent.records("interval") and len(agent.records("interval")[-1]["loops"]) == 2)
    named.stall(0.06)
    plain.stall(0.06)
    ok(bad.wait_for(lambda: {b["pid"] for b in agent.records("block")} == {named.pid, plain.pid}), "both have a block")
    agent.tracer.stop()
    exe = build_id(os.path.realpath("/usr/bin/redis-server"))
    want = {named.pid: ("cart", "2.7.1", "shop", "test", "2.7.1"), plain.pid: (None, None, None, None, exe)}
    for block in agent.records("block"):
        got = tuple(block.get(field) for field in FIELDS)
        ok(got == want[block["pid"]], f"a block of the one with version {want[block['pid']][4]}", got)
    loops = [loop for i in agent.records("interval") for loop in i["loops"]]
    got = {tuple(loop.get(field) for field in FIELDS) for loop in loops}
    ok(got == set(want.values()), "and the loops of intervals", got)
    with open(os.path.join(agent.dir, "blocks.jsonl"), encoding="utf-8") as file:
        ok(SECRET not in file.read(), "nothing else of the environment is in the records")
    ok(not bad.validate(os.path.join(agent.dir, "blocks.jsonl")), "all records are valid")
    named.end()
    plain.end()
    group.remove()
    bad.done()


main()
