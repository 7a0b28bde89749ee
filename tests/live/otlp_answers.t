#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf send to OTLP receivers: one that takes only metrics, partial success, a warning."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from backend import Backend, batches, copy, position, reply
from bad import ok

SPOOL = bad.scratch("spool")


def make_spool():
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 60)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", SPOOL, "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    return tracer.finish(30)


def send(name, answer, *options):
    """Sends a copy of the spool. Returns (paths of the requests that were taken, done, position)."""
    backend, folder = Backend(answer), copy(SPOOL, bad.scratch(name))
    done = subprocess.run([bad.JANK, "send", "--spool", folder, "--otlp-url", backend.url, *options], capture_output=True, text=True,
                          timeout=60, check=False)
    backend.close()
    return {request.path for request in backend.requests}, done, position(folder, "otlp")


def metrics_only(handler, request):
    return None if request.path == "/v1/metrics" else reply(handler, 404)


def test_signals(total):
    taken, done, now = send("without", metrics_only, "--timeout", "2s")
    ok(done.returncode == 1 and not taken and now["sent_records"] == 0, "a receiver without logs: the records wait", done)
    ok("if it has no '/v1/logs', leave that out by signals in [otlp]" in done.stderr, "the message names the key", done.stderr)
    taken, done, now = send("metrics", metrics_only, "--otlp-signals", "metrics")
    ok(done.returncode == 0 and taken == {"/v1/metrics"} and now["sent_records"] == total, "signals = metrics: all is sent", (done, now))
    taken, done, now = send("all", None)
    ok(taken == {"/v1/logs", "/v1/metrics", "/v1development/profiles"}, "by default all are sent", taken)


def partial(rejected, message):
    """ExportMetricsServiceResponse with partial_success."""
    body = (bytes([8, rejected]) if rejected else b"") + bytes([0x12, len(message)]) + message
    return bytes([0x0a, len(body)]) + body


def test_partial(result, total):
    intervals = sum(record["type"] == "interval" for record in result.records())

    def metrics(rejected, message):
        return lambda h, r: reply(h, 200, partial(rejected, message)) if r.path == "/v1/metrics" else None

    _, done, now = send("points", metrics(100, b"too old"))
    ok(done.returncode == 0 and now["refused_records"] == intervals and now["sent_records"] == total - intervals,
       f"refused data points count as {intervals} intervals at most", (done, now))
    ok("refused 100 data points for good: \"too old\"" in done.stderr, "the message names the unit", done.stderr)
    _, done, now = send("warning", metrics(0, b"slow down"))
    ok(now["sent_records"] == total and now["refused_records"] == 0, "a warning refuses nothing", now)
    ok(done.stderr.count("with a warning: \"slow down\"") == 1, "it is logged once", done.stderr)


bad.need_tracing()
RESULT = make_spool()
TOTAL = sum(count for _, count in batches(SPOOL))
test_signals(TOTAL)
test_partial(RESULT, TOTAL)
bad.done()
