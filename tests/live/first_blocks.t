#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Blocks that end while the other probes are still loaded: their time is right, and they say that stacks are missing."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

LOG = "lack stacks: probes came later"
# scenario, and the state in which the time passes
SCENARIOS = (("sleep:8ms", "sleep"), ("mutex:8ms", "futex"), ("epoll:8ms", "poll"), ("socket:8ms", "socket"), ("busy:8ms", None))


def fits(block, state):
    """Its 8 ms are in its own state, or it waited for a busy machine's CPU."""
    time = block["time"]
    own = time["blocked_ns"].get(state, 0) if state else time["running_ns"]
    other = sum(time["blocked_ns"].values()) - (own if state else 0)
    seen = own > bad.MS or not state  # who is busy may get no CPU
    return bad.exact([block]) and seen and own + time["runnable_ns"] >= 0.8 * 8e6 and other < bad.MS


def lacks_stacks(block):
    return block.get("lost", {}).get("samples_shed", 0) > 0


def traced(scenario, *options):
    process = bad.simjank("--quiet", "--scenario", scenario, "--gap", "4ms", "--duration", "1h")
    result = bad.trace("--json", "-t", "5ms", *options, "-p", process.pid)
    bad.end(process)
    return result


def test_scenario(scenario, state):
    result = traced(scenario, "-d", "1s")
    blocks = result.blocks()
    early = [block for block in blocks if lacks_stacks(block)]
    wrong = [block for block in blocks if not fits(block, state)]
    ok(len(blocks) > 10 and not wrong, f"{scenario}: the time of all blocks is right", [len(blocks), [(b["duration_ns"], b["time"], b["start_ns"] - blocks[0]["start_ns"]) for b in wrong[:2]]])
    ok(not any(lacks_stacks(block) for block in blocks[-5:]), f"{scenario}: the last ones lack no stack", blocks[-5:])
    if state:
        ok(early and early[0] is blocks[0], f"{scenario}: the first one says that it lacks a stack", blocks[:2])
        # the last one may go on when the others are there
        ok(not any(block["samples"] or "function" in block["cause"] for block in early[:-1]),
           f"{scenario}: and names no function", early[:2])
        ok(result.err.count(LOG) == 1, f"{scenario}: the log says so once", result.err)


def test_whole():
    result = traced("sleep:8ms", "-n", "3")
    ok(len(result.blocks()) == 3 and not any(lacks_stacks(block) for block in result.blocks()) and LOG not in result.err,
       "-n 3 waits for all probes", result)


bad.need_tracing()
for row in SCENARIOS:
    test_scenario(*row)
test_whole()
bad.done()
