#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Erlang's schedulers beside busy loops: an idle scheduler is no hang, wherever it sleeps, and an
Erlang process that computes is a block."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, blamed, end, headline, need, state_ns  # noqa: E402

IDLE_MS = 6000
# While the program loads, beside busy processes, each scheduler waits in epoll now and then. Then
# all are idle.
PROGRAM = ("[spawn(fun() -> lists:sort(lists:seq(1, 100000)), timer:sleep(20) end) || _ <- lists:seq(1, 40)], "
           "timer:sleep(%d), lists:foldl(fun(N, S) -> N * S rem 7919 end, 1, lists:seq(1, 3000000)), halt()." % IDLE_MS)


def main():
    need("erl")
    tap = Tap()
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        trace = Trace(threshold="100ms", options=["--hang", "2s", "--", "erl", "-noshell", "-eval", PROGRAM])
        trace.finish(120)
    finally:
        for hog in hogs:
            end(hog)
    idle = [block for block in trace.all_blocks + trace.hangs if state_ns(block, "futex") * 2 > block["duration_ns"]]
    tap.check(not idle, "no idle scheduler is a block or a hang", *map(headline, idle))
    busy = [block for block in trace.blocks if blamed(block) == "cpu"]
    tap.check(busy, "a computing process is a block", *map(headline, trace.blocks))
    tap.check(all(block["loop"] == "erlang" for block in busy), "its loop is Erlang's", *map(headline, busy))
    tap.end()


if __name__ == "__main__":
    main()
