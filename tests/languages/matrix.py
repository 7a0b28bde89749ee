#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: matrix.py NODE...: stalls.js on each node, warm and from its start; a table in Markdown."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import node_cases  # noqa: E402


def row(node, warm):
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results, _ = node_cases.run(node, warm)
    right = [case for case, r in results.items() if r.blamed == node_cases.CASES[case][0]]
    stacks, named = (sum(getattr(r, what) for r in results.values()) for what in ("stacks", "named"))
    good, bad = (sum(r.lines[is_good] for r in results.values()) for is_good in (True, False))
    wrong = sum(sum(r.wrong.values()) for r in results.values())
    missed = ", ".join(f"{case}: {results[case].blamed}" for case in results if case not in right)
    print(f"| {version}, {'warm' if warm else 'from the start'} | {named} of {stacks} | {len(right)} of {len(results)} "
          f"| {good} of {good + bad} | {wrong} | {missed} |", flush=True)


def main():
    print("| node | stacks with the program's function | right function blamed | right line | wrong names | missed |")
    print("|---|---|---|---|---|---|", flush=True)
    for node in sys.argv[1:]:
        for warm in (False, True):
            row(node, warm)


if __name__ == "__main__":
    main()
