#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""readme.py BENCH.json: puts the figures of one run of `make bench` into the README's part "What it costs"."""
import json
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
BEGIN, END = "<!-- overhead -->\n", "<!-- /overhead -->"

COLUMNS = (
    ("jankbpf, everything on", "jankbpf, all on (-F 99)"),
    ("bpftrace, tracepoints", "bpftrace, tracepoints"),
    ("perf record -F 99", "perf record -F 99"),
)
# of own.py's steady state
STEADY = {"jankbpf, everything on": "jankbpf, simjank 20,000/s",
          "bpftrace, tracepoints": "bpftrace tracepoints, simjank 20,000/s"}


def signed(value, digits=0):
    return f"{'+' if value >= 0 else '−'} {abs(value):.{digits}f}"


def share(row):
    ends = row["interval"]
    return signed(row["median"], 1) + " %" + (f" ({signed(ends[0])} to {signed(ends[1])})" if ends else "")


def added_ns(row):
    return f"+ {row['median']:,.0f} ns ({row['per_cent_of_base']:.0f} %)"


def seconds(row):
    return f"{row['median'] / 1000:.2f} s"


# title, part, table, how a row is said
LINES = (
    ("redis, 50 clients", "redis", "redis_cpu", share),
    ("as the load begins", "redis", "redis_first", share),
    ("redis, one client", "redis", "redis_one_cpu", share),
    ("as the load begins", "redis", "redis_one_first", share),
    ("one dispatch", "micro", "epoll", added_ns),
    ("own memory", "own", "own_pss", lambda row: f"{row['median']:.0f} MB"),
    ("start until at work", "own", "start_first", seconds),
    ("until all is attached", "own", "start_ready", seconds),
)


def rows_of(bench, part, table):
    rows = bench["parts"][part][table]["rows"]
    return {row["name"]: row for row in rows if "median" in row}


def cell(rows, column, name, say):
    row = rows.get(name) or rows.get(STEADY.get(column))
    return say(row) if row else ""


def table(bench):
    yield "| | " + " | ".join(column for column, _ in COLUMNS) + " |"
    yield "|---|" + "---|" * len(COLUMNS)
    for title, part, key, say in LINES:
        rows = rows_of(bench, part, key)
        yield f"| {title} | " + " | ".join(cell(rows, *column, say) for column in COLUMNS) + " |"


def processes(bench):
    rows = rows_of(bench, "own", "own_processes")
    return ", ".join(f"`{name}` {row['median']:.1f}" for name, row in rows.items())


def paragraph(words):
    return textwrap.wrap(words, 100, break_long_words=False, break_on_hyphens=False)


def text(bench):
    machine = bench["machine"]
    pairs = len(rows_of(bench, "redis", "redis_cpu")[COLUMNS[0][1]]["rounds"])
    base = rows_of(bench, "micro", "epoll")["base"]["median"]
    stop = rows_of(bench, "own", "stop")[COLUMNS[0][1]]["median"]
    cpu = rows_of(bench, "own", "own_cpu")[STEADY[COLUMNS[0][0]]]["median"]
    kernel = ".".join(machine["kernel"].split(".")[:2])
    return "\n".join((
        *paragraph(f"One run of `make bench-readme` on {machine['date']} in a virtual machine with {machine['cpus']} CPUs "
                   f"(kernel {kernel}), of commit {machine['commit']}: medians; of redis the CPU time a request, with the "
                   f"95 % interval of the median of {pairs} pairs ([peers](docs/peers.md) have other figures in other runs):"), "",
        *table(bench), "",
        *paragraph("A load begins after a calm second, when messages have their probes ([cost](docs/kernel-facts.md)). A "
                   f"dispatch is a round of epoll, of {base:,.0f} ns; own CPU is {cpu:.1f} % at 20,000 a second. "
                   f"Ctrl-C ends a trace in {stop / 1000:.2f} s. Memory (PSS) in MB: {processes(bench)}. System calls of every process get slower by some 60 ns while "
                   "system-call tracepoints are in use, as with any tool that uses them. `make bench` measures on your "
                   "machine; the summary of every run shows its own cost."), ""))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bench = json.load(file)
    with open(README, encoding="utf-8") as file:
        readme = file.read()
    with open(README, "w", encoding="utf-8") as file:
        file.write(re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + text(bench) + END, readme,
                          flags=re.DOTALL))


main()
