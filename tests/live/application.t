#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Service, package and version of real redis-servers, by their environment, package metadata and build ids, and of a Python
program that runs as an Android app does: in blocks and intervals."""
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import bad
from agents import Agent, Redis, total
from bad import ok
from group import Group

FIELDS = ("service_name", "service_version", "service_namespace", "deployment_environment", "package", "package_version",
          "package_code", "version")
LOOP_FIELDS = ("service_name", "service_version", "service_namespace", "deployment_environment", "version")
SECRET = "hunter2hunter2"
PYTHON = "/usr/bin/python3"
# What Android's runtime does: the program is app_process, the command line is the app's name, and its APK is mapped late.
APP = """
import asyncio, mmap, sys, time
maps = []
def on_line():
    word, _, path = sys.stdin.readline().strip().partition(" ")
    if word == "map":
        with open(path, "rb") as file:
            maps.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    else:
        time.sleep(0.06)
    print(word, flush=True)
loop = asyncio.new_event_loop()
loop.add_reader(sys.stdin, on_line)
loop.run_forever()
"""


class App:
    """An Android app of process NAME."""

    def __init__(self, group, name):
        folder = bad.scratch("app")
        os.mkdir(folder)
        program = os.path.join(folder, "app_process64")
        shutil.copy(os.path.realpath(PYTHON), program)
        self.process = group.start("bash", "-c", 'exec -a "$0" "$@"', name, program, "-c", APP, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env={"PYTHONHOME": "/usr", "PATH": os.environ["PATH"]})
        bad.STARTED.append(self.process)
        self.pid = self.process.pid

    def do(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    return next((line.split()[-1] for line in notes.split("\n") if "Build ID" in line), None)


def with_metadata():
    """A copy of redis-server with package metadata, as Fedora's programs have it."""
    path, note = bad.scratch("redis-janky"), bad.scratch("note")
    text = json.dumps({"type": "rpm", "name": "redis", "version": "7.0.15-1.fc39"}).encode() + b"\0"
    with open(note, "wb") as file:
        file.write(struct.pack("<III4s", 4, len(text), 0xcafe1a7e, b"FDO\0") + text + bytes(-len(text) % 4))
    subprocess.run(["objcopy", "--add-section", f".note.package={note}", "--set-section-flags", ".note.package=alloc,readonly",
                    os.path.realpath("/usr/bin/redis-server"), path], check=True, stderr=subprocess.DEVNULL)
    return path


def other_apk(path):
    """An APK of another package, which any app may map."""
    with zipfile.ZipFile(os.path.join(HERE, "../apk/aapt2.apk")) as apk:
        manifest = apk.read("AndroidManifest.xml").replace("org.example.jank".encode("utf-16-le"), "org.example.evil".encode("utf-16-le"))
    with zipfile.ZipFile(path, "w") as apk:
        apk.writestr("AndroidManifest.xml", manifest)


def test_brief(group):
    """Processes that start and end within an interval."""
    unit = Group(f"jankbpf-brief-{os.getpid()}.service", group)
    agent = Agent("brief", group, {"store": {"interval": "5s"}})
    for _ in range(3):
        unit.start(bad.SIMJANK, "--quiet", "--scenario", "sleep:1ms", "--gap", "20ms", "--duration", "1s",
                   env=dict(os.environ, OTEL_SERVICE_NAME="brief")).wait()
    ok(bad.wait_for(lambda: total(agent.records("interval"), "dispatches") > 50), "their dispatches are counted")
    agent.tracer.stop()
    rows = {(loop["process"], loop.get("unit"), loop.get("service_name")) for i in agent.records("interval") for loop in i["loops"]}
    ok(rows == {("simjank", os.path.basename(unit.path), "brief")}, "for their unit and service", rows)
    unit.remove()


def main():
    bad.need_tracing()
    try:
        group = Group(f"jankbpf-application-test-{os.getpid()}")
        # A title that is written over the arguments reaches into the environment, which is gone then.
        named = Redis(group, "named", "--set-proc-title", "no", env={
            "PATH": os.environ["PATH"], "PASSWORD": SECRET, "OTEL_SERVICE_NAME": "cart",
            "OTEL_RESOURCE_ATTRIBUTES": f"service.version=2.7.1,service.namespace=shop,deployment.environment=test,token={SECRET}"})
        plain = Redis(group, "plain", env={"PATH": os.environ["PATH"]})
        packed = Redis(group, "packed", program=with_metadata())
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
    app = App(group, "org.example.jank:remote")
    # The app stalls until its package is found: each of these blocks is wanted.
    agent = Agent("application", group, {"block": {"threshold": "30ms"}, "store": {"interval": "200ms"},
                                         "limits": {"records-per-signature": 0}})
    servers = (named, plain, packed)
    bad.wait_for(lambda: all(server.ping() for server in servers) and app.do("stall") and
                 agent.records("interval") and len(agent.records("interval")[-1]["loops"]) == 4)
    for server in servers:
        server.stall(0.06)
    other_apk(bad.scratch("other.apk"))
    app.do("map", bad.scratch("other.apk"))
    app.do("map", os.path.join(HERE, "../apk/aapt.apk"))
    ok(bad.wait_for(lambda: {server.pid for server in servers} <= {b["pid"] for b in agent.records("block")}),
       "each server has a block")
    ok(bad.wait_for(lambda: app.do("stall") and any(b.get("package") for b in agent.records("block") if b["pid"] == app.pid)),
       "an app's package is found when its APK is mapped", agent.records("block")[-1])
    agent.tracer.stop()
    exe = build_id(os.path.realpath("/usr/bin/redis-server"))
    want = {named.pid: {("cart", "2.7.1", "shop", "test", None, None, None, "2.7.1")},
            plain.pid: {(None,) * 7 + (exe,)},
            packed.pid: {(None, None, None, None, "redis", "7.0.15-1.fc39", None, "7.0.15-1.fc39")},
            app.pid: {(None,) * 7 + (build_id(PYTHON),),
                      (None, None, None, None, "org.example.jank", "1.2.3-β", 45, "1.2.3-β (45)")}}
    for pid, rows in want.items():
        got = {tuple(block.get(field) for field in FIELDS) for block in agent.records("block") if block["pid"] == pid}
        ok(got == rows, f"blocks of version {[row[-1] for row in rows]}", got)
    loops = [loop for i in agent.records("interval") for loop in i["loops"]]
    got = {tuple(loop.get(field) for field in LOOP_FIELDS) for loop in loops}
    ok(got == {row[:4] + row[-1:] for rows in want.values() for row in rows}, "and the loops of intervals", got)
    with open(os.path.join(agent.dir, "blocks.jsonl"), encoding="utf-8") as file:
        ok(SECRET not in file.read(), "nothing else of the environment is in the records")
    ok(not bad.validate(os.path.join(agent.dir, "blocks.jsonl")), "all records are valid")
    for server in servers:
        server.end()
    bad.end(app.process)
    test_brief(group)
    group.remove()
    bad.done()


main()
