# SPDX-License-Identifier: GPL-2.0
"""An agent that traces simjank in a cgroup and sends its spool to a cluster, and what of it arrived."""
import http.client
import json
import os
import signal
import subprocess
import time

import bad
import clickhouse
import spool
from agents import Agent
from bad import ok
from group import Group

ARRIVES_S = 420  # the longest back-off of the sender, and more


class Fleet:
    """simjank in a cgroup, and an agent whose spool goes to the cluster. Their directories have this name."""

    def __init__(self, name, cluster, scenario="sleep:25ms", gap="25ms", folder=None, threads=1, **keys):
        self.name, self.cluster = name, cluster
        self.group = Group(f"jankbpf-{name}-{os.getpid()}")
        self.spool = folder or bad.scratch(f"{name}-spool")
        self.truth_path = bad.scratch(f"{name}.truth")
        self.store = {"spool": self.spool, "interval": "1s", **keys}
        self.agent = None
        reader, writer = os.pipe()
        self.simjank = self.group.start(bad.SIMJANK, "--quiet", "--scenario", scenario, "--gap", gap, "--short-rate", "0", "--threads",
                                        str(threads), "--duration", "1h", "--truth", self.truth_path, "--truth-min", "20ms", "--wait", "--ready-fd", str(writer),
                                        pass_fds=[writer])
        bad.STARTED.append(self.simjank)
        os.close(writer)
        with os.fdopen(reader, encoding="ascii") as ready:
            ready.readline()

    def config(self, **sections):
        """A line for each shard, with its replicas."""
        shards = [" ".join(server.url for server in shard) for shard in self.cluster.shards] if self.cluster else []
        sends = {"clickhouse": {"url": "\nurl = ".join(shards), "timeout": "10s"}} if shards else {}
        return {"block": {"threshold": "20ms"}, "limits": {"records-per-signature": 0, "records-per-second": 0}, "store": dict(self.store),
                **sends, **sections}

    def start(self, wait=True, **sections):
        self.agent = Agent(self.name, self.group, self.config(**sections), wait=wait)
        return self.agent

    def begin(self):
        """simjank begins."""
        self.simjank.send_signal(signal.SIGUSR1)

    def stop(self):
        """Ends simjank, then the agent. The agent's result."""
        self.simjank.send_signal(signal.SIGTERM)
        self.simjank.wait(30)
        result = self.agent.tracer.stop(signal.SIGTERM, 30)
        self.group.remove()
        return result

    def truth(self):
        """Dispatches of more than 20 ms, in order of time."""
        with open(self.truth_path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return sorted((r for r in records if r["type"] == "dispatch"), key=lambda r: r["begin_ns"])

    def agent_id(self):
        with open(f"{self.spool}/agent", encoding="ascii") as file:
            return file.read().strip()

    def ask(self, what, table="blocks", server=None, more=""):
        server = server or next(server for server in self.cluster.servers if server.runs())
        return server.value(f"SELECT {what} FROM jankbpf.{table}{more} WHERE agent = '{self.agent_id()}'")

    def arrived(self, server=None):
        return self.ask("count()", server=server)

    def count_now(self):
        """-1: no server can say it now."""
        try:
            return self.arrived()
        except (clickhouse.Failed, OSError, http.client.HTTPException, StopIteration):
            return -1

    def wait_grown(self, least, seconds=60):
        """Until so many more blocks are at the cluster."""
        before = clickhouse.until(lambda: self.count_now() + 1, f"{self.name}: no server counts", seconds) - 1
        return clickhouse.until(lambda: self.count_now() >= before + least, f"{self.name}: no block arrives: {self.agent.tracer.stderr()}", seconds)

    def wait_all(self, seconds=ARRIVES_S):
        """Until the agent's sender has sent what is in the batches of the spool now. (Did it, batches that waited, seconds)."""
        begin, last, first = time.monotonic(), spool.last_batch(self.spool), position(self.spool)
        sent = bad.wait_for(lambda: position(self.spool) >= last, seconds)
        return sent, last - first, time.monotonic() - begin


def position(folder):
    try:
        with open(f"{folder}/clickhouse.position", encoding="ascii") as file:
            return int(dict(line.split() for line in file.readlines()[1:])["batch"])
    except FileNotFoundError:
        return 0


def send_rest(fleet):
    """What the agent had no time for at its end, by jankbpf send."""
    words = [word for shard in fleet.cluster.shards for word in ("--clickhouse-url", " ".join(server.url for server in shard))]
    return subprocess.run([bad.JANK, "send", "--spool", fleet.spool, *words, "--timeout", "60s"], capture_output=True, text=True,
                              timeout=90, check=False)


def check_arrived(fleet, name):
    """Each block of the spool is in the cluster, once."""
    cluster = fleet.cluster
    want = spool.rows(spool.closed(fleet.spool))
    cluster.synced()
    rows = cluster.servers[0].rows(f"SELECT batch, nr, start_ns FROM jankbpf.blocks WHERE agent = '{fleet.agent_id()}'")
    got = {(row["batch"], row["nr"]) for row in rows}
    ok(got == set(want) and len(want) > 20, f"{name}: each of {len(want)} blocks of the spool arrived",
       f"missing {sorted(set(want) - got)[:20]}, too many {sorted(got - set(want))[:20]}")
    counts = [(fleet.arrived(server), fleet.ask("uniqExact(agent, batch, nr)", server=server)) for server in cluster.servers]
    ok(counts == [(len(want), len(want))] * len(counts), f"{name}: each server counts none twice", (counts, len(want)))
    final = fleet.ask("count()", more=" FINAL")
    ok(final == len(want), f"{name}: nor with FINAL", final)
    copies = sum(fleet.ask("count()", "blocks_local", server) for server in cluster.servers)
    ok(copies == 2 * len(want), f"{name}: both replicas have them", copies)
    return want
