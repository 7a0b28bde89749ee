#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""An agent that is killed 20 times, and one whose disk is full, with a real cluster of ClickHouse: what was in the spool
arrives once, and what was dropped is counted."""
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import clickhouse
import spool
from bad import ok
from outage import Fleet, check_arrived, send_rest
from own import alive, own_pids

KILLS = int(os.environ.get("OUTAGE_KILLS", "20"))


# --- kills

def kill_all(fleet, rand):
    """SIGKILL for the agent and each process that works for it, in any order."""
    pids = own_pids(fleet.agent.pid)
    rand.shuffle(pids)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    fleet.agent.process.wait()
    bad.wait_for(lambda: not any(map(alive, pids)))
    return len(pids)


def key_of(record):
    block = spool.block_of(record)
    return block.tid, block.start_ns


class Run:
    """What one life of the agent wrote."""

    def __init__(self, before, after):
        self.begins = sorted(spool.block_of(record).start_ns for key, record in after.items() if key not in before)


def test_kills(cluster):
    """At random moments, most of them while blocks flow."""
    rand = random.Random(17)
    fleet = Fleet("kills", cluster)
    fleet.begin()
    before, runs, acknowledged, ends = {}, [], {}, []
    for nr in range(KILLS):
        starts = nr % 5 == 4  # killed while it starts, too
        fleet.start(wait=not starts)
        if not starts:
            first = len(spool.rows(spool.stored(fleet.spool)))
            bad.wait_for(lambda first=first: len(spool.rows(spool.stored(fleet.spool))) > first + 2)
        time.sleep(rand.uniform(0, 1.5))
        kill_all(fleet, rand)
        ends.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        now = spool.rows(spool.stored(fleet.spool))
        acknowledged.update({key: key_of(record) for key, record in now.items()})
        runs.append(Run(before, now))
        before = now
    fleet.start()
    fleet.wait_grown(3)
    result = fleet.stop()
    done = send_rest(fleet)
    ok(result.status == 0 and done.returncode == 0 and " 0 refused, 0 left" in done.stdout, f"killed {KILLS} times: all is sent", (result, done))
    want = check_arrived(fleet, f"killed {KILLS} times")
    changed = {key: old for key, old in acknowledged.items() if key not in want or key_of(want[key]) != old}
    ok(len(acknowledged) > KILLS and not changed, f"each of {len(acknowledged)} blocks that a kill found in the spool is there, in its place", changed)
    runs.append(Run(before, want))
    keys = [key_of(record) for record in want.values()]
    ok(len(set(keys)) == len(keys), "no block is in the spool twice", len(keys) - len(set(keys)))
    check_gaps(fleet, runs, ends)


def check_gaps(fleet, runs, ends):
    """Of what happened between the first and the last block of a life, none is missing; at a kill, only the last ones."""
    truth = [r["begin_ns"] for r in fleet.truth()]
    full = [run for run in runs if run.begins]
    missing, lost = [], []
    for run in full:
        have = set()
        for begin in run.begins:
            have.add(min(truth, key=lambda ns, begin=begin: abs(ns - begin)))
        missing += [ns for ns in truth if min(have) <= ns <= max(have) and ns not in have]
    for run, end in zip(runs, ends):
        if run.begins:
            lost.append(sum(run.begins[-1] + 10**7 < ns < end - 30 * 10**6 for ns in truth))
    ok(not missing and len(full) > len(runs) // 2, "nothing is missing between the blocks of a life", (len(missing), len(full)))
    bad.RESULTS.note(f"blocks that ended before a kill and were not in the spool: {sum(lost)} of {sum(len(r.begins) for r in full)}; at one kill at most "
                     f"{max(lost)}")


# --- the disk

def metric(path, name):
    with open(path, encoding="ascii") as file:
        found = [float(line.split()[-1]) for line in file if line.startswith(name)]
    return found[0] if found else 0


def total(records, reason):
    return sum(record.get("lost", {}).get(reason, 0) for record in records)


def check_counts(fleet, result, prom, reason, stored):
    """The counts of a reason, in intervals, summary and metrics. Returns that of the summary."""
    summaries, intervals = fleet.agent.records("summary"), fleet.agent.records("interval")
    ok(result.status == 0 and len(summaries) == 1 and intervals, f"{fleet.name}: the agent ends, with its summary", result)
    lost = total(summaries, reason)
    records = len(fleet.agent.records())
    ok(lost > 0 and stored + lost == records, f"{fleet.name}: {stored} records that are stored and {lost} of {reason} are all {records} records",
       (stored, lost, records))
    told = total(intervals, reason)  # a batch may go between the last interval and the summary
    ok(told == lost or (reason == "spool_full" and lost - told < stored), f"{fleet.name}: so say the intervals", (told, lost))
    value = metric(prom, f'jankbpf_lost_total{{reason="{reason}"}}')
    ok(value == told, f"{fleet.name}: and the metrics", (value, told))
    blocks = {block["start_ns"] for block in fleet.agent.records("block")}
    ok(summaries[0]["blocks"] == len(blocks), f"{fleet.name}: the tracer's own count is that of the directory, which had room",
       (summaries[0]["blocks"], len(blocks)))
    return lost


def prom_of(name):
    folder = bad.scratch(f"{name}-prom")
    os.mkdir(folder)
    return f"{folder}/jankbpf.prom", {"metrics": {"listen": "off", "textfile": f"{folder}/jankbpf.prom"}}


def test_disk_full(cluster):
    """A spool on a tmpfs of 1 MB, where another file takes the room."""
    folder = bad.scratch("full")
    os.mkdir(folder, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", folder], check=True)
    fleet = Fleet("disk-full", cluster, folder=f"{folder}/spool")
    prom, sections = prom_of("full")
    fleet.start(**sections)
    fleet.begin()
    fleet.wait_grown(3)
    with open(f"{folder}/filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    said = bad.wait_for(lambda: fleet.agent.said("could not be written"), 60)
    bad.wait_for(lambda: total(fleet.agent.records("interval"), "unwritten_records") > 20)
    os.unlink(f"{folder}/filler")
    fleet.wait_grown(10)
    result = fleet.stop()
    done = send_rest(fleet)
    ok(said and done.returncode == 0, "disk full: the agent says so, and what is in the spool is sent later", (result, done))
    check_arrived(fleet, "disk full")
    check_counts(fleet, result, prom, "unwritten_records", len(spool.stored(fleet.spool)))
    subprocess.run(["umount", folder], check=True)


def test_spool_full(cluster):
    """A spool of 1 MB, while the backend is away: the oldest batches go. Some hundred blocks a second."""
    away = clickhouse.free_ports(1)[0]
    fleet = Fleet("spool-full", cluster, "sleep:21ms", "9ms", threads=16, **{"spool-max": "1M"})
    prom, sections = prom_of("spool-full")
    fleet.start(clickhouse={"url": f"http://127.0.0.1:{away}"}, **sections)
    fleet.begin()
    dropped = bad.wait_for(lambda: total(fleet.agent.records("interval"), "spool_full") > 200, 120)
    result = fleet.stop()
    ok(dropped, "spool full: records are dropped", result)
    check_counts(fleet, result, prom, "spool_full", len(spool.stored(fleet.spool)))
    done = send_rest(fleet)
    ok(done.returncode == 0 and " 0 refused, 0 left" in done.stdout, "spool full: the others are sent", done)
    check_arrived(fleet, "spool full")


def main():
    missing = clickhouse.missing()
    if missing:
        bad.skip("a cluster of ClickHouse", f"no {missing}: make deps-fleet")
        return
    bad.need_tracing()
    cluster = clickhouse.Cluster(2, 2)
    cluster.apply_schema()
    test_kills(cluster)
    test_disk_full(cluster)
    test_spool_full(cluster)
    cluster.end()


main()
bad.done()
