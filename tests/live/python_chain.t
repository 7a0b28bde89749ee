#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A handler in Python waits for a thread that runs Python, too: the chain's links have its
functions and lines of the right moment, or none. Runs with the machine's python3, and those that
JANK_PYTHONS names (paths, separated by colons)."""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import JANKBPF, MS, Lettered, Moment, Tap, Trace, check_run, headline, need, twice, wait_for  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "python_chain.py")
THREAD = ["worker", "Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]
OTHER = ["answer", "<module>"]
# letter, what, whose (a thread of its own process, or of the other process), the function to name,
# its stack and its waking stack, the innermost function's line in both (None: any), can it be seen
# while it works? A thread that fell asleep before cannot.
STALLS = [
    ("l", "a lock held by a sleeping thread", "own", "hold_asleep", ["hold_asleep", *THREAD], ["hold_asleep", *THREAD], [None, "asleep"], False),
    ("n", "a lock held by a thread that sleeps again and again", "own", "hold_in_naps", ["hold_in_naps", *THREAD],
     ["hold_in_naps", *THREAD], ["naps", None], True),
    ("b", "a lock held by a computing thread", "own", "busy_until", ["busy_until", "hold_busy", *THREAD],
     ["hold_busy", *THREAD], ["busy", None], True),
    ("p", "a pipe's other end that slept", "other", "answer_late", ["answer_late", *OTHER],
     ["answer_late", *OTHER], [None, "answer"], False),
    ("q", "a pipe's other end that computed", "other", "busy_until", ["busy_until", "answer_busy", *OTHER],
     ["answer_busy", *OTHER], ["busy", None], True),
]
PROBES = [("typed probes", []), ("plain probes", ["--disable-feature", "task_storage"])]


def lines():
    """The marked lines of the program."""
    with open(PROGRAM, encoding="utf-8") as source:
        marks = ((re.search(r"# line: (\w+)", line), nr) for nr, line in enumerate(source, 1))
        return {mark.group(1): nr for mark, nr in marks if mark}


def python_frames(link, key):
    return [f for f in link.get(key, ()) if f.get("language") == "python"]


def names(link, key):
    return [f.get("function") for f in python_frames(link, key)]


def is_same_way(got, want):
    """A tick finds a busy thread in its function, or just before or after it."""
    return got == want or (got and want and got == want[1:])


def first_link(block):
    return ((block or {}).get("chain") or [{}])[0]


def is_at(link, key, function, line):
    """The innermost frame, if it is that function's, is at that line."""
    top = python_frames(link, key)[:1]
    return line is None or not top or top[0]["function"] != function or top[0]["line"] == line


def is_right(link, row, where):
    """What is there is right. Beside a busy neighbour some moments are missing (evidence_shed)."""
    done = names(link, "stack")
    return ((names(link, "wake_stack") == row[5] or not link.get("wake_stack")) and (not done or is_same_way(done, row[4])) and
            is_at(link, "stack", row[4][0], where.get(row[6][0])) and
            is_at(link, "wake_stack", row[5][0], where.get(row[6][1])))


def check_stall(tap, what, blocks, row, program, where, shed):
    pid = program.pid if row[2] == "own" else program.other
    if not tap.check(all(blocks), f"{what}: each time there is a block"):
        return
    links = [first_link(block) for block in blocks]
    tap.check(all(link.get("pid") == pid for link in links), f"{what}: the thread is known", *map(headline, blocks))
    for link in links:
        tap.check(is_right(link, row, where), f"{what}: its functions and line", python_frames(link, "stack"),
                  python_frames(link, "wake_stack"), where)
    tap.check(shed or not row[7] or any(names(link, "stack") for link in links), f"{what}: while it worked")
    tap.check(shed or any(names(link, "wake_stack") for link in links), f"{what}: when it ended the wait")
    words = [block["cause"]["summary"] for block in blocks]
    # for a thread that got no CPU, the function that ended the wait is named
    functions = {row[3], row[4][0], row[5][0]}
    named = [any(f"{name} (python_chain.py)" in text for name in functions) for text in words]
    tap.check(shed or all(named), f"{what}: in words", *words)


