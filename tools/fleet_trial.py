#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a cluster of two shards and two replicas takes from a fleet: `fleet_trial.py [AGENTS]`, as root, on a machine with
nothing else to do, with TMPDIR in memory (after a run has deleted its files, ext4 looks for new inodes for minutes). A
trace of simjank is the journal that each agent replays into a spool of its own, and sends. Prints records each second,
bytes of a block in the spool, and whether each block is stored once."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "lib"))
import clickhouse

JANKBPF, SIMJANK = (os.path.join(HERE, "..", name) for name in ("jankbpf", "simjank"))
SCENARIOS = "sleep:6ms,mutex:7ms,pipe:6ms,busy:6ms,poll:8ms,disk:6ms"
THRESHOLD = ("-t", "5ms")


def record(folder):
    journal = os.path.join(folder, "run.jnl")
    subprocess.run([JANKBPF, "-q", *THRESHOLD, "-d", "12", "--journal", journal, "--", SIMJANK, "--quiet", "--scenario", SCENARIOS,
                    "--gap", "1ms", "--count", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return journal


def start(journal, spool, urls):
    """An agent: it replays as fast as it can, and sends until all is there."""
    send = f'"$0" replay -q {" ".join(THRESHOLD)} --spool "$1" "$2" >/dev/null && exec "$0" send -q --spool "$1" '
    send += " ".join(f"--clickhouse-url '{url}'" for url in urls)
    return subprocess.Popen(["sh", "-c", send, JANKBPF, spool, journal], stdout=subprocess.DEVNULL)


def main():
    agents = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cluster = clickhouse.Cluster()
    cluster.apply_schema()
    urls = [" ".join(server.url for server in shard) for shard in cluster.shards]
    with tempfile.TemporaryDirectory(prefix="jankbpf-fleet-") as folder:
        journal = record(folder)
        begin = time.monotonic()
        running = [start(journal, os.path.join(folder, f"spool-{nr}"), urls) for nr in range(agents)]
        failed = sum(bool(process.wait()) for process in running)
        seconds = time.monotonic() - begin
        spooled = subprocess.run(["sh", "-c", 'cat "$0"/spool-*/*.spool | wc -c', folder], capture_output=True, text=True, check=True)
    cluster.synced()
    first = cluster.servers[0]
    rows = first.value("SELECT count() AS n FROM jankbpf.blocks")
    once = first.value("SELECT uniqExact(agent, batch, nr) AS n FROM jankbpf.blocks")
    by_agent = first.rows("SELECT agent, count() AS n FROM jankbpf.blocks GROUP BY agent")
    stored = [server.value("SELECT count() AS n FROM jankbpf.blocks_local") for server in cluster.servers]
    print(f"{agents} agents, {failed} failed: {rows} blocks in {seconds:.1f} s, {rows / seconds:.0f} each second; "
          f"{int(spooled.stdout) / max(rows, 1):.0f} bytes of a block in the spool")
    print(f"stored once: {once == rows}; agents {len(by_agent)}, blocks of each {sorted({row['n'] for row in by_agent})}; "
          f"replicas {stored}")


main()
