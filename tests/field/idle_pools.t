#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Idle browsers, started by jankbpf: no rest of their threads is a block, a hang, a dispatch in the
counts, or an open one. Stalls while they start are not judged: they are real."""
import json
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, Trace, build, end, headline, need, start, state_ns  # noqa: E402
from subprocess import DEVNULL, PIPE  # noqa: E402

IDLE_S = 20 if SHORT else 120
REST_NS = 1500 * MS  # longer than what a browser's main thread waits for while it starts
SLEEPS = ("futex", "poll", "sleep")
LOCKS = ("mutex", "rwlock")
CHROMIUM = ("chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
            "--disable-component-update --disable-sync --user-data-dir=DIR about:blank")
PROGRAMS = {"chromium": CHROMIUM, "firefox-esr": "firefox-esr --headless --no-remote --profile DIR about:blank"}


def is_rest(block):
    if (block["cause"] or {}).get("what") in LOCKS: # while a browser starts, on a busy machine
        return False
    return sum(state_ns(block, state) for state in SLEEPS) > max(REST_NS, block["duration_ns"] / 2)


def judge(field, what, trace):
    records = [json.loads(line) for line in trace.lines.split("\n") if line]
    intervals = [record for record in records if record["type"] == "interval"]
    rests = [block for block in trace.all_blocks + trace.hangs if is_rest(block)]
    field.case(f"{what}: no block or hang", not rests, *map(headline, rests))
    blocked = {block["pid"] for block in trace.all_blocks if block["duration_ns"] > REST_NS}
    long = [loop for record in [*intervals, trace.summary] for loop in record["loops"]
            if loop.get("max_ns", 0) > REST_NS and loop["pid"] not in blocked]
    field.case(f"{what}: no dispatch in the counts", not long, *[f"{loop['process']} {loop['loop']} {loop['max_ns'] / MS:.0f} ms" for loop in long])
    opened = [item for record in intervals for item in record.get("open", ()) if item["duration_ns"] > REST_NS and item["state"] in SLEEPS]
    field.case(f"{what}: none is open", not opened, *map(str, opened[:5]))


def check_browser(field, name, command):
    if not shutil.which(name):
        field.skip(name, f"not installed: {name}")
        return
    with tempfile.TemporaryDirectory(prefix="jank-idle-", ignore_cleanup_errors=True) as folder:
        line = f"HOME={folder} exec {command.replace('DIR', folder)} >{folder}/said 2>&1"
        with Trace(threshold="100ms", options=["-f", "--interval", "1s", "--", "sh", "-c", line]) as trace:
            time.sleep(IDLE_S)
    judge(field, f"{name} starts and idles", trace)


def check_pool(field, folder, mode):
    process = start([build(folder, "rests.c", "-pthread"), mode], stdin=PIPE, stdout=DEVNULL)
    with Trace(process.pid, threshold="60ms", options=["--interval", "500ms"]) as trace:
        for _ in range(3 if SHORT else 12):
            process.stdin.write(b"x")
            process.stdin.flush()
            time.sleep(3)
    process.stdin.close()
    end(process)
    judge(field, f"a pool's thread: {mode}", trace)


def main():
    need("cc")
    field = Field("idle pools")
    with tempfile.TemporaryDirectory(prefix="jank-idle-") as folder:
        check_pool(field, folder, "pool")
    for name, command in PROGRAMS.items():
        check_browser(field, name, command)
    field.done()


if __name__ == "__main__":
    main()
