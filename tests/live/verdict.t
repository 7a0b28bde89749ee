#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whose fault: jankbpf's verdicts of every kind of fault that simjank makes, held against its truth.

Over several runs, since the same fault must have the same signature in each. VERDICT_COUNT=30 has that many
incidents of each scenario and asks for what a release must reach; by default there are a few, of which
one or two may be a busy neighbour's doing.
"""
import os
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..")]
from live import JANKBPF, ROOT, Tap, need  # noqa: E402
import truth  # noqa: E402

COUNT = int(os.environ.get("VERDICT_COUNT", "4"))
RUNS = 2 if COUNT < 30 else 3
FULL = COUNT >= 30
NO_BLOCK = ("stopped",)  # time stopped by a debugger or a shell is nobody's jank
LONE = ("swap", "reclaim")  # each changes the whole process
# What must be right, of those that can be judged: with enough incidents, and with a few.
GOALS = {"kind": (0.98, 0.9), "what": (0.98, 0.9), "culprit": (0.95, 0.85), "object": (0.95, 0.85),
         "sentence": (0.95, 0.85), "innocent": (0.95, 0.85), "grouping": (0.9, 0.8),
         "separation": (0.95, 0.9)}
ARGS = types.SimpleNamespace(threshold=25 * 10**6, guard=8 * 10**6, hang=0, debugging=False, loop=None)


def simjank(folder, scenario, count):
    """One run under jankbpf: the truth and the blocks. `all` counts dispatches, of whatever scenario. Of a better
    priority than busy neighbours, of whose CPU time the truth knows nothing."""
    truth_path, blocks = os.path.join(folder, "truth"), os.path.join(folder, "blocks")
    with open(blocks, "wb") as out:
        done = subprocess.run([JANKBPF, "-q", "--json", "-t", "25ms", "--", os.path.join(ROOT, "simjank"), "--quiet",
                               "--scenario", scenario, "--count", str(count), "--length", "40ms-70ms", "--gap", "20ms",
                               "--start-delay", "500ms", "--truth", truth_path],
                              stdout=out, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
                              preexec_fn=lambda: os.nice(-10))
    if done.returncode:
        raise RuntimeError(f"{scenario}: status {done.returncode}, {done.stderr.strip()}")
    return truth.Truth(truth_path), truth.read_lines(blocks)


def scenarios_of_all():
    """How many there are in `all` here, by its help: those not marked."""
    lines = subprocess.run([os.path.join(ROOT, "simjank"), "--help"], capture_output=True, text=True, check=True
                           ).stdout.split("Scenarios", 1)[1].splitlines()[1:]
    return [line.split()[0] for line in lines if line.startswith("  ") and line[16:17] == " "]


def run(tap, verdicts, scenario, count):
    with tempfile.TemporaryDirectory(prefix="verdict-") as folder:
        try:
            known, blocks = simjank(folder, scenario, count)
        except RuntimeError as error:
            tap.check(False, f"{scenario} runs", error)
            return
        judgement = truth.Judgement(known, ARGS)
        judgement.verdicts = verdicts
        for record in blocks:
            judgement.add(record)
        missing = [truth.describe(each) for each in judgement.missing()]
        tap.check(not missing, f"{scenario}: every dispatch over the threshold is a block", *missing)
        if known.summary["left_out"]:
            tap.note(f"cannot be had here: {', '.join(known.summary['left_out'])}")


def check(tap, verdicts, names):
    figures = verdicts.figures()
    figures["grouping"] = {"rate": figures["grouping"]}
    figures["separation"] = {"rate": figures["separation"]}
    for name, goals in GOALS.items():
        rate, goal = figures[name].get("rate", 0.0), goals[not FULL]
        tap.check(rate >= goal, f"{name}: {100 * rate:.1f} % right, {100 * goal:g} % wanted",
                  *[wrong for wrong in verdicts.wrong if f": {name} is " in wrong][:20])
    few = [name for name in names if verdicts.by_scenario[name]["kind"].count() < COUNT]
    tap.check(not few, f"there were {COUNT} incidents of each scenario", few)


def main():
    need()
    tap, verdicts, names = Tap(), truth.Verdicts(), scenarios_of_all()
    for _ in range(RUNS):
        run(tap, verdicts, "all", len(names) * -(-COUNT // RUNS))
        for name in LONE:
            run(tap, verdicts, name, -(-COUNT // RUNS))
    check(tap, verdicts, [*(name for name in names if name not in NO_BLOCK), *LONE])
    for line in [*verdicts.lines(), *verdicts.wrong]:
        tap.note(line)
    tap.end()


if __name__ == "__main__":
    main()
