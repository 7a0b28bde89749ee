#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A backend that is away, while a real agent traces: a cluster of ClickHouse that is stopped, replicas that are killed
in the middle of inserts, and a ZooKeeper that is away. All blocks of the spool arrive, and none is counted twice.

OUTAGE_S: for so many seconds all replicas are away (30). The project's goal: make check-fleet T=outage.t OUTAGE_S=600
TEST_TIMEOUT=1800."""
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import clickhouse
from bad import ok
from outage import Fleet, check_arrived, send_rest

OUTAGE_S = float(os.environ.get("OUTAGE_S", "30"))
AWAY_S = 20


def whole(fleet, truth, records):
    """The spool has each dispatch that simjank made while the agent ran."""
    blocks = [{"start_ns": r.block.start_ns, "duration_ns": r.block.duration_ns} for r in records.values() if r.HasField("block")]
    begins = [r["begin_ns"] for r in truth]
    missing = bad.missing(begins, blocks)
    ok(len(begins) > 20 and not missing, f"{fleet.name}: the spool has each of {len(begins)} blocks that happened", missing[:20])


def is_cut(fleet):
    return "records wait in the spool" in fleet.agent.tracer.stderr()


def test_all_away(fleet):
    """Tells how long it took."""
    cluster = fleet.cluster
    fleet.wait_grown(5)
    for server in cluster.servers:
        server.process.kill()
    begin = time.monotonic()
    ok(bad.wait_for(lambda: is_cut(fleet)), "all away: the agent says so", fleet.agent.tracer.stderr())
    time.sleep(max(0, OUTAGE_S - (time.monotonic() - begin)))
    for server in cluster.servers:
        server.start()
    back = time.monotonic()
    fleet.wait_grown(5, 400)
    bad.RESULTS.note(f"all away for {back - begin:.0f} s: the first block arrived {time.monotonic() - back:.0f} s after they were back")
    sent, batches, took = fleet.wait_all()
    ok(sent, f"all away: what waits in the spool is sent: {batches} batches in {took:.1f} s", batches)


def test_replicas(fleet):
    """The replica that gets the inserts is killed while they come, then the other one is restarted."""
    rand = random.Random(17)
    for _ in range(2):
        for first, second in fleet.cluster.shards:
            fleet.wait_grown(2)
            time.sleep(rand.uniform(0, 0.5))
            first.process.kill()
            fleet.wait_grown(5)
            first.start()
            second.stop()
            second.start()
    fleet.wait_grown(5)


def test_zookeeper(fleet):
    """Tables are read-only: ClickHouse answers 500."""
    cluster = fleet.cluster
    fleet.wait_grown(2)
    seen = len(fleet.agent.tracer.stderr())
    cluster.zookeeper.kill()
    begin = time.monotonic()
    said = bad.wait_for(lambda: "answered 500" in fleet.agent.tracer.stderr()[seen:], 60)
    ok(said, "ZooKeeper away: ClickHouse answers 500", fleet.agent.tracer.stderr()[seen:])
    time.sleep(max(0, AWAY_S - (time.monotonic() - begin)))
    cluster.zookeeper = cluster.start_zookeeper()
    begin = time.monotonic()
    fleet.wait_grown(5, 400)
    bad.RESULTS.note(f"ZooKeeper away: the first block arrived {time.monotonic() - begin:.0f} s after it was back")


def main():
    missing = clickhouse.missing()
    if missing:
        bad.skip("a cluster of ClickHouse", f"no {missing}: make deps-fleet")
        return
    bad.need_tracing()
    cluster = clickhouse.Cluster(2, 2)
    cluster.apply_schema()
    fleet = Fleet("outage", cluster)
    fleet.start()
    fleet.begin()
    test_all_away(fleet)
    test_replicas(fleet)
    test_zookeeper(fleet)
    result = fleet.stop()
    ok(result.status == 0, "the agent ends", result)
    done = send_rest(fleet)
    ok(done.returncode == 0 and " 0 refused, 0 left" in done.stdout, "nothing was refused, nothing is left", done)
    whole(fleet, fleet.truth(), check_arrived(fleet, "outage"))
    cluster.end()


main()
bad.done()
