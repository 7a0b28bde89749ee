#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A handler of GLib's main loop calls over D-Bus and waits for the answer in a loop of its own, whose waits are not the
program's idle place. Who answers late is known, through the bus."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

PROGRAM = bad.scratch("bus")
SOURCE = os.path.join(bad.ROOT, "tests", "live", "programs", "bus.c")
SLEEP_NS = 800 * MS
CALLS = 4


def build():
    """What is missing, or None."""
    if not shutil.which("dbus-daemon"):
        return "not installed: dbus"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gio-2.0"], capture_output=True, text=True, check=False)
    if flags.returncode:
        return "not installed: libglib2.0-dev"
    subprocess.run(["cc", "-O1", "-g", "-o", PROGRAM, SOURCE, *flags.stdout.split()], check=True)
    return None


def start_bus():
    bus = bad.start(["dbus-daemon", "--session", "--nofork", "--print-address=1"], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True)
    return bus, bus.stdout.readline().strip()


def start(what, address):
    return bad.start([PROGRAM, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                     env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": address})


def check_block(block, server):
    cause, chain = block["cause"], block.get("chain") or [{}]
    return (cause["kind"], cause.get("what")) == ("poll", "dbus") and chain[-1].get("pid") == server.pid and \
        f"by bus (pid {server.pid})" in cause["summary"]


def says_sleep(block, server):
    """On a busy machine the sleep is not all of the wait, or its record was shed."""
    return re.search(rf"by bus \(pid {server.pid}\), which (for \d+ % of that time )?slept", block["cause"]["summary"])


def test(late, name):
    """late: attach within the first call."""
    bus, address = start_bus()
    server = start("serve", address)
    server.stdout.readline()
    caller = start("call", address)
    if late:
        caller.stdout.readline()
    else:
        bad.wait_for(lambda: bad.is_waiting(caller))
    tracer = bad.Tracer("--json", "-t", "200ms", "-p", caller.pid)
    bad.wait_for(lambda: tracer.stdout().count(b'"type":"block"') >= CALLS, 60)
    result = tracer.stop()
    bad.end(caller, server, bus)
    blocks = [block for block in result.blocks() if block["duration_ns"] > SLEEP_NS / 2]
    whole = [block for block in blocks if block["duration_ns"] >= SLEEP_NS]
    ok(len(blocks) >= CALLS and len(whole) >= CALLS - 1, f"{name}: the calls are blocks", result)
    ok(len({block["cause"]["signature"] for block in blocks}) == 1, f"{name}: of one fault",
       [block["cause"] for block in blocks])
    good = [block for block in whole if check_block(block, server)]
    slept = [block for block in good if says_sleep(block, server)]
    ok(len(good) * 4 >= len(whole) * 3 and len(slept) * 2 >= len(good), f"{name}: with the process that answers late",
       [b["cause"] for b in whole])
    bad.valid(result, f"{name}: valid records")


bad.need_tracing()
missing = build()
if missing:
    bad.skip("calls over D-Bus", missing)
else:
    test(False, "traced before")
    test(True, "in a call already")
bad.done()
