#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""OTLP: real backends take the logs, metrics and profiles of real blocks, and understand what was meant.

OTELCOL is the path of an OpenTelemetry collector with otlpreceiver and otlphttpexporter (otelcol and otelcol-contrib have
both), VICTORIA_METRICS that of VictoriaMetrics from 1.90 on; or they are in PATH.
"""
import collections
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import schema  # first: it may run the script again under another Python
import bad
from bad import ok, skip
from otlp_backends import Collector, VictoriaMetrics, attributes, find, post

ENCODE = os.environ.get("FLEET_ENCODE", ".output/rel/tests/fleet/encode")
OTLP = schema.load("schema/otlp.proto")
RECORD = schema.message_of(schema.load("schema/blockinfo.proto"), "jankbpf.Record")
SECONDS = 5
SIZE_MAX = 4096


def record_blocks(directory):
    """Records of janking programs, in a file and in a spool."""
    programs = [bad.simjank("--scenario", "busy:30ms,sleep:40ms,mutex:35ms", "--count", "100000"),
                bad.simjank("--scenario", "busy:30ms", "--count", "100000")]
    pids = ",".join(str(program.pid) for program in programs)
    subprocess.run([bad.JANK, "-q", "-t", "25ms", "-d", str(SECONDS), "--interval", "1s", "-p", pids, "--format", "proto",
                    "-o", directory, "--spool", SPOOL], check=True, timeout=120, stdout=subprocess.DEVNULL)
    bad.end(*programs)
    return os.path.join(directory, "blocks.pb")


def read_records(path):
    with open(path, "rb") as file:
        data = file.read()
    records, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            size |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        records.append(RECORD.FromString(data[at:at + size]))
        at += size
    return records


def of_type(records, kind):
    return [getattr(record, kind) for record in records if record.WhichOneof("type") == kind]


def encode(part, path, *span):
    return subprocess.run([ENCODE, "otlp", part, path, *map(str, span)], capture_output=True, check=True, timeout=60).stdout


def check_answer(directory, answer):
    """What the sender makes of a backend's answer."""
    path = os.path.join(directory, "answer")
    with open(path, "wb") as file:
        file.write(answer)
    done = subprocess.run([ENCODE, "otlp", "check", path], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split(maxsplit=2)[:2]


def send(backend, directory, path, body, **headers):
    status, answer = post(backend.url + path, body, **headers)
    ok(status == 200, f"{path}: {len(body)} bytes are taken", (status, answer[:500], backend.said()))
    ok(check_answer(directory, answer) == ["0", "0"], "the answer refuses nothing", answer[:500])


# --- decoded by descriptors of our own: proto3 refuses text that is not UTF-8

def test_decodes(path):
    for part, name in (("logs", "ExportLogsServiceRequest"), ("metrics", "ExportMetricsServiceRequest"),
                       ("profiles", "ExportProfilesServiceRequest")):
        body = encode(part, path)
        request = schema.message_of(OTLP, "otlp." + name).FromString(body)
        ok(len(body) > 1000 and request.ByteSize() == len(body), f"{part}: decoded without unknown fields", len(body))
        ok(encode(part, path) == body, "the same batch has the same bytes")


def test_sizes(path, records):
    """A block alone, which is the largest that it can be: those of a batch share texts."""
    places = [nr for nr, record in enumerate(records) if record.WhichOneof("type") == "block"]
    sizes = [len(gzip.compress(encode("logs", path, nr, 1))) for nr in places]
    ok(statistics.median(sizes) <= SIZE_MAX, "the median block takes at most 4 KB on the wire", statistics.median(sizes))


# --- the collector

def test_logs(collector, directory, path, blocks):
    send(collector, directory, "/v1/logs", gzip.compress(encode("logs", path)), **{"Content-Encoding": "gzip"})
    logs = {}
    for resource in collector.got("/v1/logs")["resourceLogs"]:
        process = attributes(resource["resource"])
        for log in resource["scopeLogs"][0]["logRecords"]:
            logs[attributes(log)["jankbpf.block.id"]] = (log, attributes(log), process)
    ok(blocks and len(logs) == len(blocks), "each block is a log record", (len(logs), len(blocks)))
    wrong = [block.id for block in blocks if not is_log_of(block, *logs[block.id])]
    ok(not wrong, "with the delay, cause, thread and process of the block", wrong[:3])
    wrong = [block.id for block in blocks if not is_body_of(block, logs[block.id][0]["body"]["stringValue"])]
    ok(not wrong, "and the record as its body", wrong[:3])


def is_log_of(block, log, attribute, process):
    return (attribute["jankbpf.delay_ns"] == block.delay_ns and attribute["jankbpf.duration_ns"] == block.duration_ns
            and attribute["jankbpf.cause.kind"] == block.cause.kind and attribute["thread.id"] == block.tid
            and attribute.get("code.function.name", "") == block.cause.frame.function
            and attribute["jankbpf.signature"] == block.cause.signature
            and process["process.pid"] == block.pid and process["service.name"] in (block.service_name, block.process, block.unit[:-8])
            and process["host.name"] == block.host.name and process["host.arch"] in ("amd64", "arm64")
            and int(log["observedTimeUnixNano"]) - int(log["timeUnixNano"]) == block.duration_ns
            and log["severityText"] in ("WARN", "ERROR") and log["eventName"] == "jankbpf.block")


def is_body_of(block, body):
    record = json.loads(body)
    return (record["type"] == "block" and record["id"] == block.id and record["duration_ns"] == block.duration_ns
            and record["cause"]["summary"] == block.cause.summary and len(record["samples"]) == len(block.samples)
            and [len(s.get("stack", ())) for s in record["samples"]] == [len(s.stack) for s in block.samples])


def points(collector, name):
    """Data points of a metric, with the service of their resource."""
    for resource in collector.got("/v1/metrics")["resourceMetrics"]:
        service = attributes(resource["resource"])["service.name"]
        for metric in resource["scopeMetrics"][0]["metrics"]:
            if metric["name"] != name:
                continue
            kind = next(metric[kind] for kind in ("sum", "gauge", "histogram") if kind in metric)
            ok(kind.get("aggregationTemporality", 1) == 1, f"{name} of {service} is a delta or a gauge", kind)
            for point in kind["dataPoints"]:
                yield service, point


def test_metrics(collector, directory, path, blocks, intervals):
    send(collector, directory, "/v1/metrics", encode("metrics", path))
    want = sum(loop.dispatches for interval in intervals for loop in interval.loops)
    histograms = [point for _, point in points(collector, "jankbpf.dispatch.duration")]
    ok(want and sum(int(point["count"]) for point in histograms) == want, "histograms have all dispatches", want)
    ok(all(sum(map(int, point["bucketCounts"])) == int(point["count"]) for point in histograms), "in their buckets")
    over = sum(sum(map(int, point["bucketCounts"][8:])) for point in histograms)
    long = sum(bucket.count for interval in intervals for loop in interval.loops for bucket in loop.buckets
               if bucket.upper_ns > 25 * bad.MS)
    ok(over == long, "those over 25 ms in the buckets above", (over, long))
    spans = {(int(point["startTimeUnixNano"]), int(point["timeUnixNano"])) for point in histograms}
    lengths = {interval.elapsed_ns for interval in intervals if interval.dispatches}
    ok({end - begin for begin, end in spans} == lengths, "their times are those of the intervals", spans)
    counted = sum(int(point["asInt"]) for _, point in points(collector, "jankbpf.blocks"))
    ok(counted == len(blocks), "blocks are counted once", (counted, len(blocks)))
    kinds = {attributes(point)["jankbpf.cause.kind"] for _, point in points(collector, "jankbpf.blocks")}
    ok(kinds == {block.cause.kind for block in blocks}, "by kind", kinds)
    cpu = sum(point["asDouble"] for service, point in points(collector, "jankbpf.agent.cpu.time") if service == "jankbpf")
    ok(abs(cpu - sum(interval.cost.user_cpu_ns for interval in intervals) / 1e9) < 1e-6, "own cost", cpu)


def test_profiles(collector, directory, path, blocks):
    send(collector, directory, "/v1development/profiles", encode("profiles", path))
    request = collector.got("/v1development/profiles")
    tables = request["dictionary"]
    texts = tables["stringTable"]
    profiles = [profile for resource in request["resourceProfiles"] for profile in resource["scopeProfiles"][0]["profiles"]]
    ok(len(profiles) == len(blocks), "each block is a profile", (len(profiles), len(blocks)))
    total = sum(int(value) for profile in profiles for sample in profile["samples"] for value in sample["values"])
    ok(total == sum(block.duration_ns for block in blocks), "their samples sum to the blocks' durations", total)
    names = {texts[function.get("nameStrindex", 0)] for function in tables["functionTable"]}
    seen = {frame.function for block in blocks for sample in block.samples for frame in sample.stack if frame.function}
    # Equal stacks are merged by function, so none is missing.
    ok(seen and seen <= names, "with the functions of their stacks", sorted(seen - names)[:5])
    used = {texts[pair["keyStrindex"]] for pair in tables["attributeTable"][1:]}
    ok({"jankbpf.block.id", "jankbpf.state", "profile.frame.type"} <= used, "attributes of samples, frames, profiles", used)


def test_garbage(backend, *paths):
    for path in paths:
        for name, body in (("garbage", b"\xff\xffgarbage"), ("half a body", None)):
            body = body or encode(path.rsplit("/", 1)[1], PATH)[:-7]
            status, answer = post(backend.url + path, body)
            ok(status == 400, f"{path}: {name} gets 400", (status, answer[:200]))


def test_collector(directory, path, records):
    program = find("OTELCOL", "otelcol", "otelcol-contrib")
    if not program:
        skip("an OpenTelemetry collector", "none found: set OTELCOL to the path of otelcol or otelcol-contrib")
        return
    blocks, intervals = of_type(records, "block"), of_type(records, "interval")
    with Collector(program, directory) as collector:
        test_logs(collector, directory, path, blocks)
        test_metrics(collector, directory, path, blocks, intervals)
        test_profiles(collector, directory, path, blocks)
        test_garbage(collector, "/v1/logs", "/v1/metrics", "/v1development/profiles")


def test_sender(directory, records, compress):
    """What the spool of a run holds comes by jankbpf send, once, and nothing is left to send."""
    program = find("OTELCOL", "otelcol", "otelcol-contrib")
    if not program:
        return
    position = os.path.join(SPOOL, "otlp.position")
    if os.path.exists(position):
        os.unlink(position)
    with Collector(program, directory) as collector:
        for _ in range(2):
            done = subprocess.run([bad.JANK, "send", "--spool", SPOOL, "--otlp-url", collector.url, "--otlp-compress", compress],
                                  capture_output=True, text=True, timeout=60, check=False)
            ok(done.returncode == 0, f"{compress}: jankbpf send ends when all is sent", done.stderr)
        got = collector.receiver.got
        logs = [attributes(log)["jankbpf.block.id"] for request in got["/v1/logs"] for resource in request["resourceLogs"]
                for log in resource["scopeLogs"][0]["logRecords"]]
        ok(sorted(logs) == sorted(block.id for block in of_type(records, "block")), "each block of the spool arrived once",
           len(logs))
        agents = {attributes(resource["resource"])["jankbpf.agent.id"] for request in got["/v1/metrics"]
                  for resource in request["resourceMetrics"]}
        with open(os.path.join(SPOOL, "agent"), encoding="ascii") as file:
            ok(agents == {file.read().strip()}, "with the identity of the spool", agents)
        ok(got["/v1development/profiles"], "as did profiles")


# --- VictoriaMetrics, which has metrics only

def test_victoria(directory, path, records):
    program = find("VICTORIA_METRICS", "victoria-metrics")
    if not program:
        skip("VictoriaMetrics", "not found: set VICTORIA_METRICS to its path")
        return
    flags = subprocess.run([program, "-help"], capture_output=True, text=True, check=False, timeout=60)
    if "opentelemetry.usePrometheusNaming" not in flags.stdout + flags.stderr:
        skip("VictoriaMetrics", "this version has no OTLP: it takes 1.90 or later")
        return
    intervals = of_type(records, "interval")
    want = sum(loop.dispatches for interval in intervals for loop in interval.loops)
    with VictoriaMetrics(program, directory) as victoria:
        send(victoria, directory, "/v1/metrics", encode("metrics", path))
        victoria.flush()
        at = RECORDED_S + 60
        rows = victoria.query("sum(sum_over_time(jankbpf_dispatch_duration_seconds_count[10m]))", at)
        ok([value for _, value in rows] == [want], "and counts all dispatches", (rows, want))
        rows = victoria.query("sum(sum_over_time(jankbpf_blocks_total[10m])) by (jankbpf_cause_kind)", at)
        want = collections.Counter(block.cause.kind for block in of_type(records, "block"))
        ok(dict(want) == {labels["jankbpf_cause_kind"]: value for labels, value in rows}, "and all blocks by kind", rows)


if not os.path.exists(ENCODE):
    bad.skip_all(f"{ENCODE} is not built: run make check-fleet")
bad.need_tracing()
DIRECTORY = tempfile.mkdtemp(dir=bad.SCRATCH)
SPOOL = os.path.join(DIRECTORY, "spool")
PATH = record_blocks(os.path.join(DIRECTORY, "records"))
RECORDS = read_records(PATH)
RECORDED_S = int(os.stat(PATH).st_mtime)
test_decodes(PATH)
test_sizes(PATH, RECORDS)
test_collector(DIRECTORY, PATH, RECORDS)
for WORD in ("gzip", "zstd", "none"):
    test_sender(DIRECTORY, RECORDS, WORD)
test_victoria(DIRECTORY, PATH, RECORDS)
bad.done()
