#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""ClickHouse in two shards of two replicas: what the encoder makes is stored once, whatever happens to replicas, and
jankbpf fleet finds the seeded truth in it."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../lib"))
import clickhouse
from tap import Tap

JANK = os.path.join(ROOT, "jankbpf")
ENCODE = os.path.join(ROOT, os.environ.get("FLEET_ENCODE", ".output/rel/tests/fleet/encode"))
PARTS = {"stacks": "stacks", "blocks": "blocks", "intervals": "intervals", "loops": "loops", "left_out": "left_out"}
NOW = int(time.time())
SINCE = NOW - 7200
HOSTS, SLOTS = 48, 6
EQUAL, MORE, LONGER, COUNTED = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc", "dddddddddddddddd"
STALL, BULK, HANGS, MANY = "1111111111111111", "2222222222222222", "3333333333333333", "4444444444444444"
HOSTILE = "it's \\ \"q\" \x1b[31m\n\t\x01{limit} \u2028 -- ;"
tap = Tap()


def compiled_schema():
    """The messages of schema/blockinfo.proto."""
    where = tempfile.mkdtemp(prefix="jankbpf-proto-")
    subprocess.run(["protoc", f"--proto_path={ROOT}/schema", f"--python_out={where}", "blockinfo.proto"], check=True)
    sys.path.insert(0, where)
    import blockinfo_pb2
    return blockinfo_pb2


