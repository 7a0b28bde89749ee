# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests with a stand-in for Android's runtime: the programs, and the turns that they print."""
import datetime
import os
import re
import subprocess

from live import Trace, end, start, wait_for

PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live", "programs")


def build(folder, name):
    """The program of that name, with the stand-in as its libart.so."""
    flags = ["-std=gnu11", "-O2", "-Wall", "-fno-omit-frame-pointer"]
    library = os.path.join(folder, "libart.so")
    sources = [os.path.join(PROGRAMS, source) for source in ("art_runtime.c", "art_interpreter.c")]
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, *sources], check=True)
    program = os.path.join(folder, "app")
    subprocess.run(["cc", *flags, "-o", program, os.path.join(PROGRAMS, f"{name}.c"), library, "-llzma", f"-Wl,-rpath,{folder}"],
                   check=True)
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
    """The turn that ran for most of the block."""
    begin = real_ns(block["start"])
    ends = begin + block["duration_ns"]
    overlap = {number: min(ends, last) - max(begin, first) for number, first, last in turns}
    best = max(overlap, key=overlap.get, default=None)
    return best if best is not None and overlap[best] > block["duration_ns"] / 2 else None
