#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A version of Node that is not known, and one whose layout is another one than its file says: no function has a name,
and that is counted and told once, with its remedy. So it is told of a language that nothing here reads."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, end, frames, need, start  # noqa: E402

BUSY = "function slow() { for (const end = Date.now() + 60; Date.now() < end;); }\nsetInterval(slow, 100); console.log('ready');"
PERL = """use Time::HiRes qw(time); $| = 1; print "ready\n";
while (1) { select(undef, undef, undef, 0.03); my $end = time + 0.06; while (time < $end) {} }"""
# A symbol and what is written there.
UNKNOWN = ("v8dbg_TaggedSize", 4)
LAYOUT = ("v8dbg_class_JSFunction__shared__SharedFunctionInfo", 8)


def place_of(path, symbol):
    """Of a symbol's value in its file."""
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
    address = int(re.search(rf":\s+([0-9a-f]+)\s.*\s{symbol}(@|$)", symbols, re.M)[1], 16)
    segments = subprocess.run(["readelf", "-W", "-l", path], capture_output=True, text=True, check=True).stdout
    for offset, begin, size in re.findall(r"LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+\S+\s+0x([0-9a-f]+)", segments):
        if int(begin, 16) <= address < int(begin, 16) + int(size, 16):
            return address - int(begin, 16) + int(offset, 16)
    raise LookupError(symbol)


def run(*command):
    process = start(command, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        with Trace(process.pid) as trace:
            time.sleep(5)
    finally:
        end(process)
        process.stdout.close()
    return trace


def check(tap, what, node, folder):
    program = os.path.join(folder, "slow.js")
    with open(program, "w", encoding="ascii") as file:
        file.write(BUSY)
    trace = run(node, program)
    told = [line for line in trace.messages if "version of Node" in line]
    tap.check(len(trace.blocks) >= 5, f"{what}: {len(trace.blocks)} blocks", *trace.messages)
    tap.check(not [f for b in trace.blocks for f in frames(b) if f.get("language")], f"{what}: no function has a name")
    tap.check(len(told) == 1 and node in told[0] and "--perf-basic-prof" in told[0], f"{what}: told once, with its remedy",
              *trace.messages)
    tap.check(trace.summary["lost"].get("files_unread") == 1, f"{what}: counted", trace.summary["lost"])
    tap.check(not any("debug symbols" in line for line in trace.messages), f"{what}: no debug symbols are asked for",
              *trace.messages)


def check_interpreter(tap):
    trace = run("perl", "-e", PERL)
    told = [line for line in trace.messages if "Perl functions" in line]
    tap.check(len(trace.blocks) >= 5, f"Perl: {len(trace.blocks)} blocks", *trace.messages)
    tap.check(len(told) == 1, "Perl: its functions have no names: told once", *trace.messages)


def main():
    need("node", "readelf", "perl")
    tap = Tap()
    original = os.path.realpath(shutil.which("node"))
    for what, (symbol, value) in {"an unknown version": UNKNOWN, "another layout": LAYOUT}.items():
        with tempfile.TemporaryDirectory(prefix="jank-unknown-", dir="/var/tmp") as folder:
            node = os.path.join(folder, "node")
            shutil.copy(original, node)
            with open(node, "r+b") as file:
                file.seek(place_of(node, symbol))
                file.write(struct.pack("<i", value))
            check(tap, what, node, folder)
    check_interpreter(tap)
    tap.end()


if __name__ == "__main__":
    main()
