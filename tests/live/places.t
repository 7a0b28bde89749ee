#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which of a thread's waits are its loop's, where the depth of the stack says the contrary."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import Tap, build, headline, need, trace_whole  # noqa: E402

TURNS = 60


def test_deep_select(tap, folder):
    """select from a function with large arrays; its handlers poll one descriptor from above it."""
    trace = trace_whole([build(folder, "selector.c"), str(TURNS)], "50ms")
    stalls = [b for b in trace.blocks if b["cause"]["kind"] == "sleep"]
    idle = [b for b in trace.blocks if b["cause"]["kind"] == "poll"]
    tap.check(len(stalls) == TURNS // 10, f"select, deep: {len(stalls)} stalls of {TURNS // 10}", *map(headline, trace.blocks))
    tap.check(not idle, "select, deep: no idle wait is a block", *map(headline, idle))


def main():
    need("cc")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        test_deep_select(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
