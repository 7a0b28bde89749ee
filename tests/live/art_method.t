#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of compiled methods without symbols, and stacks through them, on a stand-in for Android's runtime
(programs/art_compiled.c): by the ArtMethod on each frame. With a faulty ArtMethod there is no name."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from art import build_compiled, check_compiled, trace_turns  # noqa: E402
from live import Tap, check_run, need, skip_all  # noqa: E402

TURNS = 64  # four of each fault


def main():
    need("cc", "smali")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in has code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        trace, turns = trace_turns(folder, build_compiled(folder), TURNS)
        check_run(tap, trace, "the trace", "app", "epoll")
        check_compiled(tap, turns, trace.blocks, TURNS // 2)
    tap.end()


if __name__ == "__main__":
    main()