def rfc3339(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000+00:00", time.gmtime(seconds))


class Batch:
    """Records of an agent, and the bodies that the encoder makes of them."""

    def __init__(self, pb, agent, number):
        self.pb, self.agent, self.number, self.records = pb, f"{agent:032x}", number, []

    def add(self):
        record = self.pb.Record(schema="jankbpf/1")
        self.records.append(record)
        return record

    def block(self, host, version, signature, at, delay_ns, process="redis-server", unit="redis.service"):
        block = self.add().block
        block.id = f"c0ffee00-1111-2222-3333-{host:012x}-{100 + host}-{at * 10**9 + len(self.records)}"
        block.start, block.start_ns = rfc3339(at), at * 10**9
        block.duration_ns, block.start_delay_ns, block.delay_ns = delay_ns, 0, delay_ns
        block.threshold_ns, block.host.name, block.host.kernel = 10**8, f"host-{host}", "6.1.0"
        block.pid = block.tid = 100 + host
        block.process = block.thread = process
        block.unit, block.loop, block.severity, block.version = unit, "epoll", "jank", version
        block.time.running_ns = delay_ns
        block.cause.kind, block.cause.signature = "cpu", signature
        block.cause.summary = f"It computed in do_{signature[0]}()."
        block.cause.share = 1
        block.cause.frame.function = f"do_{signature[0]}"
        sample = block.samples.add(t_ns=at * 10**9 + 1, state="running", cpu=0)
        for name in (f"do_{signature[0]}", "call", "aeMain", "main"):
            sample.stack.add(function=name, module="/usr/bin/redis-server", app=True)
        return block

    def interval(self, host, version, at, dispatches, left_out=0, process="redis-server", signature=COUNTED):
        interval = self.add().interval
        interval.start, interval.start_ns, interval.elapsed_ns = rfc3339(at), at * 10**9, 10**10
        interval.threshold_ns, interval.dispatches = 10**8, dispatches
        interval.host.name, interval.host.boot_id = f"host-{host}", f"boot-{host}"
        interval.lost.ring_full = 1
        loop = interval.loops.add(loop="epoll", process=process, unit="redis.service", dispatches=dispatches,
                                  version=version, max_ns=2 * 10**7)
        for end in (10**5, 10**6, 2 * 10**7):
            loop.buckets.add(upper_ns=end, count=dispatches // 3)
        if left_out:
            interval.left_out.add(signature=signature, process=process, unit="redis.service", loop="epoll", kind="disk",
                                  function=f"do_{signature[0]}", blocks=left_out, total_ns=left_out * 2 * 10**8, max_ns=2 * 10**8)
        return interval

    def bodies(self):
        """{part: bytes}"""
        path = os.path.join(tempfile.gettempdir(), f"jankbpf-batch-{os.getpid()}")
        with open(path, "wb") as file:
            for record in self.records:
                data = record.SerializeToString()
                file.write(varint(len(data)) + data)
        env = dict(os.environ, FLEET_AGENT=self.agent, FLEET_BATCH=str(self.number))
        ret = {}
        for part in PARTS:
            done = subprocess.run([ENCODE, "clickhouse", part, path], capture_output=True, env=env, check=False, timeout=60)
            if done.returncode not in (0, 3):
                raise RuntimeError(done.stderr)
            if done.returncode == 0:
                ret[part] = done.stdout
        os.unlink(path)
        return ret


def varint(number):
    ret = b""
    while number > 127:
        ret += bytes([number & 127 | 128])
        number >>= 7
    return ret + bytes([number])


def send(server, bodies):
    """As user/send does: each part of the batch."""
    for part, body in bodies.items():
        path = f"/?database=jankbpf&input_format_skip_unknown_fields=1&query=INSERT%20INTO%20{part}_local%20FORMAT%20JSONEachRow"
        status, text = server.post(path, body)
        if status != 200:
            raise clickhouse.Failed(f"{part}: {status} {text}")


def fleet(cluster, *words, url=None):
    return subprocess.run([JANK, "fleet", *words, "--clickhouse-url", url or cluster.servers[0].url], capture_output=True, text=True,
                          timeout=60, check=False)


def seed(pb, cluster):
    """48 hosts, half of them with each version. Returns how many blocks there are."""
    blocks = 0
    for host in range(HOSTS):
        new = host % 2
        batch = Batch(pb, host + 1, 1)
        for slot in range(SLOTS):
            at = SINCE + slot * 600
            batch.interval(host, f"1.{new}", at, 99999, left_out=2)
            for nr in range(5):
                batch.block(host, f"1.{new}", EQUAL, at + nr, 3 * 10**8 + (host * 7 + nr * 13) % 50 * 10**6)
            for nr in range(10 if new else 2):
                batch.block(host, f"1.{new}", MORE, at + 20 + nr, 2 * 10**8)
            for nr in range(3):
                batch.block(host, f"1.{new}", LONGER, at + 40 + nr, (1 + new) * 2 * 10**8 + (host + nr) % 10 * 10**6)
        blocks += sum(record.HasField("block") for record in batch.records)
        send(cluster.shards[host // 2 % 2][host % 3 % 2], batch.bodies())
    return blocks


def test_storage(pb, cluster, total):
    cluster.synced()
    counts = [server.value("SELECT count() FROM jankbpf.blocks_local") for server in cluster.servers]
    tap.check(counts[0] == counts[1] and counts[2] == counts[3] and sum(counts) == 2 * total and min(counts) > 0,
              "each replica has what its shard has", counts)
    asked = [server.value("SELECT count() FROM jankbpf.blocks") for server in cluster.servers]
    tap.check(asked == [total] * 4, "each server counts the blocks of all shards once", asked, total)
    first, second = cluster.shards[0]
    batch = Batch(pb, 1000, 1)
    for nr in range(50):
        batch.block(1000, "2.0", EQUAL, SINCE + nr, 10**9)
    bodies = batch.bodies()
    send(first, bodies)
    send(first, bodies)
    cluster.synced()
    send(second, bodies)
    cluster.synced()
    count = "SELECT count() FROM jankbpf.blocks WHERE host = 'host-1000'"
    tap.check(first.value(count) == 50, "a batch that is sent again, also to the other replica, is stored once", first.value(count))
    view = "SELECT sumMerge(blocks) FROM jankbpf.faults_hourly WHERE version = '2.0'"
    tap.check(first.value(view) == 50, "views count it once, too", first.value(view))
    status, text = first.post("/?database=jankbpf&insert_deduplicate=0&query=INSERT%20INTO%20blocks_local%20FORMAT%20JSONEachRow", bodies["blocks"])
    tap.check(status == 200 and first.value(count) == 100, "one that is older than what the table remembers is there twice", text)
    final = "SELECT count() FROM jankbpf.blocks_local FINAL WHERE host = 'host-1000'"
    tap.check(first.value(final) == 50, "but FINAL counts it once", first.value(final))
    first.ask("OPTIMIZE TABLE jankbpf.blocks_local FINAL")
    tap.check(first.value(count) == 50, "and after a merge so do all", first.value(count))


def test_outage(pb, cluster):
    first, second = cluster.shards[1]
    second.stop()
    batch = Batch(pb, 2000, 1)
    for nr in range(40):
        batch.block(2000, "2.1", EQUAL, SINCE + nr, 10**9)
    send(first, batch.bodies())
    count = "SELECT count() FROM jankbpf.blocks_local WHERE host = 'host-2000'"
    tap.check(first.value(count) == 40, "with a replica away the other one takes records")
    asked = cluster.servers[0].value("SELECT count() FROM jankbpf.blocks WHERE host = 'host-2000'")
    tap.check(asked == 40, "and questions are answered", asked)
    second.start()
    got = clickhouse.until(lambda: second.value(count) == 40, "the replica does not catch up")
    tap.check(got, "a replica that comes back gets what it missed")


def test_top(cluster):
    done = fleet(cluster, "top", "--json", "--since", "3h", "--process", "redis-server")
    rows = {row["signature"]: row for row in json.loads(done.stdout or "[]")}
    per_version = HOSTS // 2 * SLOTS
    truth = {EQUAL: 2 * per_version * 5 + 90, MORE: per_version * 12, LONGER: 2 * per_version * 3, COUNTED: 2 * per_version * 2}
    got = {key: row["blocks"] for key, row in rows.items()}
    tap.check(got == truth, "top counts each signature exactly, also what limits left out", got, truth, done.stderr)
    row = rows[MORE]
    dispatches = HOSTS * SLOTS * 99999
    rate = truth[MORE] * 1e6 / dispatches
    tap.check(row["dispatches"] == dispatches and abs(row["per_million"] - rate) < 1e-3 * rate and
              row["per_million_low"] < rate < row["per_million_high"] and row["hosts"] == HOSTS and
              row["client_ns"] == truth[MORE] * 2 * 10**8 and row["first_s"] == SINCE + 20, "its rate, hosts, time and first block", row)
    row = rows[COUNTED]
    tap.check(row["hosts"] == HOSTS and row.get("process") == "redis-server" and row["dispatches"] == dispatches and
              row.get("function") == "do_d" and "per_million" in row, "and of what limits left out", row)
    done = fleet(cluster, "top", "--since", "3h")
    tap.check(done.returncode == 0 and "do_b" in done.stdout and EQUAL in done.stdout.splitlines()[1] and "first seen" in done.stdout,
              "as text, the worst first", done)
    rows = json.loads(fleet(cluster, "top", "--json", "--since", "3h", "--by", "version", "--unit", "redis.service").stdout)
    got = {row["version"]: (row["blocks"], row["dispatches"]) for row in rows}
    tap.check(got["1.1"] == (per_version * 20, dispatches // 2) and got["1.0"] == (per_version * 12, dispatches // 2),
              "by version, with the blocks that were left out", got)
    done = fleet(cluster, "top", "--json", "--since", "3h", "--by", "host", "--top", "3")
    rows = json.loads(done.stdout)
    tap.check([row["host"] for row in rows[:2]] == ["host-1000", "host-2000"] and len(rows) == 3, "by host, the outliers first", rows)
    done = fleet(cluster, "top", "--since", "3h", "--unit", "x' OR '1'='1")
    tap.check(done.returncode == 0 and "no block" in done.stdout, "a unit's name is no SQL", done)


def test_diff(cluster):
    done = fleet(cluster, "diff", "--json", "--since", "3h", "1.0", "1.1")
    findings = json.loads(done.stdout or "{}").get("findings", [])
    verdict = {(f["what"], f.get("signature")): f["verdict"] for f in findings}
    tap.check(done.returncode == 3 and verdict.get(("fault", MORE)) == "worse", "diff finds the fault with more blocks", done.stderr, findings)
    tap.check(verdict.get(("delay", LONGER)) == "worse", "and the one with longer ones", findings)
    tap.check(verdict.get(("fault", EQUAL)) == "same" and verdict.get(("fault", LONGER)) == "same" and
              verdict.get(("delay", EQUAL)) == "same" and verdict.get(("p50", None)) == "same", "and nothing else", verdict)
    found = [f for f in findings if f["what"] == "fault" and f.get("signature") == MORE]
    tap.check(found and abs(found[0]["ratio"] - 5) < 0.01 and "do_b" in found[0]["summary"], "five times as often, with its sentence", found)
    text = fleet(cluster, "diff", "--since", "3h", "1.0", "1.1")
    tap.check("worse" in text.stdout and "do_b" in text.stdout and "144 intervals" in text.stdout, "as text", text)
    middle = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(SINCE + 1800))
    same = fleet(cluster, "diff", "--process", "redis-server", "--since", "3h", f"1.0@..{middle}", f"1.0@{middle}..")
    tap.check(same.returncode == 0 and "0 worse, 0 better" in same.stdout, "the same version at two times is equal", same)
    done = fleet(cluster, "diff", "--since", "3h", "1.0", "9.9")
    tap.check(done.returncode == 1 and "9.9" in done.stderr and "--by version" in done.stderr, "a version that is not there", done)


def seed_canary(pb, cluster):
    """48 hosts with version 5.0 or 5.1. Process cron is on one host of each; 5.1 ran there for five minutes, with one stall."""
    for host in range(5000, 5000 + HOSTS):
        new = host % 2
        batch = Batch(pb, host, 1)
        batch.interval(host, f"5.{new}", SINCE + 6000 * new, 99999)
        if host < 5002:
            start, step = (SINCE + 6000, 10) if new else (SINCE, 200)
            for nr in range(30):
                batch.interval(host, f"5.{new}", start + nr * step, 9999, process="cron")
            for nr in range(60 if new else 5):
                at = start + 150 if new else start + nr * 1000
                batch.block(host, f"5.{new}", STALL, at, 2 * 10**8, process="cron")
        batch.interval(host, f"5.{new}", SINCE + 6000 * new, 10**9, left_out=10**6, process="bulk", signature=BULK)
        batch.block(host, f"5.{new}", BULK, SINCE + 6000 * new, (1 + new) * 2 * 10**8 + host % 24 * 10**6, process="bulk")
        send(cluster.shards[host // 2 % 2][0], batch.bodies())


def test_canary(cluster):
    """The groups are those of the loop, and of the time in which it ran."""
    done = fleet(cluster, "diff", "--json", "--since", "3h", "--process", "bulk", "5.0", "5.1")
    verdict = {(f["what"], f.get("signature")): f["verdict"] for f in json.loads(done.stdout or "{}").get("findings", [])}
    tap.check(verdict.get(("delay", BULK)) == "worse" and verdict.get(("fault", BULK)) == "same",
              "delays of a fault are read, though limits left out 10^6 times as many blocks", done)
    for words in ((), ("--process", "cron")):
        done = fleet(cluster, "diff", "--json", "--since", "3h", *words, "5.0", "5.1")
        findings = [f for f in json.loads(done.stdout or "{}").get("findings", []) if f["process"] == "cron"]
        verdict = {(f["what"], f.get("signature")): f["verdict"] for f in findings}
        tap.check(done.returncode in (0, 3) and verdict.get(("fault", STALL)) == "same",
                  f"one stall of a loop on one host makes no difference {' '.join(words)}", done.stderr, findings)
        tap.check(verdict.get(("p50", None)) == "same", "quantiles of five minutes are compared", findings)



def test_show(pb, cluster):
    batch = Batch(pb, 6000, 1)
    batch.block(6000, "6.0", MORE, SINCE, 5 * 10**9, process="other", unit="other.service")
    for signature in (MORE, HANGS):
        hang = batch.block(6000, "6.0", signature, SINCE, 20 * 10**9, process="other", unit="other.service")
        batch.add().hang.CopyFrom(hang)
        batch.records.remove(next(record for record in batch.records if record.block.delay_ns == 20 * 10**9))
    send(cluster.shards[0][0], batch.bodies())
    done = fleet(cluster, "show", MORE[:8], "--since", "3h")
    tap.check(done.returncode == 0 and "version 1.1" in done.stdout and "240 blocks on 24 hosts" not in done.stdout and
              "1440 blocks on 24 hosts" in done.stdout, "show: where a signature occurs", done)
    tap.check("aeMain" in done.stdout and "200 ms" in done.stdout and "It computed in do_b()" in done.stdout, "its stack and its longest block", done)
    record = json.loads(fleet(cluster, "show", LONGER, "--json", "--since", "3h").stdout)
    tap.check(record["type"] == "block" and record["delay_ns"] == 409000000, "the longest as JSON", record["delay_ns"])
    done = json.loads(fleet(cluster, "show", MORE, "--json", "--since", "3h").stdout)
    tap.check(done["delay_ns"] == 5 * 10**9, "a hang under way is not the longest block", done["delay_ns"])
    done = fleet(cluster, "show", HANGS, "--since", "3h")
    tap.check(done.returncode == 1 and "no block" in done.stderr, "nor a block at all", done)
    done = fleet(cluster, "show", MORE, "--since", "3h", "--unit", "redis.service")
    tap.check("1440 blocks on 24 hosts" in done.stdout and "other" not in done.stdout and "5.00 s" not in done.stdout, "show of a unit", done)
    done = fleet(cluster, "show", MORE, "--since", "3h", "--process", "other")
    tap.check("1 block on 1 host, most on host-6000" in done.stdout and "redis" not in done.stdout.split("Where its")[0], "of a process", done)
    done = fleet(cluster, "show", COUNTED, "--since", "3h")
    tap.check(done.returncode == 0 and "288 blocks on 24 hosts" in done.stdout and "version 1.1" in done.stdout and
              "None of its blocks has a record" in done.stdout, "of blocks that limits left out", done)
    done = fleet(cluster, "show", "eeee", "--since", "3h")
    tap.check(done.returncode == 1 and "no block" in done.stderr, "an unknown signature", done)


def test_hostile(pb, cluster):
    batch = Batch(pb, 3000, 1)
    block = batch.block(3000, "3.0", "ffffffffffffffff", SINCE, 9 * 10**9, process=HOSTILE, unit=HOSTILE)
    block.cause.summary = block.cause.frame.function = block.host.name = HOSTILE
    large = batch.block(3000, "3.0", "ffffffffffffffff", SINCE + 1, 10**9, process="x" * (1 << 20), unit="\U0001f4a9" * 3000)
    large.samples[0].stack[0].function = "'" * (1 << 20)
    hang = batch.add()
    hang.hang.CopyFrom(block)
    send(cluster.servers[0], batch.bodies())
    row, = cluster.servers[0].rows("SELECT process, unit, host, function, record FROM jankbpf.blocks WHERE version = '3.0' AND hang = 0 AND length(process) < 1000")
    tap.check(row["process"] == row["unit"] == row["host"] == HOSTILE, "hostile names arrive as they are", row)
    tap.check(json.loads(row["record"])["process"] == HOSTILE, "also in the record")
    size = cluster.servers[0].value("SELECT max(length(process)) FROM jankbpf.blocks WHERE version = '3.0'")
    tap.check(size == 4096, "a name of 1 MB is cut", size)
    hangs = cluster.servers[0].value("SELECT sum(hang) FROM jankbpf.blocks WHERE version = '3.0'")
    tap.check(hangs == 1, "a hang under way is no block", hangs)
    for words in (("top", "--since", "3h"), ("show", "ffff", "--since", "3h"), ("top", "--by", "host", "--since", "3h")):
        done = fleet(cluster, *words)
        tap.check(done.returncode == 0 and not set(done.stdout) & {"\x1b", "\x01", "\x9b"}, f"{words[0]} prints nothing that a terminal obeys", done)
    done = fleet(cluster, "top", "--json", "--since", "3h", "--unit", HOSTILE.replace("\x1b", "").replace("\n", "").replace("\t", "").replace("\x01", ""))
    tap.check(done.returncode == 0 and json.loads(done.stdout) == [], "a hostile unit is a literal", done)


def test_program(cluster):
    """A traced program: its spool is sent, and sent again from its begin after the position was lost."""
    if os.geteuid():
        tap.skip("a traced program", "needs root")
        return
    spool = os.path.join(cluster.dir, "spool")
    traced = subprocess.run([JANK, "-q", "--json", "-t", "20ms", "--interval", "1s", "--spool", spool, "--", os.path.join(ROOT, "simjank"),
                             "--scenario", "sleep:40ms", "--gap", "20ms", "--count", "40"], capture_output=True, text=True, timeout=60,
                            check=False)
    blocks = sum(json.loads(line)["type"] == "block" for line in traced.stdout.splitlines() if line.startswith("{"))
    for again in range(2):
        position = os.path.join(spool, "clickhouse.position")
        if again and os.path.exists(position):
            os.unlink(position)
        sent = subprocess.run([JANK, "send", "--spool", spool, "--clickhouse-url", cluster.shards[0][again].url, "--timeout", "30s"],
                              capture_output=True, text=True, timeout=60, check=False)
        tap.check(sent.returncode == 0 and " 0 left" in sent.stdout, "the spool of a traced program is sent", sent)
        cluster.synced()
    count = cluster.shards[0][0].value("SELECT count() FROM jankbpf.blocks WHERE process = 'simjank' AND hang = 0")
    tap.check(blocks >= 40 and count == blocks, "each of its blocks is stored once, though it was sent twice", count, blocks, traced.stderr)
    rows = json.loads(fleet(cluster, "top", "--json", "--process", "simjank").stdout)
    tap.check(rows and rows[0]["function"].startswith("do_sleep") and rows[0]["dispatches"] >= 40, "fleet top has its fault", rows)
    shown = fleet(cluster, "show", rows[0]["signature"])
    tap.check(shown.returncode == 0 and "clock_nanosleep" in shown.stdout and "ep" in shown.stdout and "do_sleep" in
              shown.stdout.split("longest block")[-1], "fleet show prints its longest block", shown)


class Garbage(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>\x1b[31m not a row\n")

    def log_message(self, *_):
        pass


def test_errors(cluster):
    port, = clickhouse.free_ports(1)
    done = fleet(cluster, "top", url=f"http://127.0.0.1:{port}")
    tap.check(done.returncode == 1 and f"'http://127.0.0.1:{port}': " in done.stderr and "--clickhouse-url" in done.stderr, "no server: its address is named", done)
    done = fleet(cluster, "top", "--since", "3h", url=f"http://127.0.0.1:{port} {cluster.servers[0].url}")
    tap.check(done.returncode == 0 and "do_b" in done.stdout, "of replicas, the next one is asked", done)
    server = http.server.HTTPServer(("127.0.0.1", 0), Garbage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = fleet(cluster, "top", url=f"http://127.0.0.1:{server.server_port}")
    tap.check(done.returncode == 1 and "not one of ClickHouse" in done.stderr and "\x1b" not in done.stderr, "garbage is named", done)
    done = fleet(cluster, "top", "--clickhouse-database", "nothing")
    tap.check(done.returncode == 1 and "schema.sql" in done.stderr, "a database that is not there, with the remedy", done)
    done = fleet(cluster, "top", "--clickhouse-user", "nobody")
    tap.check(done.returncode == 1 and "--clickhouse-user" in done.stderr, "a user that is not there, with the remedy", done)
    for words in ((), ("nothing",), ("show",), ("diff", "1"), ("drop",), ("top", "more")):
        done = fleet(cluster, *words)
        tap.check(done.returncode == 2 and "fleet" in done.stderr, f"refused: fleet {' '.join(words)}", done)


def test_limits(pb, cluster):
    """Of 10,001 processes on a host."""
    batch = Batch(pb, 7000, 1)
    interval = batch.interval(7000, "7.0", NOW - 20 * 86400, 1000)
    for nr in range(10001):
        interval.loops.add(loop="epoll", process=f"p{nr}", dispatches=1000, version="7.0")
        interval.left_out.add(signature=MANY, process=f"p{nr}", loop="epoll", kind="disk", blocks=1, total_ns=10**12, max_ns=10**12)
    send(cluster.shards[0][0], batch.bodies())
    done = fleet(cluster, "top", "--since", "600h")
    tap.check(done.returncode == 1 and "more than 10000 pairs" in done.stderr, "top refuses what it would cut", done)
    done = fleet(cluster, "diff", "--since", "600h", "7.0", "7.0")
    tap.check(done.returncode == 1 and "more than 10000 loops" in done.stderr, "and so does diff", done)


def test_drop(pb, cluster):
    batch = Batch(pb, 4000, 1)
    then = NOW - 130 * 86400  # its month ended more than 90 days ago, too
    batch.block(4000, "old", EQUAL, then, 10**9)
    batch.interval(4000, "old", then, 1000)
    stacks = "SELECT count() FROM jankbpf.stacks WHERE time < %d" % (NOW - 90 * 86400)
    recent = cluster.servers[0].value("SELECT uniqExact(hash) FROM jankbpf.stacks")
    bodies = batch.bodies()
    send(cluster.shards[1][0], bodies)
    cluster.synced()
    done = fleet(cluster, "drop", "--older", f"{int(time.time()) - (then // 86400 + 1) * 86400 - 6 * 3600}s")
    tap.check(done.returncode == 0 and "no day" in done.stdout, "a day that has not ended in each zone is kept", done)
    before = cluster.servers[0].value("SELECT count() FROM jankbpf.blocks")
    old_stacks = cluster.servers[0].value(stacks)
    done = fleet(cluster, "drop", "--older", "2160h", "--clickhouse-timeout", "60s")
    cluster.synced()
    after = [server.value("SELECT count() FROM jankbpf.blocks") for server in cluster.servers]
    tap.check(done.returncode == 0 and "blocks_local" in done.stdout and "loops_local" in done.stdout and after == [before - 1] * 4,
              "drop deletes old days on all shards, and nothing else", done, before, after)
    now = cluster.servers[0].value(stacks), cluster.servers[0].value("SELECT uniqExact(hash) FROM jankbpf.stacks")
    tap.check(old_stacks == 1 and "stacks_local" in done.stdout and now == (0, recent), "and the stacks of an old month", done, old_stacks, now)
    left = cluster.servers[3].value("SELECT count() FROM jankbpf.loops_local WHERE version = 'old'")
    kept = cluster.servers[0].value("SELECT sumMerge(blocks) FROM jankbpf.faults_hourly WHERE version = 'old'")
    tap.check(left == 0 and kept == 1, "views keep their counts", left, kept)
    done = fleet(cluster, "drop", "--older", "2160h")
    tap.check(done.returncode == 0 and "no day" in done.stdout, "nothing is left to drop", done)


def test_drop_away(pb, cluster):
    batch = Batch(pb, 4001, 1)
    then = NOW - 130 * 86400
    batch.block(4001, "older", EQUAL, then, 10**9)
    batch.interval(4001, "older", then, 1000)
    first, second = cluster.shards[0]
    send(first, batch.bodies())
    cluster.synced()
    second.stop()
    done = fleet(cluster, "drop", "--older", "2160h", "--clickhouse-timeout", "6s")
    count = "SELECT count() FROM jankbpf.loops_local WHERE version = 'older'"
    left = first.value(count)
    tap.check(done.returncode == 0 and "loops_local" in done.stdout and "blocks_local" in done.stdout and
              "queued for servers that are away" in done.stdout and left == 0, "drop goes on if a replica is away", done, left)
    second.start()
    tap.check(clickhouse.until(lambda: second.value(count) == 0, "the replica keeps the day"), "which deletes it later")


def main():
    missing = clickhouse.missing()
    if missing:
        tap.skip("a cluster of ClickHouse", f"no {missing}: apt-get install clickhouse-server clickhouse-client zookeeper")
        return
    pb = compiled_schema()
    cluster = clickhouse.Cluster(2, 2)
    for _ in range(2):
        cluster.apply_schema()
    tap.check(True, "the schema can be applied, also again")
    total = seed(pb, cluster)
    test_storage(pb, cluster, total)
    test_outage(pb, cluster)
    test_top(cluster)
    test_diff(cluster)
    seed_canary(pb, cluster)
    test_canary(cluster)
    test_show(pb, cluster)
    test_hostile(pb, cluster)
    test_program(cluster)
    test_errors(cluster)
    test_limits(pb, cluster)
    test_drop(pb, cluster)
    test_drop_away(pb, cluster)
    cluster.end()


main()
tap.end()
sys.exit(tap.failed != 0)
