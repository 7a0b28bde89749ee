#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each kernel feature missing in turn: tracing goes on by other means, or says that it cannot and
why."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok, skip

REQUIRED = ("ringbuf",)
OPTIONAL = ("btf", "tp_btf", "current_task_btf", "task_storage", "task_pt_regs", "task_iter", "test_run", "switch_state",
            "syscall_tracepoints", "raw_syscalls", "uprobe", "attach_cookie", "perf_event", "hw_cycles", "cpu_clock", "task_iter_pid",
            "file_fault", "cache_add", "preempt_off", "vblank", "binder", "array_mmap", "bpf_stats")
TYPES = "/sys/kernel/btf/vmlinux"  # switched off by name, to pretend that the kernel has none
SCENARIOS = "busy:40ms,sleep:40ms,pipe:40ms,mutex:40ms,socket:40ms,poll:40ms"
WAITS = {("syscall_tracepoints",): "tracepoints", ("syscall_tracepoints", "raw_syscalls"): "uprobes"}


def without(features):
    words = [word for feature in features for word in ("--disable-feature", feature)]
    return words + (["--btf", TYPES] if "btf" in features else [])


def judge(name, result, kinds=("cpu", "sleep", "pipe", "futex", "socket", "poll")):
    blocks = result.blocks() if result.status == 0 else []
    ok(len(blocks) == 6 and bad.exact(blocks), f"{name}: all blocks, exact", result)
    # A busy machine may have kept a block off the CPU for longer than the stall itself.
    starved = [b["cause"]["kind"] == "runnable" and b["cpu"]["busy"] for b in blocks]
    seen = [b["cause"]["kind"] for b in blocks]
    ok(all(is_starved or kind == wanted for kind, wanted, is_starved in zip(seen, kinds, starved)), f"{name}: their causes", f"{seen} {result}")


def test_without(features):
    name = "without " + ", ".join(features)
    result = bad.trace("-v", "--json", "-t", "25ms", "-F", "499", "--hang", "200ms", *without(features), "--", bad.SIMJANK, "--quiet",
                       "--scenario", SCENARIOS, "--count", "6")
    judge(name, result)
    waits = WAITS.get(features, "tracepoints")
    ok(f"waits by {waits}" in result.err, f"{name}: waits by {waits}", result.err)
    summary = result.summary() or {"cost": {}, "dispatches": 0}
    ok(summary["dispatches"] > 6, f"{name}: dispatches are counted", result)
    ticks = [s for b in result.blocks() for s in b["samples"] if s["state"] == "running"]
    if "perf_event" in features or not CLOCKS - set(features):
        ok(not ticks and "no samples of running code" in result.err, f"{name}: no samples, with a message", result)
    else:
        ok(ticks, f"{name}: with samples", result)
    if "bpf_stats" in features:
        ok("bpf_ns" not in summary["cost"], f"{name}: no cost without a measurement", summary)


def test_hang_without_iterator():
    """Without the iterator, a hang is reported at its end only, and a message at the start says
    so."""
    result = bad.trace("--json", "-t", "25ms", "--hang", "200ms", *without(["task_iter", "test_run"]), "--", bad.SIMJANK, "--quiet",
                       "--scenario", "hang:500ms", "--count", "1")
    ok(result.status == 0 and [b["severity"] for b in result.blocks()] == ["hang"], "without task_iter: a hang's end",
       result)
    ok("hang" in result.err, "without task_iter: a message says what is missing", result.err)


def test_required(feature):
    result = bad.trace(*without([feature]), "--", "true")
    ok(result.status == 77 and f"'{feature}'" in result.err and result.err.count("\n") == 1, f"without {feature}: 77", result)


def hidden(script, *args):
    """Runs in its own mount namespace, with something mounted over what is to be missing."""
    command = f"{script}\nexec \"$@\""
    return ["unshare", "-m", "sh", "-c", command, "sh", *args]


TRACEFS_GONE = ("umount -l /sys/kernel/debug 2>/dev/null; umount -l /sys/kernel/tracing 2>/dev/null; "
                "mount -t tmpfs none /sys/kernel")


def test_no_tracefs():
    """tracefs cannot be mounted: its directory does not exist."""
    keep = bad.scratch("btf")
    os.mkdir(keep)
    script = (f"mount --bind /sys/kernel/btf {keep} && {TRACEFS_GONE} && mkdir /sys/kernel/btf && "
              f"mount --bind {keep} /sys/kernel/btf || exit 99")
    run = subprocess.run(hidden(script, "true"), capture_output=True, text=True, check=False)
    if run.returncode:
        return skip("no tracefs", f"cannot hide it here: {run.stderr.strip()}")
    result = bad.trace("-v", "--json", "-t", "25ms", "--", bad.SIMJANK, "--quiet", "--scenario", SCENARIOS, "--count", "6",
                       prefix=hidden(script))
    judge("no tracefs", result)
    doctor = subprocess.run(hidden(script, bad.JANK, "doctor"), capture_output=True, text=True, check=False)
    lines = [line for line in doctor.stdout.splitlines() if line.split()[1:2] in (["tracefs"], ["syscall_tracepoints"])]
    ok(doctor.returncode == 0 and len(lines) == 2 and all("degraded" in line for line in lines),
       "no tracefs: doctor's lines", doctor.stdout)
    return None


def test_capabilities():
    """With only the two capabilities that it needs, it traces the processes of its own user."""
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=+bpf,+perfmon",
               "--ambient-caps=+bpf,+perfmon"]
    work = bad.scratch("nobody")
    os.mkdir(work)
    os.chmod(bad.SCRATCH, 0o755)
    os.chmod(work, 0o777)
    for name in (bad.JANK, bad.SIMJANK):
        subprocess.run(["cp", name, work], check=True)
    result = bad.trace("--json", "-t", "25ms", "--", f"{work}/simjank", "--quiet", "--scenario", SCENARIOS, "--count", "6",
                       "--dir", work, jank=f"{work}/jankbpf", prefix=command)
    judge("CAP_BPF and CAP_PERFMON alone", result)
    named = {f.get("function") for b in result.blocks() for s in b["samples"] for f in s["stack"]}
    ok("handle_busy" in named, "CAP_BPF and CAP_PERFMON alone: names", named)
    root = bad.target("loop", 40)
    result = bad.trace("--json", "-t", "25ms", "-n", "2", "-p", root.pid, jank=f"{work}/jankbpf", prefix=command)
    ok(result.status == 0 and len(result.blocks()) == 2 and bad.exact(result.blocks()),
       "another user's process: its blocks", result)
    bad.end(root)


def clocks():
    """The sampling clocks that this machine has."""
    doctor = subprocess.run([bad.JANK, "doctor"], capture_output=True, text=True, check=False).stdout
    lines = [line.split() for line in doctor.splitlines()]
    return {words[1] for words in lines if words[1:2] in (["hw_cycles"], ["cpu_clock"]) and words[0] == "ok"}


bad.need_tracing()
CLOCKS = clocks()
for key in OPTIONAL:
    test_without((key,))
test_without(("syscall_tracepoints", "raw_syscalls"))
test_without(("hw_cycles", "cpu_clock"))
test_without(("task_pt_regs", "syscall_tracepoints", "task_iter", "perf_event", "bpf_stats"))
for key in REQUIRED:
    test_required(key)
test_hang_without_iterator()
test_no_tracefs()
test_capabilities()
bad.done()
