#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""CPython's own frames, compared with the interpreter's own report of its stack. Runs with the
machine's python3 and each of 3.11 to 3.13 that is installed by name; JANK_PYTHONS (paths, separated
by colons) adds others."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (JANKBPF, Lettered, Tap, Trace, block_of, check_run, frame_of, headline, need, twice, wait_for)  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "python_stalls.py")
FRAMES_MAX = 64
# letter, what, cause, function to blame
STALLS = [
    ("s", "time.sleep in a handler", "sleep", "nap"),
    ("b", "arithmetic in a method", "cpu", "Shop.count"),
    ("j", "a C extension", "cpu", "dump"),
    ("g", "generators in a coroutine", "sleep", "items"),
    ("d", "deep recursion", "sleep", "deep"),
    ("u", "a name beyond ASCII", "sleep", "größe"),
    ("t", "a loop in another thread", "sleep", "in_thread.<locals>.handler"),
]


def version_of(path):
    """(3, 11) and so on; None: it does not run."""
    done = subprocess.run([path, "-c", "import sys, platform; print(*sys.version_info[:2], platform.python_implementation())"],
                          capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return (int(words[0]), int(words[1])) if len(words) == 3 and words[2] == "CPython" else None


def pythons():
    """Path by version; the machine's own first."""
    found = {}
    names = ["/usr/bin/python3", *os.environ.get("JANK_PYTHONS", "").split(":"),
             *(f"python3.{minor}" for minor in (11, 12, 13))]
    for path in filter(None, map(shutil.which, filter(None, names))):
        version = version_of(path)
        if version and (3, 11) <= version <= (3, 13):
            found.setdefault(version, path)
    return found


def python_frames(stack):
    return [[f.get("function"), f.get("file"), f.get("line")] for f in stack if f.get("language") == "python"]


def truth_of(truth, letter):
    """As the probes see it: at most so many frames, where each entry of the interpreter may take
    one."""
    return truth[letter][:FRAMES_MAX]


def check_stack(tap, what, letter, sample, truth):
    """All frames and lines of a sleeping stack; of a running one all but the innermost, which may
    be at any line."""
    got, want = python_frames(sample["stack"]), truth_of(truth, letter)
    if sample["state"] == "running":
        at = next((i for i, frame in enumerate(got) if frame == want[0]), None)
        return at is not None and got[at:] == want
    if len(want) == FRAMES_MAX:
        return len(got) >= FRAMES_MAX - 16 and got == want[:len(got)]
    return got == want


def check_letter(tap, what, row, block, truth):
    letter, name, kind, function = row
    what = f"{what}: {name}"
    if not tap.check(block, f"{what}: there is a block"):
        return
    tap.check(frame_of(block) == function, f"{what}: {function} is to blame", headline(block))
    frame = (block.get("cause") or {}).get("frame") or {}
    tap.check(frame.get("file") == truth[letter][0][1] and frame.get("line") == truth[letter][0][2] or letter in "bj",
              f"{what}: its line is right", frame, truth[letter][0])
    state = "running" if kind == "cpu" else kind
    samples = [s for s in block["samples"] if s["state"] == state]
    right = [s for s in samples if check_stack(tap, what, letter, s, truth)]
    # a tick may be before or after the stall itself
    enough = len(right) >= 0.8 * len(samples) if kind == "cpu" else len(right) == len(samples) > 0
    wrong = [s for s in samples if s not in right]
    tap.check(enough, f"{what}: {len(right)} of {len(samples)} stacks are Python's own",
              *(python_frames(s["stack"]) for s in wrong[:2]), truth_of(truth, letter))


def is_replayed(live, replayed):
    """The same frame? Code objects of run_text that had one address, one name and one first line are
    one to a replay: each may lack what the trace could still read, or have more."""
    if "<text>" in (live[1], replayed[1]):
        return None in (live[0], replayed[0]) or live[0] == replayed[0]
    return live == replayed


def are_replayed(live, replayed):
    """The same function to blame, and the same stacks?"""
    stacks = [[python_frames(sample["stack"]) for sample in block["samples"]] for block in (live, replayed)]
    is_text = any(frame[1] == "<text>" for stack in stacks[0] + stacks[1] for frame in stack)
    return ((is_text or frame_of(live) == frame_of(replayed)) and list(map(len, stacks[0])) == list(map(len, stacks[1])) and
            all(is_replayed(*pair) for both in zip(*stacks) for pair in zip(*both)))


def check_replay(tap, what, trace):
    done = subprocess.run([JANKBPF, "-q", "--json", "replay", trace.journal], capture_output=True, text=True,
                          timeout=60, check=False)
    again = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "block"]
    differ = [pair for pair in zip(trace.all_blocks, again) if not are_replayed(*pair)]
    tap.check(len(again) == len(trace.all_blocks) and not differ, f"{what}: a replay shows the same frames",
              f"{len(again)} of {len(trace.all_blocks)} blocks, {len(differ)} differ",
              *([frame_of(block), *(python_frames(sample["stack"]) for sample in block["samples"])] for block in sum(differ[:1], ())))