def check_interpreter(tap, what, blocks, shed):
    """The handler waits for the interpreter's lock in slices of 5 ms. That is one wait, for the
    last holder."""
    links = [first_link(block) for block in blocks]
    ours = ["keep_interpreter", *THREAD]
    right = [link for link in links if names(link, "stack") == ours and link.get("ns", 0) > 20 * MS]
    tap.check(shed or right, f"{what}: the thread that kept the interpreter's lock", *links)
    wrong = [link for link in links if names(link, "stack") not in (ours, [])]
    tap.check(not wrong, f"{what}: no other thread is named", *wrong)
    words = [block["cause"]["summary"] for block in blocks if block]
    tap.check(any("for the interpreter's lock" in text for text in words), f"{what}: the sentence names what was waited for", *words)
    tap.check(shed or any("interpreter's lock last held by" in text and "keep_interpreter (python_chain.py)" in text
                          for text in words), f"{what}: in words", *words)


def check_unknown(tap, what, block):
    """A process that was never seen has no frames."""
    tap.check(block, f"{what}: there is a block")
    link = first_link(block)
    tap.check(link and not names(link, "stack") + names(link, "wake_stack"), f"{what}: a thread that was not known has no frames",
              names(link, "stack"), names(link, "wake_stack"))


def check_late(tap, what, blocks, shed):
    """Threads of the program itself that began meanwhile are known at once, unless a busy neighbour
    hid them."""
    got = [names(first_link(block), "wake_stack") for block in blocks]
    tap.check(shed or STALLS[0][5] in got, f"{what}: a thread that began a second ago is known", *got)


def check_replay(tap, what, trace):
    done = subprocess.run([JANKBPF, "-q", "--json", "replay", trace.journal], capture_output=True, text=True,
                          timeout=60, check=False)
    again = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "block"]
    both = [(a.get("chain"), b.get("chain")) for a, b in zip(trace.all_blocks, again)]
    differ = [(a, b) for a, b in both if a != b]
    tap.check(len(again) == len(trace.all_blocks) and any(a for a, _ in both) and not differ,
              f"{what}: a replay has the same chains", *differ[:1])


def until_known(trace, pid):
    """Until jankbpf has learned the threads of its interpreter."""
    wait_for(lambda: any(re.search(rf"process {pid}: \d+ threads have an interpreter's frames", line) for line in trace.messages),
             what="the interpreter")


def run(tap, what, path, options):
    program = Lettered([path, PROGRAM])
    program.other = int(program.process.stdout.read(7))
    moments, where = {}, lines()
    try:
        with Trace(program.pid, threshold="40ms", options=["-v", *options]) as trace:
            until_known(trace, program.pid)
            with Moment() as unknown:
                program.do("p")  # the other process is known after the first wait for it
            until_known(trace, program.other)
            for row in STALLS:
                # checks of a thread depend on chance: a busy machine needs more of them
                tries = 2 if row[7] else 1
                moments[row[0]] = [moment for _ in range(tries) for moment in twice(program.do, row[0])]
            interpreter = [moment for _ in range(2) for moment in twice(program.do, "g")]
            late = []
            for _ in range(2):
                program.do("w")
                time.sleep(1.5)  # until its thread is
                late.append(twice(program.do, "l")[0])
    finally:
        program.end()
    check_run(tap, trace, what)
    shed = (trace.summary.get("lost") or {}).get("evidence_shed")
    check_unknown(tap, f"{what}: the first answer", unknown.block(trace.blocks))
    for row in STALLS:
        blocks = [m.block(trace.blocks) for m in moments[row[0]]]
        check_stall(tap, f"{what}: {row[1]}", blocks, row, program, where, shed)
    check_interpreter(tap, what, [moment.block(trace.blocks) for moment in interpreter], shed)
    check_late(tap, what, [moment.block(trace.blocks) for moment in late], shed)
    check_replay(tap, what, trace)


def version_of(path):
    """(3, 11) and so on; None: it does not run."""
    done = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True,
                          check=False)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def main():
    need()
    tap = Tap()
    paths = {"/usr/bin/python3", *filter(None, os.environ.get("JANK_PYTHONS", "").split(":"))}
    known = [(version_of(path), path) for path in sorted(filter(os.path.exists, paths))]
    known = [(version, path) for version, path in known if version and (3, 11) <= version <= (3, 13)]
    for version, path in known:
        for probes, options in PROBES:
            run(tap, f"Python {version[0]}.{version[1]}, {probes}", path, options)
    if not known:
        tap.skip("Python 3.11 to 3.13", "not here; JANK_PYTHONS can name others")
    tap.end()


if __name__ == "__main__":
    main()
