#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A process pretends to run Android's runtime (programs/art_hostile.c): huge DEX files, lists with cycles that
change all the time. It gets no names, costs little, and another program is traced meanwhile."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import bad  # noqa: E402
from art import build  # noqa: E402
from live import Tap, Trace, end, need, skip_all, start, wait_for  # noqa: E402

BLOCKS = 150
SHARE = 0.5  # of a CPU: the file that costs most may come at any time


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def namer(pid):
    """The process that makes names."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
        for child in children.read().split():
            with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == "jankbpf-name":
                    return int(child)
    return None


def written(trace, pid):
    """Blocks of the process so far."""
    with open(trace.out.name, encoding="utf-8") as out:
        return sum(f'"pid":{pid},' in line for line in out)


def main():
    need("cc")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in has code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        process = start([build(folder, "art_hostile")], stdout=subprocess.PIPE, text=True)
        honest = bad.target("loop", 40)
        try:
            tap.check(process.stdout.readline() == "ready\n", "the program runs")
            with Trace(process.pid, honest.pid) as trace:
                wait_for(lambda: namer(trace.process.pid), what="the process that makes names")
                pid, begin = namer(trace.process.pid), time.monotonic()
                first = cpu_s(pid)
                before = written(trace, process.pid)
                wait_for(lambda: written(trace, process.pid) >= before + BLOCKS, 90, f"{BLOCKS} blocks")
                spent, took = cpu_s(pid) - first, time.monotonic() - begin
                with open(f"/proc/{pid}/statm", encoding="utf-8") as statm:
                    memory = int(statm.read().split()[1]) * 4096 >> 20
        finally:
            end(process)
            end(honest)
        lost = (trace.summary or {}).get("lost", {})
        tap.check(trace.status == 0 and trace.summary, "jankbpf ended well", trace.messages[-5:])
        of = {pid: [block for block in trace.blocks if block["pid"] == pid] for pid in (process.pid, honest.pid)}
        tap.check(all(len(blocks) >= 5 for blocks in of.values()), f"blocks of both: {[len(blocks) for blocks in of.values()]}")
        named = [frame["function"] for block in of[process.pid] for sample in block["samples"] for frame in sample["stack"]
                 if frame.get("language") and frame.get("function")]
        tap.check(not named, "no method has a name", named[:3])
        tap.check(spent < SHARE * took, f"making names took {spent:.1f} of {took:.1f} s")
        tap.check(memory < 128, f"and {memory} MiB")
        tap.check(not lost.get("namer_restarted"), "its process did not end", lost)
        bare = sum(frame.get("function") == "interpret" for block in of[process.pid] for sample in block["samples"]
                   for frame in sample["stack"])
        tap.check(bare and (lost.get("files_unread") or lost.get("names_cut_short")), f"{bare} missing names are counted", lost)
    tap.end()


if __name__ == "__main__":
    main()