def check_text(tap, what, blocks):
    """Code objects that are created and freed, with reuse of addresses: a name may be missing, but
    none is another's."""
    names = []
    for block in blocks:
        naps = [s for s in block["samples"] if s["state"] == "sleep"]
        names += [(f"short_{i}", nap["stack"]) for i, nap in enumerate(naps)]
    wrong = [(want, python_frames(stack)) for want, stack in names
             if any(f.get("function", "").startswith("short_") and f["function"] != want for f in stack)]
    tap.check(len(names) >= 3 and not wrong, f"{what}: code that is created at run time has its own name or none", *wrong)
    tap.check(all(any(f.get("function") == "run_text" for f in stack) for _, stack in names),
              f"{what}: and the right caller")


def known_cnt(trace, pid, threads):
    """How often jankbpf has learned the threads of an interpreter that has so many."""
    return sum(f"process {pid}: {threads} threads have an interpreter's frames" in line for line in trace.messages)


def until_known(trace, pid, threads, before=0):
    wait_for(lambda: known_cnt(trace, pid, threads) > before, what=f"an interpreter of {threads} threads")


def do(trace, program, letter):
    """The thread of "t" stalls when jankbpf knows it."""
    if letter == "t":
        before = known_cnt(trace, program.pid, 2)
        program.do("T")
        until_known(trace, program.pid, 2, before)
    program.do(letter)


def run(tap, version, path):
    what = f"Python {version[0]}.{version[1]}"
    with tempfile.TemporaryDirectory(prefix="jank-python-") as folder:
        note = os.path.join(folder, "truth")
        program = Lettered([path, PROGRAM, note])
        moments = {}
        try:
            with Trace(program.pid, threshold="40ms", options=["-v"]) as trace:
                until_known(trace, program.pid, 1)
                for row in STALLS:
                    moments[row[0]] = twice(do, trace, program, row[0])
                text = twice(program.do, "x")
                time.sleep(0.1)
        finally:
            program.end()
        with open(note, encoding="utf-8") as file:
            truth = json.load(file)
        check_run(tap, trace, what)
        for row in STALLS:
            check_letter(tap, what, row, block_of(tap, trace.blocks, moments[row[0]]), truth)
        check_text(tap, what, [m.block(trace.blocks) for m in text if m.block(trace.blocks)])
        check_replay(tap, what, trace)


def main():
    need()
    tap = Tap()
    found = pythons()
    for version, path in sorted(found.items()):
        run(tap, version, path)
    for minor in (11, 12, 13):
        if (3, minor) not in found:
            tap.skip(f"Python 3.{minor}", "not here; JANK_PYTHONS can name others")
    tap.end()


if __name__ == "__main__":
    main()
