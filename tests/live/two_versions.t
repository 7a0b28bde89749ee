#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two copies of a runtime at once, of two versions if there are two, one of them in a mount namespace, where its path does
not exist outside: functions of both have their names, and their own. JANK_NODES (paths, separated by colons) adds versions."""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "languages"))
from java import machines  # noqa: E402
from live import Tap, need  # noqa: E402
import cases  # noqa: E402

ENOUGH = 0.95
KINDS = {"node": ("busy", "json", "fifo", "method", "closure"), "java": ("busy", "fifo", "lock", "recursion")}
JDKS = (17, 18, 21, 25)  # whose layout is known
# $0: a folder in which the namespace alone sees the runtime; $1: that of the runtime outside; $2: a program there.
COPY = 'mount -t tmpfs none "$0" && cp "$1/$2" "$0/engine" && shift 2 && exec "$0/engine" "$@"'
BIND = 'mount --bind "$1" "$0" && program="$0/$2" && shift 2 && exec "$program" "$@"'


def container(folder, script, home, command):
    """The command of a program below home, in a mount namespace."""
    room = os.path.join(folder, "room")
    os.mkdir(room)
    return ["unshare", "--mount", "sh", "-c", script, room, home, os.path.relpath(command[0], home), *command[1:]]


def check(tap, what, name, trace, program, moments):
    results = cases.best_of(cases.all_results_of(name, trace, program, moments))
    for case, result in results.items():
        tap.check(result.is_right, f"{what}: {case}: {cases.RUNTIMES[name].cases[case].functions[0]} is blamed", result.blamed,
                  result.summary)
    stacks, named = (sum(getattr(r, what) for r in results.values()) for what in ("stacks", "named"))
    tap.check(stacks and named >= min(ENOUGH * stacks, stacks - 1), f"{what}: the stacks have the program's functions", f"{named} of {stacks}",
              *[stack[:5] for r in results.values() for stack in r.missed][:3])
    wrong = {case: dict(r.wrong) for case, r in results.items() if r.wrong}
    tap.check(not wrong, f"{what}: no function is wrong", wrong)


def run(tap, name, outside, script, home, inside):
    """outside, inside: the paths of the runtimes; home: what the namespace sees elsewhere."""
    runtime = cases.RUNTIMES[name]
    with tempfile.TemporaryDirectory(prefix="jank-versions-", dir="/var/tmp") as folder:
        commands = [cases.command_of(name, outside, folder),
                    container(folder, script, home, cases.command_of(name, inside, folder))]
        programs = [cases.Stalls(runtime, command, folder) for command in commands]
        exe = os.readlink(f"/proc/{programs[1].pid}/exe")
        tap.check(exe.startswith(folder) and not os.path.exists(exe), f"{name}: the path is the namespace's alone", exe)
        trace, moments = cases.trace_cases(programs, KINDS[name])
        for what, program, each in zip((outside, f"{inside} in a namespace"), programs, moments):
            check(tap, what, name, trace, program, each)
        missing = [line for line in trace.messages if "has no names" in line]
        tap.check(not missing, f"{name}: nobody is told that names are missing", *missing)


def main():
    need("node", "unshare")
    tap = Tap()
    node = os.path.realpath(shutil.which("node"))
    other = [*filter(None, os.environ.get("JANK_NODES", "").split(":")), node][0]
    run(tap, "node", node, COPY, os.path.dirname(other), other)
    javas = [each for each in machines() if each[0] in JDKS]
    if javas and shutil.which("javac"):
        first, last = (os.path.realpath(shutil.which(java)) for _, java in (javas[0], javas[-1]))
        run(tap, "java", first, BIND, os.path.dirname(os.path.dirname(last)), last)
    else:
        tap.skip(1, "java and javac are not installed")
    tap.end()


if __name__ == "__main__":
    main()
