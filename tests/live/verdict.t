#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf's verdicts on every kind of fault that simjank makes, compared with its truth.

Several runs, because the same fault must have the same signature in each. VERDICT_COUNT=30 makes
that many incidents of each scenario and requires a release's rates. By default there are a few, of
which a busy neighbour may spoil one or two.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import faults  # noqa: E402
from live import Tap, need  # noqa: E402
import truth  # noqa: E402

COUNT = int(os.environ.get("VERDICT_COUNT", "4"))
RUNS = 2 if COUNT < 30 else 3
FULL = COUNT >= 30
# The rates that must be right, of those that can be judged: with enough incidents, and with a few.
GOALS = {"kind": (0.98, 0.9), "what": (0.98, 0.9), "culprit": (0.95, 0.85), "object": (0.95, 0.85),
         "sentence": (0.95, 0.85), "innocent": (0.95, 0.85), "grouping": (0.9, 0.8),
         "separation": (0.95, 0.9)}


def run(tap, verdicts, scenario, count):
    try:
        judgement = faults.run(scenario, count, verdicts)
    except RuntimeError as error:
        tap.check(False, f"{scenario} runs", error)
        return
    missing = [truth.describe(each) for each in judgement.missing()]
    tap.check(not missing, f"{scenario}: every dispatch over the threshold is a block", *missing)
    if judgement.truth.summary["left_out"]:
        tap.note(f"not possible here: {', '.join(judgement.truth.summary['left_out'])}")


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
    tap, verdicts = Tap(), truth.Verdicts()
    for _ in range(RUNS):
        run(tap, verdicts, "all", len(faults.names_of_all()) * -(-COUNT // RUNS))
        for name in faults.LONE:
            run(tap, verdicts, name, -(-COUNT // RUNS))
    check(tap, verdicts, faults.names())
    for line in [*verdicts.lines(), *verdicts.wrong]:
        tap.note(line)
    tap.end()


if __name__ == "__main__":
    main()
