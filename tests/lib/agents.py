# SPDX-License-Identifier: GPL-2.0
"""A running `jankbpf agent` for live tests, with a configuration and a directory of its own."""
import json
import os
import socket
import subprocess

import bad
from group import Group


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Manager:
    """A service manager's end of $NOTIFY_SOCKET."""

    def __init__(self):
        self.path = bad.scratch("notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.seen = []

    def saw(self, word):
        """Did a message with this line come, since the last call that found one?"""
        self.sock.setblocking(False)
        try:
            while True:
                self.seen.append(self.sock.recv(4096).decode())
        except BlockingIOError:
            pass
        for i, message in enumerate(self.seen):
            if any(line.startswith(word) for line in message.split("\n")):
                del self.seen[: i + 1]
                return message
        return None

    def wait(self, word, seconds=30):
        found = []
        bad.wait_for(lambda: found.append(self.saw(word)) or found[-1], seconds)
        return found[-1]


class Agent:
    """A running agent, with its configuration and directory."""

    def __init__(self, name, group, config, manager=None, **options):
        self.dir, self.path = bad.scratch(name), bad.scratch(name + ".conf")
        self.group = group
        self.configure(config)
        env = dict(os.environ, NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="400000") if manager else None
        self.tracer = bad.Tracer("agent", "--config", self.path, env=env, **options)
        self.process, self.pid = self.tracer.process, self.tracer.pid

    def configure(self, config):
        config.setdefault("metrics", {"listen": "off"})
        config.setdefault("agent", {"control": "off"})
        config["select"] = {"all": "yes", "cgroup": self.group.path, **config.get("select", {})}
        config.setdefault("store", {})["output"] = self.dir
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            for section, keys in config.items():
                file.write(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
        os.chmod(self.path + ".new", 0o600)
        os.rename(self.path + ".new", self.path)

    def records(self, kind=None):
        path = os.path.join(self.dir, "blocks.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file.read().split("\n")[:-1]]
        return [r for r in records if kind in (None, r["type"])]

    def said(self, text):
        return text in self.tracer.stderr()


def total(records, field):
    return sum(record[field] for record in records)


class Redis:
    """A redis-server in a cgroup, with a connection to it."""

    def __init__(self, group, name="redis", *options, env=None, program="redis-server"):
        self.folder = bad.scratch(name)
        os.mkdir(self.folder)
        path = os.path.join(self.folder, "socket")
        self.process = group.start(program, "--port", "0", "--unixsocket", path, "--dir", self.folder, "--save", "",
                                   "--enable-debug-command", "yes", *options, stdout=subprocess.DEVNULL, env=env)
        bad.STARTED.append(self.process)
        self.pid = self.process.pid
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        if not bad.wait_for(lambda: os.path.exists(path) and not self.sock.connect_ex(path)):  # it is bound before it listens
            raise OSError("redis-server does not start")

    def do(self, *words):
        """One request; waits for its answer."""
        self.sock.sendall((" ".join(words) + "\r\n").encode())
        return self.sock.recv(4096)

    def ping(self):
        return self.do("PING") == b"+PONG\r\n"

    def stall(self, seconds):
        """Redis' loop sleeps in a handler."""
        return self.do("DEBUG", "SLEEP", str(seconds))

    def end(self):
        self.sock.close()
        bad.end(self.process)


def redis_in_group(name, **more):
    """A cgroup of the test's own and a redis-server in it. Skips the test where one of them cannot be had."""
    try:
        group = Group(f"jankbpf-{name}-test-{os.getpid()}")
        return group, Redis(group, **more)
    except OSError as error:
        bad.skip_all(f"no cgroup of our own, or no redis-server: {error}")
