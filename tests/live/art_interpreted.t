#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of interpreted methods on a stand-in for Android's runtime (programs/art_interpreted.c), whose DEX files
take each other's place while it runs. A replay gives the same frames."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from art import build, trace_turns  # noqa: E402
from art_interpreted import check_names, make_files  # noqa: E402
from live import JANKBPF, Tap, check_run, need, skip_all  # noqa: E402

TURNS = 36


def check_replay(tap, trace):
    """The journal keeps the places in the bytecode and their names."""
    done = subprocess.run([JANKBPF, "-q", "--json", "-t", "25ms", "replay", trace.journal], capture_output=True, text=True, timeout=60)
    again = [record for record in map(json.loads, done.stdout.splitlines()) if record["type"] == "block"]
    before = {block["start"]: block["samples"] for block in trace.all_blocks}
    after = {block["start"]: block["samples"] for block in again}
    tap.check(after == before, "a replay gives the same stacks", done.stderr, [start for start in before if after.get(start) != before[start]][:3])


def check_counts(tap, trace):
    """What has no name is counted, also when the block was named after the end of the trace."""
    nameless = sum(bool(re.match(r"art_(nterp|switch)$", frame.get("function", ""))) for block in trace.all_blocks
                   for sample in block["samples"] for frame in sample["stack"])
    counted = trace.summary["lost"].get("names_cut_short", 0)
    tap.check(nameless <= counted, f"{nameless} frames without a name, {counted} are counted")
    tap.check(counted == sum(block.get("lost", {}).get("names_cut_short", 0) for block in trace.all_blocks),
              "the summary has the sum of the blocks")


def main():
    need("cc", "smali")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in has code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        words = [str(word) for pair in make_files(folder) for word in pair]
        trace, turns = trace_turns(folder, [build(folder, "art_interpreted"), *words], TURNS)
        check_run(tap, trace, "the trace", "app", "epoll")
        check_names(tap, turns, trace.blocks, TURNS)
        check_counts(tap, trace)
        check_replay(tap, trace)
    tap.end()


if __name__ == "__main__":
    main()
