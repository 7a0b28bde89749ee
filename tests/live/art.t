#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Stacks through JIT code on a stand-in for Android's runtime (programs/art_app.c): its methods appear, are put
together, compressed and replaced while it runs. The program says which ones it called when."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from art import build, trace_turns, turn_of  # noqa: E402
from live import Tap, check_run, need, skip_all  # noqa: E402

TURNS = 24
LEVELS = 5
ENOUGH = 0.99


def methods(stack):
    """Names of the JIT code's frames, innermost first; None: without a name."""
    return [frame.get("function") if frame.get("language") == "java" else None for frame in stack
            if frame.get("language") == "java" or frame.get("module") == "[jit]"]


def check_names(tap, turns, blocks):
    named = frames = stacks = whole = 0
    wrong, bare = [], []
    for block in blocks:
        turn = turn_of(turns, block)
        for sample in block["samples"]:
            if not any(frame.get("function") == "spin" for frame in sample["stack"]):
                continue
            stacks += 1
            whole += any(frame.get("function") == "main" for frame in sample["stack"])
            frames += LEVELS
            found = methods(sample["stack"])
            want = [f"com.example.G{turn}.level{level}" for level in reversed(range(LEVELS))]
            right = sum(a == b for a, b in zip(found, want)) if len(found) == LEVELS else 0
            named += right
            if any(name and name not in want for name in found):
                wrong.append((turn, found))
            elif right < LEVELS:
                bare.append((turn, found))
    tap.check(stacks >= TURNS, f"{stacks} stacks of {len(blocks)} blocks")
    tap.check(whole >= ENOUGH * stacks, f"{whole} stacks reach main")
    tap.check(named >= ENOUGH * frames > 0, f"{named} of {frames} methods have their names", *bare[:3])
    tap.check(not wrong, f"{len(wrong)} of {stacks} stacks have a wrong name", *wrong[:3])


def main():
    need("cc")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in makes code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        trace, turns = trace_turns(folder, [build(folder, "art_app")], TURNS)
        check_run(tap, trace, "the trace", "app", "epoll")
        check_names(tap, turns, trace.blocks)
        busy = [block["cause"].get("frame") or {} for block in trace.blocks if block["cause"]["kind"] != "runnable" and block["samples"]]
        if busy:
            names = {frame.get("function") for frame in busy}
            tap.check(all(re.fullmatch(r"com\.example\.G\d+\.level4", name or "") for name in names),
                      "the innermost method is to blame", names)
        else:
            tap.skip(1, "each block waited for the CPU")
    tap.end()


if __name__ == "__main__":
    main()
