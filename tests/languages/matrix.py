#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: matrix.py [-v] [--long=ROUNDS] LANGUAGE=PROGRAM[,ARGUMENT]...

Known stalls in each program, warm and from the start; a table in Markdown. ARGUMENT: an option of the runtime, or a word for the
program. --long: every frame of so many rounds against what the program does there."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402


def version_of(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return " ".join(done.stdout.split("\n")[0].split()[:2])


def split(arguments):
    """Options of the runtime, and arguments of the program."""
    return [a for a in arguments if a.startswith("-")], [a for a in arguments if not a.startswith("-")]


def total(results, what):
    return sum(getattr(r, what) for r in results)


def row(name, program, arguments, warm, verbose):
    results, trace = cases.run(name, program, warm, *split(arguments))
    right = [case for case, r in results.items() if r.is_right]
    good, bad = (sum(r.lines[is_good] for r in results.values()) for is_good in (True, False))
    wrong = sum(sum(r.wrong.values()) for r in results.values())
    missed = ", ".join(f"{case}: {results[case].blamed}" for case in results if case not in right)
    what = ", ".join([version_of(program), *arguments, "warm" if warm else "from the start"])
    print(f"| {name} {what} | {total(results.values(), 'named')} of {total(results.values(), 'stacks')} "
          f"| {len(right)} of {len(results)} | {good} of {good + bad} | {wrong} | {missed} |", flush=True)
    if verbose:
        for case, r in results.items():
            print(f"#   {case}: {r.named} of {r.stacks}, lines {dict(r.lines)} not {dict(r.off)}, wrong {dict(r.wrong)}: {r.summary}",
                  *r.missed, sep="\n#      missed ")
        trace.keep(f"/var/tmp/jank-languages-{name}-{'warm' if warm else 'start'}.jsonl")


def long_row(name, program, arguments, rounds):
    """Each frame of the program against the functions that the case has there."""
    results, trace = cases.run_all(name, program, True, *split(arguments), repeat=rounds)
    every = [r for each in results.values() for r in each]
    wrong = [f"{case}: {what} in {stack}" for case, each in results.items() for r in each for what, stack in r.wrong_stacks.items()]
    print(f"| {name} {', '.join([version_of(program), *arguments])} | {total(every, 'frames')} | {'; '.join(wrong) or 0} "
          f"| {total(every, 'named')} of {total(every, 'stacks')} | {total(every, 'is_right')} of {len(every)} |", flush=True)


def main():
    programs = [each for each in sys.argv[1:] if "=" in each and not each.startswith("-")]
    rounds = next((int(each[len("--long="):]) for each in sys.argv[1:] if each.startswith("--long=")), 0)
    if rounds:
        print("| program | frames of it | wrong functions | stacks with its function | right function blamed |\n|---|---|---|---|---|",
              flush=True)
    else:
        print("| program | stacks with the program's function | right function blamed | right line | wrong names | missed |\n"
              "|---|---|---|---|---|---|", flush=True)
    for each in programs:
        name, _, program = each.partition("=")
        program, *arguments = program.split(",")
        if rounds:
            long_row(name, program, arguments, rounds)
        for warm in () if rounds else (False, True):
            row(name, program, arguments, warm, "-v" in sys.argv[1:])


if __name__ == "__main__":
    main()
