#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A handler that syncs a small file waits for the journal of its file system, while another program syncs a large one:
that program is named when the wait is over, and while it lasts."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok
from slow_disk import SlowDisk, why_not

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "syncs.py")
THRESHOLD = 50 * MS


def make_disk():
    """An ext4 file system with a journal, mounted; None: not possible.

    With dioread_lock a commit of the journal waits for the data of new blocks. Without it, only now and then.
    """
    image, folder = bad.scratch("image"), bad.scratch("folder")
    os.mkdir(folder)
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop,dioread_lock", image, folder]):
        try:
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return None
        except FileNotFoundError:
            return None
    return folder


def start(what, folder):
    process = bad.start([sys.executable, PROGRAM, what, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def ask(process, tracer, kind):
    """Syncs until one is slow: others may fall between two commits."""
    def found():
        process.stdin.write(b"x")
        process.stdin.flush()
        return any(kind in line and b'"syncers"' in line for line in tracer.stdout().splitlines())
    return bad.wait_for(found, 60)


def trace(folder, kind, what, write_iops, *options):
    """Traces a loop until a record of the kind names who else syncs: that process, the result, the journal."""
    large, process = start("large", folder), start("loop", folder)
    journal = bad.scratch(f"{kind}.journal")
    tracer = bad.Tracer("--json", *options, "--journal", journal, "-p", process.pid)
    with SlowDisk(folder, write_iops=write_iops) as slow:
        slow.hold(large.pid)
        ok(ask(process, tracer, f'"type":"{kind}"'.encode()), what, tracer.stdout()[-2000:])
    bad.end(large)
    result = tracer.stop()
    bad.end(process)
    return large, result, journal


def test_other(folder):
    threshold = f"{THRESHOLD // MS}ms"
    large, result, journal = trace(folder, "block", "a slow sync has the other one that syncs", 20, "-t", threshold)
    blocks = [block for block in result.blocks() if "syncers" in block]
    ok(blocks and all(task["pid"] == large.pid and task["ns"] <= block["duration_ns"] for block in blocks
                      for task in block["syncers"]), "that one alone, and no longer than the block", result)
    ok(blocks and f"(pid {large.pid}) synced files of the same device for" in blocks[0]["cause"]["summary"], "in words, too",
       blocks and blocks[0]["cause"])
    bad.valid(result, "valid records")
    again = bad.trace("-q", "--json", "replay", "-t", threshold, journal)
    ok([block.get("syncers") for block in again.blocks()] == [block.get("syncers") for block in result.blocks()],
       "a replay has the same", again)


def test_hang(folder):
    """While the wait lasts, the other one's call lasts, too."""
    large, result, journal = trace(folder, "hang", "a hang in sync has the other one that syncs", 4, "-t", "300ms",
                                   "--hang", "300ms")
    hangs = [hang for hang in result.of("hang") if "syncers" in hang]
    ok(hangs and [(task["pid"], task["comm"]) for task in hangs[0]["syncers"]] == [(large.pid, "python3")], "that one alone",
       result)
    ok(hangs and f"(pid {large.pid}) sync" in hangs[0]["cause"]["summary"], "of a hang in words, too", hangs)
    bad.valid(result, "valid records of a hang")
    again = bad.trace("-q", "--json", "replay", journal)
    ok(again.of("hang") == result.of("hang"), "a replay has the same hang", again)


bad.need_tracing()
place = make_disk()
if not place:
    bad.skip("syncs of others", "no loop device with ext4")
elif why_not(place):
    bad.skip("syncs of others", why_not(place))
else:
    try:
        test_other(place)
        test_hang(place)
    finally:
        subprocess.run(["umount", "-l", place], check=False)
bad.done()
