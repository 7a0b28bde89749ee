# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's CPU time a request, compared with the untraced server's. It is steadier than
throughput: a slower epoll_wait gathers larger batches, and throughput may even rise."""

import time

import tracers
from report import Table
from rounds import Rounds
from targets import Redis, cpus

OWN = (tracers.ALL_ON, tracers.NO_SAMPLES, tracers.MARKS, tracers.UPROBES)
FEW = (tracers.ALL_ON, tracers.EMPTY, tracers.BPFTRACE_TRACEPOINTS, tracers.PERF_99)  # for many pairs
IDLE_S = 2.5  # after a calm second a process has marks: the load that follows meets them
WARM_S = 1
PEERS = (tracers.EMPTY, tracers.BPFTRACE_TRACEPOINTS, tracers.BPFTRACE_UPROBES, tracers.PERF_99,
         tracers.FUNCSLOWER)


class Setting:
    """A load and the CPU it runs on; `goals` are for jankbpf's CPU a request, in per cent."""

    def __init__(self, key, title, tests, clients, requests, one_cpu, goals):
        self.key, self.title, self.goals = key, title, goals
        self.tests, self.clients, self.requests = tests, clients, requests
        self.one_cpu = one_cpu

    def cpus(self):
        mine = cpus()
        return mine[-1], mine[-1 if self.one_cpu else 0]


SETTINGS = (
    Setting("redis", "redis-server, GET and SET, 50 clients", "set,get", 50,
            25000, False, {tracers.ALL_ON.name: 4}),
    Setting("redis_one", "redis-server, GET, one client on the server's CPU",
            "get", 1, 20000, True, {tracers.ALL_ON.name: 10}),
)


def measure(server, setting):
    load = (setting.tests, setting.clients, setting.requests, setting.cpus()[1])
    time.sleep(IDLE_S)
    first_ns, _ = server.load(*load)
    server.warm(setting.tests, setting.clients, WARM_S, setting.cpus()[1])
    cpu_ns, rate = server.load(*load)
    return {"first": first_ns, "cpu": cpu_ns, "rate": rate}


def tables(got, setting):
    base = Table(setting.title + ": untraced", "ns of CPU a request, and requests/s")
    base.add("CPU time a request", got.base["cpu"])
    base.add("requests/s", got.base["rate"])
    first = Table(setting.title + ": CPU time a request, when the load begins", "+%")
    cpu = Table(setting.title + ": CPU time a request", "+%")
    rate = Table(setting.title + ": requests/s", "+%")
    for tracer in OWN + PEERS:
        if tracer.name in got.notes:
            cpu.note(tracer.name, got.notes[tracer.name])
        first.add(tracer.name, got.per_cent("first", tracer.name), None, 1)
        cpu.add(tracer.name, got.per_cent("cpu", tracer.name), setting.goals.get(tracer.name), 1)
        rate.add(tracer.name, got.per_cent("rate", tracer.name), None, 1)
    return {setting.key + "_base": base, setting.key + "_first": first, setting.key + "_cpu": cpu,
            **({setting.key + "_rate": rate} if setting.one_cpu else {})}


def chosen(number, few):
    """Peers take long to start: every second round is enough for them."""
    if few:
        return FEW
    return OWN if number % 2 else OWN + PEERS


def run_setting(scratch, setting, rounds, few):
    got = Rounds(tracers.all_missing(OWN + PEERS))
    server = Redis(scratch, setting.cpus()[0])
    try:
        measure(server, setting)  # warm
        for number in range(rounds):
            variants = [(tracer, ("first", "cpu", "rate")) for tracer in chosen(number, few)]
            shift = number % len(variants)
            got.one(variants[shift:] + variants[:shift], server,
                    lambda keys: measure(server, setting))
    finally:
        server.stop()
    return tables(got, setting)


def run(scratch, rounds, few=False):
    result = {}
    for setting in SETTINGS:
        result.update(run_setting(scratch, setting, rounds, few))
    return result


def run_few(scratch, rounds):
    return run(scratch, rounds, few=True)
