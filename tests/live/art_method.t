#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of compiled methods without symbols, and stacks through them, on a stand-in for Android's runtime
(programs/art_compiled.c), with 64 bits and with 32: by the ArtMethod on each frame. With a faulty ArtMethod there is no
name."""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from art import build_compiled, check_compiled, trace_turns  # noqa: E402
from live import Tap, check_run, need, skip_all  # noqa: E402

TURNS = 64  # four of each fault
COMPILER_32 = "i686-linux-gnu-gcc"
LEAVE = 0.95  # with 32 bits not from its function that tells the program counter
LOADER_32 = "/usr/i686-linux-gnu/lib/ld-linux.so.2"


def check_vdso(tap, name, trace):
    """The time of day is asked for in the vdso, which has no unwind table in 32 bits."""
    stacks = [{frame.get("function") for frame in sample["stack"]} for block in trace.blocks for sample in block["samples"]
              if any(frame.get("module") == "[vdso]" for frame in sample["stack"])]
    left = sum("spin" in functions for functions in stacks)
    if "stack_copies_shed" in trace.summary["lost"]:
        tap.skip(f"{name}: {left} of {len(stacks)} walks leave the vdso", "stacks were not copied")
    else:
        tap.check(left >= LEAVE * len(stacks) > 0, f"{name}: {left} of {len(stacks)} walks leave the vdso")


def test(tap, name, *compiler):
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        trace, turns = trace_turns(folder, build_compiled(folder, *compiler), TURNS)
        check_run(tap, trace, name, "app", "epoll")
        check_compiled(tap, turns, trace.blocks, TURNS // 2)
        check_vdso(tap, name, trace)


def main():
    need("cc", "smali")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in has code of x86-64")
    tap = Tap()
    test(tap, "64 bits")
    if shutil.which(COMPILER_32) and os.path.exists(LOADER_32):
        test(tap, "32 bits", COMPILER_32, LOADER_32)
    else:
        tap.skip("32 bits", f"no {COMPILER_32}, or no C library for it (make deps-cross)")
    tap.end()


if __name__ == "__main__":
    main()
