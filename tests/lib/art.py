# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests with a stand-in for Android's runtime: the programs, and the turns that they print."""
import datetime
import os
import re
import subprocess

from live import Trace, end, start, wait_for

LEVELS = 5  # of art_app.c
ENOUGH = 0.99
PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live", "programs")


def build(folder, name, compiler="cc", runtime=("art_runtime.c", "art_interpreter.c")):
    """The program of that name, with the stand-in as its libart.so."""
    flags = ["-std=gnu11", "-O2", "-Wall", "-fno-omit-frame-pointer"]
    library = os.path.join(folder, "libart.so")
    sources = [os.path.join(PROGRAMS, source) for source in runtime]
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-Wl,-soname,libart.so", "-o", library, *sources], check=True)
    program = os.path.join(folder, "app")
    subprocess.run([compiler, *flags, "-o", program, os.path.join(PROGRAMS, f"{name}.c"), library, "-l:liblzma.a", "-pthread",
                    f"-Wl,-rpath,{folder}"], check=True)
    return program


def turns_of(path):
    """The finished turns: number, begin and end."""
    with open(path, encoding="utf-8") as file:
        return [tuple(map(int, line.split())) for line in file if line.endswith("\n")]


def trace_turns(folder, command, cnt):
    """Traces the program for cnt of its turns: the trace, and all turns."""
    truth = os.path.join(folder, "turns")
    with open(truth, "w", encoding="utf-8") as out:
        process = start(command, stdout=out)
    try:
        wait_for(lambda: len(turns_of(truth)) >= 2, what="the first turns")
        with Trace(process.pid) as trace:
            first = len(turns_of(truth))
            wait_for(lambda: len(turns_of(truth)) >= first + cnt, what=f"{cnt} turns")
    finally:
        end(process)
    return trace, turns_of(truth)


def real_ns(text):
    seconds, fraction = re.fullmatch(r"(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text).group(1, 2)
    zone = text[len(seconds) + (len(fraction) + 1 if fraction else 0):].replace("Z", "+00:00")
    whole = int(datetime.datetime.fromisoformat(seconds + zone).timestamp())
    return whole * 10**9 + int((fraction or "0").ljust(9, "0"))


def turn_of(turns, block):
    """The turn that ran for most of the block, or for the most part within it: an emulator compresses symbols for longer."""
    begin = real_ns(block["start"])
    ends = begin + block["duration_ns"]
    overlap = {number: (min(ends, last) - max(begin, first), last - first) for number, first, last in turns}
    best = max(overlap, key=overlap.get, default=None)
    return best if best is not None and overlap[best][0] > min(block["duration_ns"], overlap[best][1]) / 2 else None


def methods(stack):
    """Names of the JIT code's frames, innermost first; None: without a name."""
    return [frame.get("function") if frame.get("language") == "java" else None for frame in stack
            if frame.get("language") == "java" or frame.get("module") == "[jit]"]


def is_spinning(sample):
    return any(frame.get("function") == "spin" for frame in sample["stack"])


def check_names(tap, turns, blocks, least, shed=False):
    """The methods on all stacks of the handlers of art_app.c, by the turns that it printed. shed: the trace says that copies
    of stacks are missing, so only stacks that reach main count."""
    named = frames = stacks = whole = 0
    wrong, bare, unfinished = [], [], []
    for block in blocks:
        turn = turn_of(turns, block)
        if turn is None:  # the program had no time to print it; or a wait for a CPU beside a turn
            unfinished += [block["start"]] if any(map(is_spinning, block["samples"])) else []
            continue
        for sample in block["samples"]:
            if not is_spinning(sample):
                continue
            is_whole = any(frame.get("function") == "main" for frame in sample["stack"])
            if shed and not is_whole:
                continue
            stacks += 1
            whole += is_whole
            frames += LEVELS
            found = methods(sample["stack"])
            want = [f"com.example.G{turn}.level{level}" for level in reversed(range(LEVELS))]
            right = sum(a == b for a, b in zip(found, want)) if len(found) == LEVELS else 0
            named += right
            if any(name and name not in want for name in found):
                wrong.append((turn, found))
            elif right < LEVELS:
                bare.append((turn, found))
    tap.check(len(unfinished) <= 1, f"{len(unfinished)} blocks of a turn that did not end", *unfinished, turns[-1:])
    tap.check(stacks >= least, f"{stacks} stacks of {len(blocks)} blocks")
    tap.check(whole >= ENOUGH * stacks, f"{whole} stacks reach main")
    tap.check(named >= ENOUGH * frames > 0, f"{named} of {frames} methods have their names", *bare[:3])
    tap.check(not wrong, f"{len(wrong)} of {stacks} stacks have a wrong name", *wrong[:3])
