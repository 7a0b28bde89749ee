# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracer's own use: CPU time and memory while at work, and the time until it is at work."""

import json
import os
import re
import signal
import subprocess
import time

import tracers
from report import Table
from targets import Target, comm, cpus, pss_kb, schedstat_ns, status_kb

SETTLE_S = 1.5  # the start costs more than the steady state; after an end the kernel detaches the probes
STEADY_S = 10
SIMJANK = os.environ.get("SIMJANK", "./simjank")

# A dispatch each tick of a busy timer, an HTTP server and its clients in one process; a block a second.
NODE_PROGRAM = """
const http = require('http');
const server = http.createServer((req, res) => res.end(JSON.stringify(req.headers)));
server.listen(process.argv[1], function ask() {
    http.get({ socketPath: process.argv[1] }, res => {
        res.resume();
        res.on('end', () => setTimeout(ask, 1));
    });
});
setInterval(() => { const end = Date.now() + 150; while (Date.now() < end) JSON.parse('[1]'); }, 1000);
"""


def busy_simjank(scratch):
    """20,000 dispatches/s, one of them above the threshold each second."""
    return Target(scratch, [SIMJANK, "--quiet", "--short-rate", "20000/s", "--scenario",
                            "busy:150ms", "--gap", "850ms", "--duration", "10m"], cpu=cpus()[-1])


def node(scratch):
    return Target(scratch, ["node", "-e", NODE_PROGRAM, os.path.join(scratch.path, "node.sock")],
                  cpu=cpus()[-1])


def own_pids(pid):
    """The tracer, and its processes that make names and write records."""
    pids = [pid]
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
            pids += [int(word) for word in file.read().split()]
    return pids


def watch(pid):
    """Over STEADY_S at work: own CPU in % of one CPU, the sum of the processes' largest RSS in MB, and the PSS of each in MB."""
    time.sleep(SETTLE_S)
    pids = own_pids(pid)
    begin, ran = time.monotonic(), sum(schedstat_ns(each)[0] for each in pids)
    time.sleep(STEADY_S)
    ran = sum(schedstat_ns(each)[0] for each in pids) - ran
    share = 100 * ran / ((time.monotonic() - begin) * 1e9)
    highest = sum(status_kb(each, "VmHWM") for each in pids) / 1024
    return share, highest, {comm(each): pss_kb(each) / 1024 for each in pids}


def dispatch_rate(running):
    """Dispatches/s by jankbpf's own summary: was the target as busy as intended?"""
    found = re.search(r"([\d,]+) dispatches", running.tail.decode(errors="replace"))
    seconds = time.monotonic() - running.began
    return int(found[1].replace(",", "")) / seconds if found else None


def steady(scratch, start_target, tracer):
    target = start_target(scratch)
    try:
        time.sleep(0.5)
        running = tracer.start(target)
        try:
            figures = watch(running.proc.pid)
        finally:
            running.stop()
        return figures + (dispatch_rate(running),)
    finally:
        target.stop()


# name, target, tracer, goals for CPU and PSS
STEADY = (
    ("jankbpf, simjank 20,000/s", busy_simjank, tracers.ALL_ON, (0.5, 60)),
    ("jankbpf, node", node, tracers.ALL_ON, (None, 60)),
    ("bpftrace tracepoints, simjank 20,000/s", busy_simjank, tracers.BPFTRACE_TRACEPOINTS,
     (None, None)),
    ("bcc funcslower, simjank 20,000/s", busy_simjank, tracers.FUNCSLOWER, (None, None)),
)


def steady_tables(scratch):
    cpu, pss = Table("Own CPU time at work", "% of a CPU"), Table("Own memory at work", "MB PSS")
    high, rate = Table("Own memory at its highest", "MB RSS"), Table("Meanwhile", "dispatches/s")
    processes = Table("Its processes", "MB PSS")
    for name, start_target, tracer, goals in STEADY:
        try:
            figures = steady(scratch, start_target, tracer)
        except (OSError, RuntimeError) as why:
            cpu.note(name, str(why))
            continue
        cpu.add(name, figures[:1], goals[0], 2)
        pss.add(name, [sum(figures[2].values())], goals[1], 1)
        high.add(name, figures[1:2], None, 1)
        for process, mb in figures[2].items() if not processes.rows else ():
            processes.add(process, [mb], None, 1)
        rate.add(name, [figures[3]] if figures[3] else [])
    return {"own_cpu": cpu, "own_pss": pss, "own_processes": processes, "own_rss_highest": high, "own_rate": rate}


START_TRACERS = (tracers.ALL_ON, tracers.UPROBES, tracers.BPFTRACE_FIRST, tracers.BPFTRACE_UPROBES,
                 tracers.PERF_99, tracers.FUNCSLOWER, tracers.STRACE)


def first_dispatch_ms(target):
    """From the start of jankbpf to the begin of the first dispatch that it reports."""
    program = os.environ.get("JANKBPF", "./jankbpf")
    begin_ns = time.monotonic_ns()
    with subprocess.Popen([program, "-q", "--json", "-t", "1ms", "-p", str(target.pid)],
                          stdout=subprocess.PIPE) as tracer:
        block = json.loads(tracer.stdout.readline())
        tracer.send_signal(signal.SIGINT)
        tracer.stdout.read()
    return (block["start_ns"] - begin_ns) / 1e6


def start_tables(scratch, rounds):
    ready = Table("Start until all probes are attached", "ms")
    first = Table("Start until at work: the first dispatch seen (one every 3 ms), of bpftrace's tracepoints the first "
                  "event, or the tool's word", "ms")
    ms, firsts, stops = {}, [], []
    target = Target(scratch, [SIMJANK, "--quiet", "--scenario", "busy:2ms", "--gap", "1ms",
                              "--duration", "10m"])
    try:
        time.sleep(0.3)
        for _ in range(rounds):
            time.sleep(SETTLE_S)
            firsts.append(first_dispatch_ms(target))
            for tracer in START_TRACERS:
                if isinstance(ms.get(tracer.name), str):
                    continue
                time.sleep(SETTLE_S)
                try:
                    running = tracer.start(target)
                except (OSError, RuntimeError) as why:
                    ms[tracer.name] = str(why)
                    continue
                ms.setdefault(tracer.name, []).append(running.start_s * 1e3)
                took = running.stop() * 1e3
                if tracer is tracers.ALL_ON:
                    stops.append(took)
    finally:
        target.stop()
    first.add(tracers.ALL_ON.name, firsts, 300)
    for tracer in START_TRACERS:
        table = first if tracer.peer else ready
        if isinstance(ms[tracer.name], str):
            table.note(tracer.name, ms[tracer.name])
        else:
            table.add(tracer.name, ms[tracer.name], None if tracer.peer else 600)
    stop = Table("Ctrl-C until ended", "ms")
    stop.add(tracers.ALL_ON.name, stops)
    return {"start_ready": ready, "start_first": first, "stop": stop}


def run(scratch, rounds):
    return {**start_tables(scratch, rounds), **steady_tables(scratch)}
