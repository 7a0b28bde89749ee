#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the questions of `jankbpf fleet` take on many blocks: `fleet_scale.py [BLOCKS [RUNS]]`, 10 million and 5 by
default, as root, on a machine with nothing else to do. The rows are made by ClickHouse, on two shards of two replicas:
3,000 signatures with the frequencies of a power law, 400 hosts, two versions, rows of loops for a fifth of the blocks.
Prints the clock's time of each question, median and longest, and the CPU of servers and front end of the median run."""
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "lib"))
import clickhouse

JANKBPF = os.path.join(HERE, "..", "jankbpf")
HOSTS, SIGNATURES, PROCESSES = 400, 3000, 30
CHUNK = 500_000
HZ = os.sysconf("SC_CLK_TCK")

# n: number of the row; s: of the signature; h: of the host; at: seconds since the first row.
BLOCKS = """INSERT INTO jankbpf.blocks_local (time, start_ns, agent, batch, nr, host, kernel, unit, process, service, version, loop,
    message, kind, what, signature, function, delay_ns, client_ns, duration_ns, running_ns, futex_ns, stacks, stack_ns, sentence)
SELECT toDateTime({first} + at), toUInt64({first} + at) * 1000000000 + n % 1000000007, toString(h), intDiv(n, 1000), n % 1000,
    concat('host-', toString(h)), '6.18.5', concat('unit-', toString(s % {processes}), '.service'),
    concat('process-', toString(s % {processes})), 'shop', if(n % 2 = 0, '1.0', '1.1'), 'epoll', 'read', 'lock', 'futex',
    lower(hex(cityHash64(s))), concat('function_', toString(s)), delay, delay * 2, delay, intDiv(delay, 3),
    delay - intDiv(delay, 3), [cityHash64(s), cityHash64(s, n % 5)], [delay, intDiv(delay, 2)],
    concat('main thread waited in function_', toString(s))
FROM (SELECT number + {begin} AS n, toUInt32(exp((intHash32(n) % 10007) / 10007 * log({signatures}))) - 1 AS s,
    intHash32(n + 77) % {hosts} AS h, intHash32(n + 99) % {seconds} AS at,
    toUInt64(5000000 * exp((intHash32(n + 55) % 4096) / 1000) * (1 + (s % 100 = 7 AND n % 2 = 1))) AS delay
    FROM system.numbers LIMIT {count})"""
LOOPS = """INSERT INTO jankbpf.loops_local (time, start_ns, elapsed_ns, agent, batch, nr, item, host, unit, process, service, version,
    loop, threshold_ns, dispatches, blocks, max_ns, buckets, counts)
SELECT toDateTime({first} + at), toUInt64({first} + at) * 1000000000, 10000000000, toString(h), intDiv(n, 1000), n % 1000, p,
    concat('host-', toString(h)), concat('unit-', toString(p), '.service'), concat('process-', toString(p)), 'shop',
    if(n % 2 = 0, '1.0', '1.1'), 'epoll', 5000000, 20000, 5, 50000000,
    arrayMap(x -> toUInt16(200 + x * 9 + n % 7), range(20)), arrayMap(x -> toUInt64(2000 - x * 90), range(20))
FROM (SELECT number + {begin} AS n, intHash32(n + 77) % {hosts} AS h, intHash32(n + 11) % {processes} AS p,
    intDiv(intHash32(n + 99) % {seconds}, 10) * 10 AS at FROM system.numbers LIMIT {count})"""


def fill(cluster, blocks, first, seconds):
    """Half of the rows on each shard, with time for the merges."""
    values = {"first": first, "seconds": seconds, "hosts": HOSTS, "signatures": SIGNATURES, "processes": PROCESSES}
    for sql, rows in ((BLOCKS, blocks), (LOOPS, blocks // 5)):
        for nr, begin in enumerate(range(0, rows, CHUNK)):
            server = cluster.shards[nr % len(cluster.shards)][0]
            server.post("/?max_block_size=1048576", sql.format(begin=begin, count=min(CHUNK, rows - begin), **values).encode(), 600)
    cluster.synced()
    clickhouse.until(lambda: not any(server.value("SELECT count() AS n FROM system.merges") for server in cluster.servers),
                     "merges do not end", 600)


def cpu_of(pids):
    """Seconds, with those of children that ended."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += sum(map(int, fields[11:15]))
    return total / HZ


def measure(cluster, words, runs):
    """[(seconds, seconds of CPU)], in order."""
    pids = [server.process.process.pid for server in cluster.servers] + [os.getpid()]
    took = []
    for _ in range(runs):
        before, begin = cpu_of(pids), time.monotonic()
        done = subprocess.run([JANKBPF, "fleet", *words, "--clickhouse-url", cluster.servers[0].url, "--since", "24h"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        seconds = time.monotonic() - begin
        if done.returncode not in (0, 3) or len(done.stdout.splitlines()) < 3:
            sys.exit(f"fleet {' '.join(words)}: status {done.returncode}: {done.stderr}{done.stdout}")
        took.append((seconds, cpu_of(pids) - before))
    return sorted(took)


def main():
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = 20 * 3600
    cluster = clickhouse.Cluster(memory=4 << 30)
    cluster.apply_schema()
    begin = time.monotonic()
    fill(cluster, blocks, int(time.time()) - seconds - 60, seconds)
    first = cluster.servers[0]
    stored, signatures, parts = (first.value(sql) for sql in (
        "SELECT count() AS n FROM jankbpf.blocks", "SELECT uniqExact(signature) AS n FROM jankbpf.blocks",
        "SELECT count() AS n FROM system.parts WHERE active AND table = 'blocks_local'"))
    print(f"{stored} blocks of {signatures} signatures in {parts} parts of a server; filled in {time.monotonic() - begin:.0f} s")
    worst = first.value("SELECT signature FROM jankbpf.blocks GROUP BY signature ORDER BY sum(client_ns) DESC LIMIT 1")
    for words in (["top"], ["top", "--by", "host"], ["top", "--by", "version"], ["show", worst], ["diff", "1.0", "1.1"]):
        took = measure(cluster, words, runs)
        print(f"fleet {' '.join(words)}: median {statistics.median(s for s, _ in took):.2f} s, longest {took[-1][0]:.2f} s; "
              f"{took[len(took) // 2][1]:.2f} s of CPU", flush=True)


main()
