#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: matrix.py [-v] LANGUAGE=PROGRAM[,ARGUMENT]...: known stalls in each, warm and from the start; a table in Markdown."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402


def version_of(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return " ".join(done.stdout.split("\n")[0].split()[:2])


def row(name, program, arguments, warm, verbose):
    options = [a for a in arguments if a.startswith("-")]
    results, trace = cases.run(name, program, warm, options, [a for a in arguments if not a.startswith("-")])
    right = [case for case, r in results.items() if r.is_right]
    stacks, named = (sum(getattr(r, what) for r in results.values()) for what in ("stacks", "named"))
    good, bad = (sum(r.lines[is_good] for r in results.values()) for is_good in (True, False))
    wrong = sum(sum(r.wrong.values()) for r in results.values())
    missed = ", ".join(f"{case}: {results[case].blamed}" for case in results if case not in right)
    what = ", ".join([version_of(program), *arguments, "warm" if warm else "from the start"])
    print(f"| {name} {what} | {named} of {stacks} | {len(right)} of {len(results)} "
          f"| {good} of {good + bad} | {wrong} | {missed} |", flush=True)
    if verbose:
        for case, r in results.items():
            print(f"#   {case}: {r.named} of {r.stacks}, lines {dict(r.lines)} not {dict(r.off)}, wrong {dict(r.wrong)}: {r.summary}",
                  *r.missed, sep="\n#      missed ")
        trace.keep(f"/var/tmp/jank-languages-{name}-{'warm' if warm else 'start'}.jsonl")


def main():
    verbose = "-v" in sys.argv[1:]
    print("| program | stacks with the program's function | right function blamed | right line | wrong names | missed |")
    print("|---|---|---|---|---|---|", flush=True)
    for each in sys.argv[1:]:
        if each == "-v":
            continue
        name, _, program = each.partition("=")
        program, *arguments = program.split(",")
        for warm in (False, True):
            row(name, program, arguments, warm, verbose)


if __name__ == "__main__":
    main()
