#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""JavaScript's functions without any flag of node: each kind of stall blames the function that the
program wrote, with its line. make languages does the same with more versions."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "languages"))
from live import Tap, need  # noqa: E402
import cases  # noqa: E402


def main():
    need("node")
    tap = Tap()
    results, trace = cases.run("node", "node", warm=True)
    for case, result in results.items():
        wanted = cases.RUNTIMES["node"].cases[case]
        # the collector's caller is not what took the time
        is_collected = case == "collection" and "garbage collection" in result.summary
        tap.note(result.summary)
        tap.check(result.is_right or is_collected, f"{case}: {wanted.functions[0]} is blamed", result.blamed, result.summary)
        tap.check(wanted.words in result.summary, f"{case}: the sentence says what it called", result.summary)
    stacks, named = (sum(getattr(r, what) for r in results.values()) for what in ("stacks", "named"))
    good, bad = (sum(r.lines[is_good] for r in results.values()) for is_good in (True, False))
    tap.check(stacks and named >= 0.97 * stacks, "the stacks with JavaScript have the program's functions", f"{named} of {stacks}")
    tap.check(good and good >= 0.95 * (good + bad), "their lines are right", f"{good} of {good + bad}",
              {case: dict(r.lines) for case, r in results.items()})
    wrong = sum((r.wrong for r in results.values()), start=cases.collections.Counter())
    tap.check(not wrong, "no function is wrong", dict(wrong))
    tap.check(not [m for m in trace.messages if "has no names" in m], "nobody is told to start node with a flag", trace.messages)
    tap.end()


if __name__ == "__main__":
    main()
