#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A time is only said of the call and the object that took it, in the words of the program's own
stack."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, ROOT, Trace, end, need, start, state_ns  # noqa: E402
from real import Screen  # noqa: E402

need("python3")
PROGRAMS = os.path.join(ROOT, "tests", "live", "programs")
COUNT = 5 if SHORT else 40
field = Field("Words")


def summary(block):
    return (block.get("cause") or {}).get("summary") or ""


def run(command, threshold="25ms", options=(), **popen):
    """Traces a program from the line that it reads to its end."""
    program = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
    try:
        program.stdout.readline()
        with Trace(program.pid, threshold=threshold, options=options) as trace:
            program.stdin.write(b"\n")
            program.stdin.flush()
            program.wait(120)
        return trace
    finally:
        end(program)


def check_also(trace, what):
    texts = [summary(block) for block in trace.all_blocks]
    field.cases(f"{what}: at most one \"also\" in a sentence", sum(text.count("; also") < 2 for text in texts), len(texts), 1,
                texts)


# --- Swing, a sleep beside waits for a monitor

def is_nap(block):
    """Says so of the sleep's own time; a busy machine adds time for a CPU, which may be said first."""
    text = summary(block)
    slept = re.search(r"slept (\d[\d.]*) ms .*JavaThread::sleep", text)
    monitor = re.search(r"waited (\d[\d.]*) ms .*(mutex|monitor)", text)
    return slept and 67 <= float(slept[1]) < 80 and not (monitor and float(monitor[1]) > 60)


def swing():
    missing = [name for name in ("java", "javac", "Xvfb") if not shutil.which(name)]
    if missing:
        field.skip("a Swing handler that sleeps 68 ms", f"not installed: {', '.join(missing)}")
        return
    with tempfile.TemporaryDirectory(prefix="jank-field-") as folder:
        subprocess.run(["javac", "-d", folder, os.path.join(PROGRAMS, "SwingNap.java")], check=True)
        screen = Screen()
        try:
            trace = run(["java", "-XX:+UseSerialGC", "-cp", folder, "SwingNap", str(COUNT)],
                        threshold="50ms", env={**os.environ, **screen.env})
        finally:
            screen.end()
    naps = [b for b in trace.blocks if b["thread"].startswith("AWT") and state_ns(b, "futex") >= 67 * MS]
    field.cases("a Swing handler that sleeps 68 ms beside waits for a monitor: the sleep has its time",
                sum(bool(is_nap(b)) for b in naps), max(len(naps), COUNT - 1), 0.98, [summary(b) for b in naps])
    check_also(trace, "Swing")


# --- Python

NAPS = """
import asyncio, select, sys, threading, time
lock = threading.Lock()
def hold():
    for _ in range(COUNT * 20):
        with lock: time.sleep(0.012)
        time.sleep(0.001)
def select_nap(): select.select([], [], [], 0.06)
def two_naps(): time.sleep(0.03); time.sleep(0.03)
def nap_and_lock():
    time.sleep(0.06)
    with lock: pass
async def main():
    for _ in range(COUNT):
        for handler in select_nap, two_naps, nap_and_lock:
            asyncio.get_running_loop().call_soon(handler)
            await asyncio.sleep(0.02)
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=hold, daemon=True).start()
asyncio.run(main())
"""


def told(function, right, blocks):
    mine = [b for b in blocks if any(f.get("function") == function for s in b["samples"] for f in s.get("stack", ()))]
    return sum(bool(right(b)) for b in mine), mine


def python():
    trace = run(["/usr/bin/python3", "-c", NAPS.replace("COUNT", str(COUNT))])
    rows = (
        ("select_nap", "a sleep by select", lambda b: re.search(r"slept (\d+)\.?\d* ms in select_nap .*select", summary(b))),
        ("two_naps", "two sleeps", lambda b: re.search(r"slept 6\d\.?\d* ms in two_naps .*\(clock_nanosleep, more than once\)", summary(b))),
        ("nap_and_lock", "a sleep before a lock", lambda b: re.search(r"slept 6\d\.?\d* ms in nap_and_lock .*\(clock_nanosleep of 60.0 ms\)", summary(b))))
    for function, what, right in rows:
        cnt, mine = told(function, right, trace.blocks)
        field.cases(f"Python, {what}", cnt, max(len(mine), COUNT - 1), 0.95, [summary(b) for b in mine])
    check_also(trace, "Python")


# --- a hang is reported when it is one

HANGS = """
import asyncio, sys, time
async def main():
    for _ in range(COUNT):
        asyncio.get_running_loop().call_soon(time.sleep, 1.6)
        await asyncio.sleep(0.13)
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main())
"""


def hangs():
    trace = run(["/usr/bin/python3", "-c", HANGS.replace("COUNT", str(COUNT))], options=("--hang", "1s"))
    late = [h["duration_ns"] / MS - 1000 for h in trace.hangs]
    field.cases("a hang is reported at most 50 ms late", sum(ms < 50 for ms in late), max(COUNT, len(late)), 0.9, late)


swing()
python()
hangs()
field.done()
