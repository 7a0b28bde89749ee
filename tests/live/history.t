#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""--record: the trace around a block has each CPU's time, the threads that ran with the time that
the kernel counts for them, and the wake-up that ended the block; what is missing is counted."""
import glob
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import histories
from bad import ok

MS = 1000000
CPUS = len(glob.glob("/sys/devices/system/cpu/cpu[0-9]*"))
# Its CPU time and the wall time of the same second.
HOG = """
import time
begin, cpu = time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.process_time_ns()
while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < begin + 1000000000:
    pass
cpu = time.process_time_ns() - cpu
print(begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC), cpu, flush=True)
input()
"""


def files(name):
    return sorted(glob.glob(bad.scratch(name) + "/history-*.pftrace"))


def read(name):
    return [histories.History(path) for path in files(name)]


def simjank(*args):
    return bad.simjank("--wait", "--short-rate", "0", *args)


def trace(name, process, *args):
    return bad.Tracer("--json", "-t", "10ms", "-o", bad.scratch(name), *args, "-p", process.pid)


def near(got, wanted, part, detail):
    ok(abs(got - wanted) <= part * wanted, detail, f"{got / MS:.2f} ms, not {wanted / MS:.2f} ms")


def check_cpus(history):
    window = history.end - history.begin
    for number, cpu in sorted(history.cpus.items()):
        begins = cpu.begins
        ok(begins == sorted(begins) and begins[-1] <= history.end, f"CPU {number}: its switches are in order")
        known = sum(end - max(begin, history.begin) for begin, end, _, _ in cpu.slices(history.end) if end > history.begin)
        known -= sum(end - begin for begin, end in cpu.gaps if begin >= begins[0])
        gaps = sum(end - begin for begin, end in cpu.gaps)
        near(known + gaps, window, 0.01, f"CPU {number}: its slices and gaps are the window")
        ok(known > 0.5 * window, f"CPU {number}: most of it is known", f"{known / MS:.2f} of {window / MS:.2f} ms")


def check_wake(history, block):
    end = block["start_ns"] + block["duration_ns"]
    wakes = [wake for wake in history.wakes if wake[2] == block["tid"] and block["start_ns"] < wake[0] < end]
    by = [history.cpus[cpu].at(t_ns) for t_ns, cpu, _, in_irq in wakes if not in_irq]
    ok(any(thread and thread[1] == "writer" for thread in by), "the wake-up that ended the block is there, by the thread that ran then",
       f"{wakes} {by}")
    got_cpu = [begin for cpu in history.cpus.values() for begin, _, tid, _ in cpu.slices(history.end) if tid == block["tid"]]
    ok(any(begin >= wakes[-1][0] for begin in got_cpu) if wakes else False, "the thread ran after it")


def stolen_ns():
    """Time that a hypervisor took, of all CPUs: the CPU clocks leave it out."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


