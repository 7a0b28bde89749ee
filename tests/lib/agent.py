# SPDX-License-Identifier: GPL-2.0
"""A running `jankbpf agent` that traces only a cgroup of the test's own."""
import json
import os
import socket

import bad


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


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
