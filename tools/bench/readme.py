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


def per_cent(value):
    return f"{'+' if value >= 0 else '−'} {abs(value):.1f} %"


def share(row):
    ends = row["interval"]
    return per_cent(row["median"]) + (f" ({per_cent(ends[0])} to {per_cent(ends[1])})" if ends else "")


def added_ns(row):
    return f"+ {row['median']:,.0f} ns ({row['per_cent_of_base']:.0f} %)"


# title, part, table, how a row is said
LINES = (
    ("redis, 50 clients: CPU a request", "redis", "redis_cpu", share),
    ("the same when the load begins", "redis", "redis_first", share),
    ("redis, one client on its CPU", "redis", "redis_one_cpu", share),
    ("the same when the load begins", "redis", "redis_one_first", share),
    ("one dispatch", "micro", "epoll", added_ns),
    ("own CPU at 20,000 dispatches/s", "own", "own_cpu", lambda row: f"{row['median']:.1f} %"),
    ("own memory (PSS)", "own", "own_pss", lambda row: f"{row['median']:.0f} MB"),
    ("start until at work", "own", "start_ready", lambda row: f"{row['median'] / 1000:.2f} s"),
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
    kernel = ".".join(machine["kernel"].split(".")[:2])
    return "\n".join((
        *paragraph(f"One run of `make bench-readme` on {machine['date']} in a virtual machine with {machine['cpus']} CPUs "
                   f"(kernel {kernel}), of commit {machine['commit']}: medians; in brackets, where the median lies with a "
                   f"probability of 95 %, by {pairs} pairs of a traced and an untraced run. Other runs have other figures "
                   "for the peers, too ([docs/peers.md](docs/peers.md)):"), "",
        *table(bench), "",
        *paragraph("A load begins after a calm second, when messages have their probes. A dispatch is a round of epoll, of "
                   f"{base:,.0f} ns. Ctrl-C ends a trace in {stop / 1000:.2f} s. Its processes, and their memory in MB: "
                   f"{processes(bench)}."), "",
        *paragraph("bpftrace by tracepoints shows only gaps. System calls of every process get slower by some 60 ns while "
                   "system-call tracepoints are in use, as with any tool that uses them. What named messages cost: "
                   "[docs/kernel-facts.md][cost]."), "",
        "[cost]: docs/kernel-facts.md#what-jankbpf-costs-with-messages-named", ""))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bench = json.load(file)
    with open(README, encoding="utf-8") as file:
        readme = file.read()
    with open(README, "w", encoding="utf-8") as file:
        file.write(re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + text(bench) + END, readme,
                          flags=re.DOTALL))


main()
