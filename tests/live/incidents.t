#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Incidents of everyday use, on real programs of the distribution. The script that caused the stall
knows what stalled, and the verdict must say so.

INCIDENTS=redis,node runs these only.
"""
import contextlib
import shutil
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from incidents import Truth, check_incident  # noqa: E402
from live import MS, Moment, Tap, Trace, check_run, drop_cache, end, is_cached, need, start, wait_for  # noqa: E402
from real import NodeServer, Redis, Screen, free_port, http_get  # noqa: E402
from slow_disk import SlowDisk, why_not  # noqa: E402

PYTHON = "/usr/bin/python3"  # the distribution's Python, which has its modules
LUA = "local n = 0; for i = 1, 9000000 do n = n + i % 7 end; return n"
FILE_KB = 1024
READ_BPS = 3 << 20


def check_trace(tap, trace, *what):
    # There may be many preemptors and many waited-for threads: they count as right.
    check_run(tap, trace, *what, spared=("preemptors_capped", "evidence_shed"))


def write_cold(path, size=FILE_KB << 10):
    with open(path, "wb") as file:
        file.write(os.urandom(size))
    drop_cache(path)
    return path


@contextlib.contextmanager
def tracing(pid, threshold="40ms", options=()):
    """As Trace, but waits a little: a dispatch ends shortly after its answer was sent."""
    with Trace(pid, threshold=threshold, options=options) as trace:
        yield trace
        time.sleep(0.1)


def redis_memory(tap, folder):
    """A fork copies the page tables: the more memory, the longer. redis reports how long it
    took."""
    redis = Redis(folder)
    try:
        redis.do("DEBUG", "POPULATE", "1500000", "key", "300")
        with tracing(redis.process.pid, threshold="4ms", options=["-F", "999"]) as trace:
            with Moment() as lua:
                redis.do("EVAL", LUA, "0")
            with Moment() as fork:
                redis.do("BGSAVE")
            info = dict(line.split(":", 1) for line in redis.do("INFO", "stats").split() if ":" in line)
    finally:
        end(redis.process)
    check_trace(tap, trace, "redis", "redis-server", "redis")
    fork_ms = int(info["latest_fork_usec"]) / 1000
    tap.note(f"redis reports that its fork took {fork_ms} ms")
    check_incident(tap, Truth("redis, BGSAVE of much memory", ["kernel"], at_least_ms=fork_ms * 0.9,
                              seen=["copy_page_range", "copy_process", "dup_mm", "copy_pte_range"]), fork.block(trace.blocks))
    check_incident(tap, Truth("redis, a slow Lua script", ["cpu"], words=["CPU", "lua"]), lua.block(trace.blocks))


def redis_append(tap, folder):
    redis = Redis(folder, "--appendonly", "yes", "--appendfsync", "always")
    try:
        redis.do("SET", "key", "0")
        with SlowDisk(folder, write_iops=10) as slow, \
             tracing(redis.process.pid, threshold="20ms") as trace:
            slow.hold(redis.process.pid)
            with Moment() as moment:
                for value in range(4):
                    redis.do("SET", "key", str(value))
    finally:
        end(redis.process)
    check_trace(tap, trace, "redis with AOF", "redis-server", "redis")
    check_incident(tap, Truth("redis, AOF on a slow disk", ["disk"], whats=["fsync"], calls=["fdatasync"],
                              path=f"{folder}/appendonlydir/*.incr.aof", words=["fdatasync", ".incr.aof"]), moment.block(trace.blocks))


def answers(family, address):
    with contextlib.suppress(OSError), socket.socket(family) as client:
        client.connect(address)
        return True
    return False


NGINX = """
worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/error.log; user root;
events {{ worker_connections 64; use epoll; }}
http {{
    access_log off; root {dir}/www; default_type text/plain; open_file_cache off; output_buffers 1 2m;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{ listen unix:{dir}/socket;
              location /read/ {{ sendfile off; }}
              location /sendfile/ {{ sendfile on; }} }}
}}
"""


def nginx(tap, folder):
    cold = {}
    for name in ("read", "sendfile"):
        os.makedirs(f"{folder}/www/{name}")
        cold[name] = write_cold(f"{folder}/www/{name}/cold")
    with open(f"{folder}/conf", "w", encoding="ascii") as file:
        file.write(NGINX.format(dir=folder))
    master = start(["nginx", "-p", folder, "-c", f"{folder}/conf", "-e", f"{folder}/error.log"])
    moments = {}
    try:
        wait_for(lambda: answers(socket.AF_UNIX, f"{folder}/socket"), what="nginx's answer")
        # The socket appears before nginx has a worker, so a connection is answered first.
        children = f"/proc/{master.pid}/task/{master.pid}/children"
        wait_for(lambda: read(children), what="nginx's worker")
        worker = int(read(children).split()[0])
        with SlowDisk(folder, read_bps=READ_BPS) as slow, tracing(worker) as trace:
            slow.hold(worker)
            for name in cold:
                with Moment() as moments[name]:
                    http_get(socket.AF_UNIX, f"{folder}/socket", f"/{name}/cold")
    finally:
        end(master)
    check_trace(tap, trace, "nginx", "nginx", "nginx")
    for name, setting, calls in (("read", "off", ["read", "pread64"]), ("sendfile", "on", ["sendfile", "sendfile64"])):
        check_incident(tap, Truth(f"nginx, a cold file, sendfile {setting}", ["disk"], whats=["read"], calls=calls,
                                  path=cold[name], words=["cold"]), moments[name].block(trace.blocks))


SETTINGS = "[org/xfce/mousepad/preferences/view]\nshow-line-numbers={}\n[org/xfce/other]\n"


def write_settings(path, numbers, size):
    """Replaces the file by a new one, as another program does it. Returns the new inode."""
    fresh = path + ".new"
    with open(fresh, "w", encoding="ascii") as file:
        file.write(SETTINGS.format("true" if numbers else "false"))
        for number in range(size // 500):
            file.write(f"key-{number}='{'x' * 490}'\n")
    drop_cache(fresh)
    inode = os.stat(fresh).st_ino
    os.rename(fresh, path)
    return inode


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def gtk(tap, folder):
    """A text editor that keeps its settings in a file and reads them again when they change."""
    os.makedirs(f"{folder}/config/glib-2.0/settings")
    keyfile = f"{folder}/config/glib-2.0/settings/keyfile"
    write_settings(keyfile, False, 1000)
    screen = Screen()
    editor = None
    try:
        editor = start(["mousepad", "--disable-server"], stderr=subprocess.DEVNULL,
                       env=os.environ | screen.env | {"HOME": folder, "XDG_CONFIG_HOME": f"{folder}/config",
                                                      "GSETTINGS_BACKEND": "keyfile",
                                                      "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        wait_for(lambda: "/state/" in read(keyfile) and time.time() - os.stat(keyfile).st_mtime > 1,
                 what="mousepad's own settings")
        with SlowDisk(folder, read_bps=1 << 20) as slow, tracing(editor.pid, threshold="50ms") as trace:
            slow.hold(editor.pid)
            for number in range(8):  # it may overwrite them with its own, or find them in memory
                ours, began = write_settings(keyfile, number % 2 == 0, 400000), time.monotonic()
                with Moment() as moment:
                    wait_for(lambda: is_cached(keyfile), what="mousepad's read of its settings")
                    was_slow = time.monotonic() - began > 0.2
                    # It is done when it waits again. Until then it may load fonts, and may write
                    # its own settings.
                    wait_for(lambda: "poll" in read(f"/proc/{editor.pid}/wchan"), what="mousepad's wait")
                    time.sleep(0.1)
                    wait_for(lambda: "poll" in read(f"/proc/{editor.pid}/wchan"), what="mousepad's wait")
                if was_slow and os.stat(keyfile).st_ino == ours:
                    break
            else:
                moment = None
    finally:
        if editor:
            end(editor)
        screen.end()
    check_trace(tap, trace, "mousepad")
    if not moment:
        tap.skip("mousepad, its settings on a slow disk", "it overwrote each version, or found it in memory")
        return
    check_incident(tap, Truth("mousepad, its settings on a slow disk", ["disk"], whats=["read"], calls=["read"],
                              path=keyfile, words=["keyfile"]), moment.block(trace.blocks))


def node(tap, folder):
    cold = write_cold(f"{folder}/cold")
    server = NodeServer(folder, cold)
    moments = {}
    try:
        server.get("/make-large")
        with SlowDisk(folder, read_bps=READ_BPS) as slow, tracing(server.process.pid) as trace:
            for path in ("exec", "parse-large"):
                with Moment() as moments[path]:
                    server.get(f"/{path}")
            slow.hold(server.process.pid)
            with Moment() as moments["file"]:
                server.get("/file")
    finally:
        server.end()
    check_trace(tap, trace, "node", "node", "node", "libuv")
    for path, truth in (
            ("file", Truth("node, readFileSync on a slow disk", ["disk"], whats=["read"], calls=["read", "pread64"],
                           path=cold, words=["cold"])),
            ("exec", Truth("node, execSync", ["child"], at_least_ms=200, calls=["epoll_wait", "epoll_pwait"],
                           words=["sleep"])),
            # V8 decides how much of it collects garbage: about half.
            ("parse-large", Truth("node, JSON.parse of 50 MB", ["cpu"], whats=[None, "gc"], seen=["JsonParse"]))):
        check_incident(tap, truth, moments[path].block(trace.blocks))


def node_gc(tap, folder):
    """Live objects leave little room in the heap, so garbage costs collections, partly spent in
    waiting for helper threads. V8 decides how many, so the test asks for some more."""
    server = NodeServer(folder, "/dev/null", "--max-old-space-size=210", "--expose-gc")
    try:
        for path in ("observe", "keep", "churn", "collections"):
            server.get(f"/{path}")
        with tracing(server.process.pid) as trace:
            with Moment() as moment:
                server.get("/collect")
            collections = json.loads(server.get("/collections").split(b"\r\n\r\n")[-1])
    finally:
        server.end()
    check_trace(tap, trace, "node near its heap's end", "node", "node", "libuv")
    block = moment.block(trace.blocks)
    collecting = sum(each["ms"] for each in collections)
    tap.note(f"node reports that its collector took {collecting:.1f} ms")
    whole = (block or {}).get("duration_ns", 0) / MS
    if not tap.measured(collecting > 0.4 * whole, "node, GC: there is much to collect", f"{collecting:.1f} of {whole:.1f} ms"):
        return
    check_incident(tap, Truth("node, long GC", ["cpu", "futex"], whats=["gc"], seen=["MarkCompact", "Heap"], words=["garbage"]), block)


def ask(path, line):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(path)
        client.sendall(line.encode() + b"\n")
        return client.recv(4096)


def asyncio(tap, folder):
    path, port = f"{folder}/socket", free_port()
    slow = start([PYTHON, f"{HERE}/programs/slow_http.py", str(port), "0.3"])
    server = start([PYTHON, f"{HERE}/programs/handlers.py", path])
    moments = {}
    try:
        wait_for(lambda: answers(socket.AF_UNIX, path) and answers(socket.AF_INET, ("127.0.0.1", port)),
                 what="the servers' answers")
        ask(path, f"ask http://127.0.0.1:{port}/")  # modules are loaded now
        with tracing(server.pid) as trace:
            for name, line in (("nap", "nap"), ("ask", f"ask http://127.0.0.1:{port}/")):
                with Moment() as moments[name]:
                    ask(path, line)
    finally:
        end(server)
        end(slow)
    check_trace(tap, trace, "asyncio")
    check_incident(tap, Truth("asyncio, time.sleep", ["sleep"], at_least_ms=300, calls=["clock_nanosleep"],
                              words=["slept"]), moments["nap"].block(trace.blocks))
    check_incident(tap, Truth("asyncio, requests to a slow server", ["poll", "socket"], at_least_ms=300,
                              calls=["poll", "recvfrom"], peer=f"127.0.0.1:{port}", culprit=slow.pid,
                              words=["slow-http"]), moments["ask"].block(trace.blocks))


INCIDENTS = {
    "redis-memory": (redis_memory, ["redis-server", "redis-cli"], False),
    "redis-append": (redis_append, ["redis-server", "redis-cli"], True),
    "nginx": (nginx, ["nginx"], True),
    "gtk": (gtk, ["mousepad", "Xvfb"], True),
    "node": (node, ["node"], True),
    "node-gc": (node_gc, ["node"], False),
    "asyncio": (asyncio, [PYTHON], False),
}


def main():
    need()
    tap = Tap()
    only = os.environ.get("INCIDENTS")
    for name, (run, programs, disk) in INCIDENTS.items():
        if only and name not in only.split(","):
            continue
        # A folder on a disk, which /tmp need not be.
        with tempfile.TemporaryDirectory(prefix="jank-incident-", dir="/var/tmp") as folder:
            missing = [each for each in programs if not shutil.which(each)]
            if missing or disk and why_not(folder):
                tap.skip(name, f"not installed: {', '.join(missing)}" if missing else why_not(folder))
                continue
            run(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
