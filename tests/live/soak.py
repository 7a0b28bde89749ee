#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf -a for hours: 100 new processes a second, stalls by simjank, one traced process killed each
minute. Prints what the tracer uses, and judges at the end: memory, descriptors and BPF objects stay
flat, and each stall is in a record or counted as lost.

    tests/live/soak.py 8h
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import bad
from group import Group
from live import JANKBPF, MS, ROOT, Tap, build, need

SIMJANK = os.path.join(ROOT, "simjank")
RATE = 100                # new processes a second
COMER_STALL_MS = "1"      # of each: no block
THRESHOLD_MS, GUARD_MS = 25, 8
ROUND_S = 60              # a simjank with its truth, and one that is killed, live as long
SAMPLES_MIN = 12
# Reasons for which a whole block may be missing, as the summary names them.
BLOCK_LOSSES = ("ring_full", "queue_full", "share_exceeded", "thread_table_full", "loop_changed", "bad_records", "out_of_memory",
                "unwritten_records")
# How much the mean of the last third may exceed that of the first third, after the warm-up. Memory:
# two stores of 8 MiB each (docs/decisions/memory.md) may still fill up.
BOUNDS = {"rss_kb": 16384, "fds": 8, "bpf": 1, "threads": 1}
WARM_UP = 4               # one sample in so many, at the begin
JANK = ["--scenario", "sleep,busy,mutex,pipe,socket,kernel", "--length", "40ms-120ms", "--gap", "250ms",
        "--order", "random", "--quiet"]
UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text):
    match = re.fullmatch(r"(\d+)([smh])", text)
    if not match:
        sys.exit(f"'{text}': not a time; give one such as 2m or 8h")
    return int(match[1]) * UNITS[match[2]]


def come_and_go(group, comer):
    """Starts short-lived processes in the group until it is killed. Returns the pid."""
    pid = os.fork()
    if pid:
        return pid
    with open(f"{group.path}/cgroup.procs", "w", encoding="ascii") as procs:
        procs.write("0")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_WRONLY)
    begin, number = time.monotonic(), 0
    while os.getppid() != 1:
        modes = ([], ["exec"], ["thread"], [])
        os.posix_spawn(comer, [comer, COMER_STALL_MS, *modes[number % 4]], os.environ,
                       file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)], setsigdef=[signal.SIGCHLD])
        number += 1
        time.sleep(max(0.0, begin + number / RATE - time.monotonic()))
    os._exit(0)


class Tracer:
    """jankbpf -a on the group. Of each record only thread and time are kept."""

    def __init__(self, group):
        self.process = subprocess.Popen([JANKBPF, "-v", "--json", "-t", f"{THRESHOLD_MS}ms", "-a", "-g", group.path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.records, self.lossy, self.summary, self.spans = 0, 0, None, {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        while "tracing;" not in self.process.stderr.readline():
            if self.process.poll() is not None:
                sys.exit("jankbpf ended before it traced")
        threading.Thread(target=self._say, daemon=True).start()

    def _say(self):
        for line in self.process.stderr:
            if "is not valid" in line:
                print("#", line, end="", flush=True)

    def _read(self):
        for line in self.process.stdout:
            record = json.loads(line)
            self.records += 1
            self.lossy += "lost" in record
            if record["type"] == "block":
                self.spans.setdefault(record["tid"], []).append(
                    (record["start_ns"], record["start_ns"] + record["duration_ns"]))
            elif record["type"] == "summary":
                self.summary = record

    def sample(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            threads = int(re.search(r"^Threads:\s+(\d+)", status.read(), re.M)[1])
        return {"rss_kb": bad.rss_kb(self.pid), "fds": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in bad.own_pids(self.pid)),
                "bpf": len(bad.held(self.pid)), "threads": threads, "records": self.records, "lossy": self.lossy}

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.reader.join()
        return self.process.wait()

    def has(self, stall):
        return any(begin < stall["end_ns"] - MS and end > stall["begin_ns"] + MS
                   for begin, end in self.spans.get(stall["tid"], ()))


class Round:
    """Two simjanks: one tells its truth at its end, the other is killed."""

    def __init__(self, group, folder, number, seconds):
        self.truth = os.path.join(folder, f"truth-{number}")
        self.told = group.start(SIMJANK, "--truth", self.truth, "--truth-min", f"{THRESHOLD_MS + GUARD_MS}ms", "--seed",
                                str(number + 1), "--duration", f"{seconds}s", *JANK)
        self.killed = group.start(SIMJANK, "--duration", f"{10 * seconds}s", *JANK)

    def end(self):
        """The stalls of the one that told."""
        self.killed.kill()
        self.killed.wait()
        self.told.wait()
        with open(self.truth, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        os.unlink(self.truth)
        return [r for r in records if r["type"] == "dispatch"]


def thirds(samples, name):
    """The means of the first and the last third, after the warm-up."""
    values = [sample[name] for sample in samples[len(samples) // WARM_UP:]]
    size = len(values) // 3
    return sum(values[:size]) / size, sum(values[-size:]) / size


def soak(group, folder, seconds):
    tracer, samples, stalls = Tracer(group), [], []
    spawner = come_and_go(group, build(folder, "comer.c", "-pthread"))
    begin, step = time.monotonic(), min(ROUND_S, seconds / SAMPLES_MIN)
    rounds = max(1, seconds // ROUND_S)
    print(f"# {'s':>6} {'RSS KiB':>8} {'fds':>5} {'BPF':>4} {'threads':>7} {'records':>8} {'with losses':>11}", flush=True)
    for number in range(rounds):
        current = Round(group, folder, number, seconds // rounds)
        while time.monotonic() - begin < (number + 1) * seconds / rounds:
            time.sleep(step)
            now = tracer.sample()
            samples.append(now)
            print(f"# {time.monotonic() - begin:6.0f} {now['rss_kb']:8} {now['fds']:5} {now['bpf']:4} {now['threads']:7} "
                  f"{now['records']:8} {now['lossy']:11}", flush=True)
        stalls += current.end()
    os.kill(spawner, signal.SIGKILL)
    os.waitpid(spawner, 0)
    return tracer, samples, stalls


def judge(tap, tracer, samples, stalls):
    status = tracer.stop()
    tap.check(status == 0 and tracer.summary, "the tracer ends by itself", status)
    for name, bound in BOUNDS.items():
        first, last = thirds(samples, name)
        tap.check(last - first <= bound, f"{name} stays flat: {first:.0f}, then {last:.0f}; at most {bound} more")
    lost = (tracer.summary or {}).get("lost", {})
    missed = [stall for stall in stalls if not tracer.has(stall)]
    for stall in missed[:10]:
        tap.note(f"no record: {stall}")
    tap.check(stalls and len(missed) <= sum(lost.get(word, 0) for word in BLOCK_LOSSES),
              f"{len(missed)} of {len(stalls)} stalls have no record; lost: {lost}")


def main():
    seconds = seconds_of(sys.argv[1] if len(sys.argv) > 1 else "2m")
    need("cc")
    tap = Tap()
    group = Group(f"jank-soak-{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="jank-soak-") as folder:
        tracer, samples, stalls = soak(group, folder, seconds)
        judge(tap, tracer, samples, stalls)
    group.remove()
    tap.end()


main()