def test_whole():
    stolen = stolen_ns()
    process = simjank("--scenario", "pipe:60ms", "--count", 1)
    tracer = trace("whole", process, "--record", "2s")
    hog = bad.start([sys.executable, "-c", HOG], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    hog_begin, hog_end, hog_cpu = map(int, hog.stdout.readline().split())
    process.send_signal(signal.SIGUSR1)
    ok(bad.wait_for(lambda: files("whole")), "a history is written while the trace goes on")
    hog.communicate("\n")
    result = tracer.finish()
    stolen = stolen_ns() - stolen
    ok(result.status == 0 and len(result.blocks()) == 1, "one block", result)
    block, history = result.blocks()[0], read("whole")[0]
    ok(history.decodes and not history.faults, "protoc knows each field of the trace", history.faults)
    ok(history.begin <= hog_begin and history.end - block["start_ns"] - block["duration_ns"] <= 1000 * MS, "its window", result)
    ok(sorted(history.cpus) == list(range(CPUS)), "each CPU is there", sorted(history.cpus))
    check_cpus(history)
    unknown = history.gap_ns(hog_begin, hog_end)
    ran = history.ran_ns(hog.pid, hog_begin, hog_end)
    ok(abs(ran - hog_cpu) <= 0.02 * hog_cpu + unknown + stolen, "the hog ran as long as its CPU clock says",
       f"{ran / MS:.2f} ms, its clock {hog_cpu / MS:.2f} ms, gaps {unknown / MS:.2f} ms")
    ok(history.processes.get(hog.pid, (0,))[0] == hog.pid and history.processes.get(block["tid"], (0,))[0] == block["pid"],
       "threads belong to their processes")
    end = block["start_ns"] + block["duration_ns"]
    ran = history.ran_ns(block["tid"], block["start_ns"], end)
    ok(abs(ran - block["cpu_ns"]) <= MS + history.gap_ns(block["start_ns"], end) + stolen, "the block's thread ran as long as its record says",
       f"{ran / MS:.2f} ms, not {block['cpu_ns'] / MS:.2f} ms")
    check_wake(history, block)
    ok(list(history.blocks) == [block["id"]] and history.blocks[block["id"]][0] == block["start_ns"], "the block is drawn at its time")
    ok(history.release == os.uname().release, "the kernel's release")
    counts = result.summary()["histories"]
    ok(counts["written"] == 1 and counts.get("gaps", 0) == history.gap_cnt(), "the summary counts it and its gaps", counts)
    ok("history" not in {record["type"] for record in result.records()}, "the stream has no record of it")


def test_small():
    process = simjank("--scenario", "sleep:60ms", "--count", 1)
    tracer = trace("small", process, "--record", "2s", "--record-entries", 64)
    hog = bad.start([sys.executable, "-c", "import os\nwhile True: os.sched_yield()"])
    other = bad.start([sys.executable, "-c", "import time\nwhile True: time.sleep(0.0001)"])
    ok(bad.wait_for(lambda: "the buffers hold about" in tracer.stderr()), "a message says how far back the buffers reach", tracer.stderr())
    process.send_signal(signal.SIGUSR1)
    ok(bad.wait_for(lambda: files("small")), "a history is written")
    bad.end(hog, other)
    result = tracer.finish()
    history, counts = read("small")[0], result.summary()["histories"]
    ok(counts.get("incomplete") == 1 and counts["gaps"] == history.gap_cnt() > 0, "the gaps are counted", f"{counts} {history.gap_cnt()}")
    ok(history.decodes and not history.faults, "the trace is whole", history.faults)
    ok(any(begin == history.begin for cpu in history.cpus.values() for begin, _ in cpu.gaps), "they begin with the window",
       {number: cpu.gaps for number, cpu in history.cpus.items()})


def test_many():
    process = simjank("--scenario", "sleep:15ms", "--gap", "20ms", "--count", 100)
    tracer = trace("many", process, "--record", "1s")
    process.send_signal(signal.SIGUSR1)
    result = tracer.finish(60)
    found, counts = read("many"), result.summary()["histories"]
    drawn = {key for history in found for key in history.blocks}
    ok(len(result.blocks()) == 100 and {block["id"] for block in result.of("block")} <= drawn, "each of 100 blocks is in a history",
       f"{len(result.blocks())} {len(drawn)}")
    ok(1 < len(found) < 50 and counts["written"] == len(found), "blocks that are close together share one", f"{len(found)} {counts}")
    ok(counts.get("gaps", 0) == sum(history.gap_cnt() for history in found), "each is complete, or its gaps are counted", counts)
    ok(all(history.begin <= begin <= history.end for history in found for begin, _ in history.blocks.values()), "blocks are in their window")


def test_hang():
    process = simjank("--scenario", "sleep:4s", "--count", 1)
    tracer = trace("hang", process, "--record", "1s", "--hang", "200ms")
    process.send_signal(signal.SIGUSR1)
    ok(bad.wait_for(lambda: files("hang")) and process.poll() is None, "the history of a hang is written while it lasts")
    result = tracer.finish(30)
    kinds = [kind for history in read("hang") for _, kind in history.blocks.values()]
    ok(result.of("hang") and "hang" in kinds and len(kinds) >= 2, "the hang and its block have one each", kinds)


def test_refused():
    process = simjank("--count", 1)
    result = bad.trace("--record", "1s", "-p", process.pid)
    ok(result.status == 2 and "-o" in result.err, "--record needs -o", result)
    result = bad.trace("--record", "1s", "-o", bad.scratch("refused"), "--disable-feature", "array_mmap", "-p", process.pid)
    ok(result.status == 77 and "5.5" in result.err, "a kernel without such arrays: refused with a reason", result)
    bad.end(process)


bad.need_tracing()
test_whole()
test_small()
test_many()
test_hang()
test_refused()
bad.done()
