#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A signal at several points of the start ends jankbpf within two seconds, and nothing is left."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

MESSAGE = "jankbpf: stopped before tracing began\n"
END_S = 2


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def catches(tracer):
    with open(f"/proc/{tracer.pid}/status", encoding="ascii") as file:
        return any(line.startswith("SigCgt:") and int(line.split()[1], 16) & 1 << (signal.SIGINT - 1) for line in file)


def descriptors(tracer, kind):
    return sum(kind in link for link in bad.fds_of(tracer.pid).values())


FACTS = {
    "the first instructions": catches,
    "the helper process": lambda tracer: len(children(tracer.pid)) > 1,
    "the first map": lambda tracer: descriptors(tracer, "bpf-map") > 5,
    "the first programs": lambda tracer: descriptors(tracer, "bpf-prog") > 2,
    "half of the programs": lambda tracer: descriptors(tracer, "bpf-prog") > 8,
}


def wait_fast(condition):
    """Polls without a pause: a start is short."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if condition():
                return True
        except OSError:
            return False
    return False


def test_fact(name, sig, quiet):
    ran, journal = bad.scratch("ran"), bad.scratch("journal")
    tracer = bad.Tracer(*(["-q"] if quiet else []), "--json", "--journal", journal, "-o", bad.scratch("dir"), "--",
                        "touch", ran, wait=False)
    there = wait_fast(lambda: FACTS[name](tracer))
    began = children(tracer.pid)
    at = time.monotonic()
    result = tracer.stop(sig)
    seconds = time.monotonic() - at
    what = f"{sig.name} after {name}{', -q' if quiet else ''}"
    ok(there and result.status == 0 and seconds < END_S and not result.raw, f"{what}: ended with status 0 after {seconds:.2f} s",
       result)
    ok(result.err == ("" if quiet else MESSAGE), f"{what}: with its message", result)
    ok(bad.wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in began), 5) and not os.path.exists(ran),
       f"{what}: COMMAND never ran, and no process is left", began)


def test_all():
    """-a: the search for sites in every program."""
    tracer = bad.Tracer("--json", "-a", "--marks", "always", "-t", "1h", wait=False)
    wait_fast(lambda: descriptors(tracer, "perf_event") > 0 or descriptors(tracer, "bpf_link") > 10)
    at = time.monotonic()
    result = tracer.stop()
    seconds = time.monotonic() - at
    told = result.err == MESSAGE and not result.raw or result.summary()
    ok(result.status == 0 and seconds < END_S and told, f"-a: ended after {seconds:.2f} s", result)


def test_ignored():
    """nohup: SIGHUP does not end the start either."""
    tracer = bad.Tracer("--json", "-n", "1", "-t", "25ms", "--", bad.SIMJANK, "--quiet", "--duration", "1h", "--scenario",
                        "sleep:40ms", wait=False, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_fast(lambda: FACTS["the first programs"](tracer))
    tracer.process.send_signal(signal.SIGHUP)
    result = tracer.finish()
    ok(result.status == 0 and len(result.of("block")) == 1, "an ignored SIGHUP stays ignored", result)


bad.need_tracing()
for fact in FACTS:
    test_fact(fact, signal.SIGINT, False)
test_fact("the first programs", signal.SIGTERM, True)
test_fact("the first programs", signal.SIGHUP, False)
test_all()
test_ignored()
bad.done()
