#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make check-attach: attaching to real programs that hang in four ways, and to programs that rest.
The stalls are those of stall_preload.c, in the loops of unchanged programs. TARGETS=redis,resting: only
these."""
import itertools
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import bad
from agents import Agent
from bad import MS, ok
from group import Group
from live import ROOT, build
from real import Screen, build_looper, free_port
from resting import resting

TARGETS = os.environ.get("TARGETS", "redis,node,nginx,asyncio,gtk,qt,transmission,postgres,haproxy,mosquitto,looper,java,ways,resting").split(",")
PRELOAD = os.path.join(ROOT, ".output/attach/stall_preload.so")
HANG_S, SPARE_S = 1, 1
STALL_S = 7
PART = 0.95  # of the hangs
MODES = {"asleep": "sleep", "blocked": "pipe", "busy": "running", "locked": "futex"}
# Java sleeps by futexes, and takes monitors in slices: since when is that of the last one. Its own functions have no names.
JAVA_MODES = {**MODES, "asleep": "futex"}
JAVA_FUNCTIONS = {"asleep": "JVM_Sleep", "blocked": "handleRead", "locked": "ObjectMonitor::enter"}
BEFORE = b'"began":"before the trace"'
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def stalling(folder):
    return {**os.environ, "LD_PRELOAD": PRELOAD, "JANK_STALL": folder}


def run(folder, *command, **env):
    return bad.start(list(command), env={**stalling(folder), **env}, stdin=subprocess.PIPE, **QUIET)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def redis(folder, _):
    return run(folder, "redis-server", "--port", "0", "--unixsocket", f"{folder}/redis", "--save", "")


def node(folder, _):
    return run(folder, "node", "-e", "setInterval(() => {}, 20)")


def nginx(folder, _):
    config = write(folder, "nginx.conf", f"daemon off; master_process off; pid {folder}/nginx.pid; error_log /dev/null; "
                   f"events {{}} http {{ access_log off; server {{ listen unix:{folder}/nginx; }} }}")
    return run(folder, "nginx", "-c", config)


def asyncio(folder, _):
    return run(folder, "/usr/bin/python3", "-c", "import asyncio; asyncio.run(asyncio.sleep(1000))")


def gtk(folder, screen):
    return run(folder, "zenity", "--info", "--text=idle", JANK_STALL_GLIB="1", **screen.env)


def qt(folder, _):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "Qt5Gui"], capture_output=True, text=True, check=True).stdout.split()
    program = os.path.join(folder, "qt")
    subprocess.run(["g++", "-fPIC", "-o", program, f"{HERE}/qt.cc", *flags], check=True)
    return run(folder, program, JANK_STALL_GLIB="1", QT_QPA_PLATFORM="offscreen")


def transmission(folder, _):
    return run(folder, "transmission-daemon", "-f", "-g", folder, "-p", str(free_port()))


def postgres(folder, _):
    """A backend: the client's session."""
    programs, user = "/usr/lib/postgresql/15/bin/", pwd.getpwnam("postgres")
    data = os.path.join(folder, "data")
    become = {"user": user.pw_uid, "group": user.pw_gid, "cwd": "/"}
    subprocess.run([f"{programs}initdb", "-A", "trust", "-D", data], check=True, **become, **QUIET)
    server = bad.start([f"{programs}postgres", "-D", data, "-k", folder, "-c", "listen_addresses="], env=stalling(folder), **become, **QUIET)
    bad.wait_for(lambda: os.path.exists(f"{folder}/.s.PGSQL.5432"))
    client = bad.start([f"{programs}psql", "-h", folder, "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **become)
    client.stdin.write("select pg_backend_pid();\n")
    client.stdin.flush()
    server.hangs = int([client.stdout.readline() for _ in range(3)][2])
    return server


def haproxy(folder, _):
    config = write(folder, "haproxy.cfg", f"global\n nbthread 1\ndefaults\n timeout client 1s\nfrontend f\n bind unix@{folder}/haproxy\n")
    return run(folder, "haproxy", "-db", "-f", config)


def mosquitto(folder, _):
    return run(folder, "mosquitto", "-c", write(folder, "mosquitto.conf", f"listener {free_port()} 127.0.0.1\n"))


def java(folder, _):
    subprocess.run(["javac", "-d", folder, f"{HERE}/Server.java"], check=True)
    return run(folder, "java", "-cp", folder, "Server", folder, LD_PRELOAD="")


def looper(folder, _):
    return run(folder, build_looper(folder))


PROGRAMS = {"redis": (redis, "redis-server"), "node": (node, "node"), "nginx": (nginx, "nginx"), "asyncio": (asyncio, "/usr/bin/python3"),
            "gtk": (gtk, "zenity"), "qt": (qt, "g++"), "transmission": (transmission, "transmission-daemon"),
            "postgres": (postgres, "/usr/lib/postgresql/15/bin/postgres"), "haproxy": (haproxy, "haproxy"),
            "mosquitto": (mosquitto, "mosquitto"), "looper": (looper, "g++"), "java": (java, "javac")}


def begin_stall(folder, pid, mode):
    path = os.path.join(folder, str(pid))
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(f"{mode} {STALL_S}")
    os.chmod(path + ".new", 0o666)
    os.rename(path + ".new", path)
    return bad.wait_for(lambda: not os.path.exists(path), 20)


def first_record(tracer, pid, kind, seconds):
    """The time when it is there, from when the tracer traces."""
    begun = time.monotonic()
    there = bad.wait_for(lambda: any(b'"type":"%s"' % kind in line and b'"pid":%d,' % pid in line and BEFORE in line for line in tracer.stdout().splitlines()), seconds)
    return time.monotonic() - begun if there else None


def judge(result, name, pid, mode, late_s):
    """What is wrong with the hang and its block; None: nothing."""
    hang = next((r for r in result.of("hang") if r["pid"] == pid), None)
    block = next((r for r in result.blocks() if r["pid"] == pid and r.get("began") == "before the trace"), None)
    functions = {f.get("function") for s in (hang or {}).get("samples", []) for f in s["stack"]}
    modes, function, exact = (JAVA_MODES, JAVA_FUNCTIONS.get(mode), ("asleep", "blocked")) if name == "java" else \
        (MODES, f"stall_{mode}", ("asleep", "blocked", "locked"))
    times = hang and {"running": hang["time"]["running_ns"], **hang["time"]["blocked_ns"]}
    if not hang or late_s is None:
        return "no hang"
    if late_s > HANG_S + SPARE_S:
        return f"after {late_s:.1f} s"
    if times[modes[mode]] < 0.5 * (hang["duration_ns"] - hang["time"]["runnable_ns"]):
        return f"time {times}"
    if function and function not in functions:
        return f"functions {functions}"
    if not block or not block.get("hang_reported"):
        return "no block at its end"
    return None if mode not in exact or abs(block["duration_ns"] - STALL_S * 1000 * MS) < 500 * MS else f"block of {block['duration_ns'] / MS} ms"


def attach(folder, name, pid, mode):
    if not begin_stall(folder, pid, mode):
        return "does not begin its stall"
    time.sleep(0.5)
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG_S}s", "-p", pid)
    late_s = first_record(tracer, pid, b"hang", HANG_S + 3)
    if late_s is not None:
        first_record(tracer, pid, b"block", STALL_S + 3)
    return judge(tracer.stop(), name, pid, mode, late_s)


def attach_in_time(folder, name, pid, mode):
    """Beside other work, what is late once counts if it is late again."""
    why = attach(folder, name, pid, mode)
    if not why or not why.startswith("after"):
        return why
    time.sleep(STALL_S)
    return attach(folder, name, pid, mode)


def test_program(name, screen):
    """Returns the number of right answers, and of all."""
    begin, needs = PROGRAMS[name]
    if not shutil.which(needs):
        bad.skip(name, f"{needs} is not installed")
        return 0, 0
    with tempfile.TemporaryDirectory(prefix="jank-attach-") as folder:
        os.chmod(folder, 0o777)
        process = begin(folder, screen)
        pid = getattr(process, "hangs", process.pid)
        time.sleep(2)
        wrong = {mode: attach_in_time(folder, name, pid, mode) for mode in MODES}
        bad.end(process)
    wrong = {mode: why for mode, why in wrong.items() if why}
    print(f"# {name}: {len(MODES) - len(wrong)} of {len(MODES)} {wrong or ''}", flush=True)
    return len(MODES) - len(wrong), len(MODES)


def test_hangs(screen):
    right = total = 0
    for name in filter(PROGRAMS.get, TARGETS):
        counts = test_program(name, screen)
        right, total = right + counts[0], total + counts[1]
    ok(right >= PART * total, f"{right} of {total} hangs are seen, with kind, handler, begin and end")


class Written:
    """What an agent wrote, as a trace's result."""

    def __init__(self, agent):
        self.of = agent.records

    def blocks(self):
        return self.of("block")


def watch_by_agent(group, pids, mode):
    """Returns what is wrong."""
    agent = Agent(f"agent-{mode}", group, {"block": {"threshold": "25ms", "hang": f"{HANG_S}s"}, "store": {"interval": "1s"}})
    bad.wait_for(lambda: {r["pid"] for r in agent.records("block") if r.get("began")} >= set(pids.values()), STALL_S + 10)
    agent.tracer.stop(bad.signal.SIGTERM)
    return {name: why for name, pid in pids.items() if (why := judge(Written(agent), name, pid, mode, 0))}


def watch_by_top(_, pids, mode):
    top = bad.trace("top", "-b", "-n", 4, "--interval", "1s", "-t", "25ms", "--hang", f"{HANG_S}s", "-p", ",".join(map(str, pids.values())))
    time.sleep(STALL_S)
    return {name: top for name, pid in pids.items()
            if not re.search(rf"^ *{pid} .* [1-9][\d.]* s +({MODES[mode]}|runnable)", top.out, re.MULTILINE)}


def test_ways(screen):
    try:
        group = Group(f"jank-ways-{os.getpid()}")
    except OSError as error:
        bad.skip("an agent and top", str(error))
        return
    with tempfile.TemporaryDirectory(prefix="jank-attach-") as folder:
        processes = {name: PROGRAMS[name][0](folder, screen) for name in ("redis", "gtk") if shutil.which(PROGRAMS[name][1])}
        pids = {name: process.pid for name, process in processes.items()}
        for pid in pids.values():
            write(group.path, "cgroup.procs", str(pid))
        time.sleep(2)
        for mode, way in itertools.product(MODES, (watch_by_agent, watch_by_top)):
            alone = "redis" if way == watch_by_agent else "gtk"  # two that are busy leave no CPU
            stalled = {name: pid for name, pid in pids.items() if mode != "busy" or name == alone}
            begun = [begin_stall(folder, pid, mode) for pid in stalled.values()]
            time.sleep(0.5)
            wrong = way(group, stalled, mode)
            ok(all(begun) and not wrong, f"{way.__name__}, {mode}: {', '.join(stalled)}", wrong)
        bad.end(*processes.values())
    group.remove()


def check_rest(what, *options):
    result = bad.trace("--json", "-t", "25ms", "--hang", "300ms", "-d", "4s", *options)
    false = [(r["process"], r["cause"]["summary"]) for r in result.of("hang") if r.get("began")]
    ok(result.summary() and not false, f"{what}: no false hang", false or result.err)


def test_resting(screen):
    try:
        group = Group(f"jank-attach-{os.getpid()}")
    except OSError as error:
        group = None
        print(f"# no cgroup: {error}")
    enter = f"echo $$ >{group.path}/cgroup.procs && " if group else ""
    with tempfile.TemporaryDirectory(prefix="jank-resting-") as folder, resting(folder, screen, enter) as pids:
        print(f"# {len(pids)} programs rest: {' '.join(pids)}", flush=True)
        ok(len(pids) >= 30, "30 programs rest", len(pids))
        check_rest("-p", "-p", ",".join(map(str, pids.values())))
        if group:
            check_rest("-a", "-a", "--cgroup", group.path)
    if group:
        group.remove()


bad.need_tracing()
SCREEN = Screen()
test_hangs(SCREEN)
if "ways" in TARGETS:
    test_ways(SCREEN)
if "resting" in TARGETS:
    test_resting(SCREEN)
SCREEN.end()
bad.done()
