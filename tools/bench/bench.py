#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What jankbpf costs, in one run beside its peers: `make bench`.

Rounds are interleaved (base, jankbpf, peers, base, …) and compared within a round, because this
machine may be slower a minute later. A missing peer is mentioned. Missed targets do not fail the
run.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import encoding  # noqa: E402
import micro  # noqa: E402
import own  # noqa: E402
import redis  # noqa: E402
from targets import Scratch, cpus  # noqa: E402

# name: function, its default number of rounds
PARTS = {"micro": (micro.run, 5), "redis": (redis.run, 6), "own": (own.run, 5), "encoding": (encoding.run, 5)}
README = {"redis": (redis.run_few, 20), "micro": (micro.run_few, 15), "own": (own.run, 5)}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--rounds", type=int, help="of each part, instead of its own number")
    parser.add_argument("--readme", action="store_true", help="what the README shows: few tracers, many pairs of redis")
    parser.add_argument("--json", default=".output/bench.json", help="where the figures go")
    opts = parser.parse_args()
    for part in opts.parts:
        if part not in PARTS:
            parser.error(f"'{part}': no such part; known are {', '.join(PARTS)}")
    if opts.rounds is not None and opts.rounds < 1:
        parser.error(f"--rounds {opts.rounds}: at least 1")
    return opts


def foreign_programs():
    """BPF programs that are already attached to the same events: they slow down the base, too."""
    kinds = ("tracing", "tracepoint", "raw_tracepoint", "kprobe", "perf_event")
    try:
        shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)
        return sum(prog["type"] in kinds for prog in json.loads(shown.stdout))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def commit():
    """What was measured; None: the sources are not in git."""
    shown = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None


def machine():
    uname = platform.uname()
    return {"kernel": uname.release, "arch": uname.machine, "cpus": len(cpus()), "date": time.strftime("%Y-%m-%d"),
            "commit": commit(), "load": os.getloadavg()[0], "foreign_programs": foreign_programs()}


def show_machine(state):
    print("{kernel} {arch}, {cpus} CPUs, load {load:.1f}".format(**state))
    if state["load"] > 0.5 * state["cpus"] or state["foreign_programs"]:
        print(f"The machine is not quiet (BPF programs of others: {state['foreign_programs']}): "
              "take these figures for preliminary.")


def run_parts(scratch, opts):
    result = {}
    parts = README if opts.readme else PARTS
    for part in opts.parts or parts:
        run, rounds = parts[part]
        if opts.rounds and (part == "redis" or not opts.readme):
            rounds = opts.rounds
        tables = run(scratch, rounds)
        for table in tables.values():
            table.show()
        sys.stdout.flush()
        result[part] = {key: table.json() for key, table in tables.items()}
    return result


def main():
    opts = options()
    if os.geteuid():
        print("bench: tracing needs root: sudo make bench", file=sys.stderr)
        return 77
    state, scratch = machine(), Scratch()
    show_machine(state)
    try:
        result = {"machine": state, "parts": run_parts(scratch, opts)}
    finally:
        scratch.remove()
    with open(opts.json, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(f"\nall figures: {opts.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
