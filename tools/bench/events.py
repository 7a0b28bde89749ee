#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions of each probe at an event, of the helpers that it calls too: events.py ARCH/SERIES... Each kernel runs
tools/bench_events.c in a guest whose clocks advance by a nanosecond with each instruction, with typed and with plain
probes. Prints a table for docs/kernel-facts.md; an empty program's instructions are taken off."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402

TIMEOUT_S = 1800
RUNS_LEAST = 100 # of a program: others only ran by chance
SCRIPT = """
/bench_events >/out/typed 2>/out/typed.err
/bench_events plain >/out/plain 2>/out/plain.err
exit 0
"""


def figures(text):
    """{program: instructions at an event}"""
    rows = [line.split() for line in text.splitlines()]
    empty = next((int(ns) for name, _, ns in rows if name == "empty"), 0)
    return {name.removeprefix("jank_on_"): int(ns) - empty for name, runs, ns in rows if int(runs) >= RUNS_LEAST}


def columns(name):
    """[(title, figures)] of a kernel."""
    kernel = kernels.get(name)
    program = guests.static(kernel.arch, "bench_events")
    guests.need_built([program], "deps-cross bench-events")
    with tempfile.TemporaryDirectory(prefix="jank-events-") as folder:
        result = guests.boot(kernel, SCRIPT, folder, [(program, "/bench_events")], timeout_s=TIMEOUT_S, counted=True)
        if result.status:
            raise RuntimeError(f"{name}: {result.why}\n{result.last_lines()}")
        found = [(f"{name}, {way}", figures(guests.text(os.path.join(folder, way)))) for way in ("typed", "plain")]
        for title, row in found:
            if not row:
                print(f"{title}: {guests.text(os.path.join(folder, title.split()[-1] + '.err'))}", file=sys.stderr)
    return found


def main(names):
    found = []
    for name in names:
        try:
            found += columns(name)
        except (apt.Unavailable, RuntimeError) as why:
            print(f"{name}: {why}", file=sys.stderr)
    programs = sorted({program for _, row in found for program in row})
    print("| instructions an event | " + " | ".join(title for title, _ in found) + " |")
    print("|---|" + "---|" * len(found))
    for program in programs:
        print(f"| {program} | " + " | ".join(f"{row[program]:,}" if program in row else "" for _, row in found) + " |")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
