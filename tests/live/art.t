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
from art import build, check_names, trace_turns  # noqa: E402
from live import Tap, check_run, need, skip_all  # noqa: E402

TURNS = 24


def main():
    need("cc")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in makes code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        trace, turns = trace_turns(folder, [build(folder, "art_app")], TURNS)
        check_run(tap, trace, "the trace", "app", "epoll")
        check_names(tap, turns, trace.blocks, TURNS)
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
