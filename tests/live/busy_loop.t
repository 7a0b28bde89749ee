#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A busy loop that seldom reaches its own wait but polls for work all the time is a loop: a program
of that shape, and xterm. A client that checks its connection before use is not."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import ROOT, Tap, Trace, build, end, headline, need, trace_whole, wait_for  # noqa: E402

SLOW, STALLS = 20000, 5  # as in looker.c
XTERM_STALLS = 8
OUTPUT = """
import os, sys, time
def lines(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.write(1, b"y\\r\\n" * 300)
while not os.path.exists(sys.argv[1]):
    lines(0.1)
for number in range(1, int(sys.argv[2]) + 1):
    os.write(1, b"JANK-sleep-150-%d\\r\\n" % number * 2)
    lines(0.6)
"""


def test_shape(tap, folder):
    program = build(folder, "looker.c", "-pthread")
    trace = trace_whole([program, "busy", str(SLOW * STALLS)], "60ms")
    stalls = [b for b in trace.blocks if b["cause"]["kind"] == "sleep" and b["duration_ns"] > 110e6]
    tap.check(len(stalls) == STALLS, f"a polling loop: {len(stalls)} of {STALLS} stalls", *map(headline, trace.blocks),
              trace.summary["not_watched"])
    trace = trace_whole([program, "both", str(SLOW * STALLS)], "60ms")
    stalls = [b for b in trace.blocks if b["cause"]["kind"] == "sleep" and b["duration_ns"] > 110e6]
    rest = [b for b in trace.blocks + trace.hangs if b["cause"]["kind"] == "poll" or b["duration_ns"] > 500e6]
    tap.check(len(stalls) >= STALLS - 1, f"a loop that waits now and then: {len(stalls)} of {STALLS} stalls", *map(headline, trace.blocks))
    tap.check(not rest, "neither its waits nor its busy times are blocks", *map(headline, rest))
    trace = trace_whole([program, "client", "60"], "60ms")
    tap.check(not trace.blocks, "a client that polls first: its waits for answers are not blocks", *map(headline, trace.blocks))


def display():
    """Our own X server, and its display number."""
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24"], pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as number:
        return server, ":" + number.readline().strip()


def test_xterm(tap, folder):
    """Its output never ends. It stalls where it reads it (tests/verdicts/stall.c)."""
    library, log, go = (os.path.join(folder, name) for name in ("libmvec-1.so", "log", "go"))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, os.path.join(ROOT, "tests", "verdicts", "stall.c"), "-ldl", "-lpthread"],
                   check=True)
    open(log, "w", encoding="ascii").close()
    # setgid programs ignore LD_PRELOAD: drop the group
    xterm = shutil.copy(shutil.which("xterm"), os.path.join(folder, "xterm"))
    server, name = display()
    process = subprocess.Popen([xterm, "-e", sys.executable, "-c", OUTPUT, go, str(XTERM_STALLS)], stderr=subprocess.DEVNULL,
                               env=dict(os.environ, DISPLAY=name, LD_PRELOAD=library, STALL_LOG=log))
    wait_for(lambda: os.path.exists(f"/proc/{process.pid}/task/{process.pid}/children") and
             open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii").read(), what="xterm's child")
    time.sleep(1)  # it is busy
    with Trace(process.pid, threshold="60ms") as trace:
        time.sleep(1)
        open(go, "w", encoding="ascii").close()
        process.wait(60)
        trace.finish()
    end(server)
    stalls = [tuple(map(int, line.split()[4:6])) for line in open(log, encoding="ascii")]
    missed = [stall for stall in stalls
              if not any(b["start_ns"] <= stall[0] and b["start_ns"] + b["duration_ns"] >= stall[1] for b in trace.blocks)]
    tap.check(len(stalls) == XTERM_STALLS and not missed, f"xterm: {len(stalls) - len(missed)} of {len(stalls)} stalls", missed,
              trace.summary["not_watched"])


def main():
    need("cc", "xterm", "Xvfb")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-busy-") as folder:
        test_shape(tap, folder)
        test_xterm(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
