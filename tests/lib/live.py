# SPDX-License-Identifier: GPL-2.0
"""Shared by the live tests: TAP, jankbpf on processes that they started, and checks of its
blocks."""
import collections
import ctypes
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tap import Tap, need_tracing, skip_all  # noqa: F401 (tests import them from here)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JANKBPF = os.environ.get("JANKBPF", os.path.join(ROOT, "jankbpf"))
MS = 1000000
EXIT_CANNOT = 77
START_S = 90  # jankbpf's start takes a second of CPU time, which a busy machine hands out late


def need(*programs):
    """Ends the test with a reason if jankbpf cannot trace here or a program is not installed."""
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        skip_all(f"not installed: {', '.join(missing)}")
    if not os.path.exists(JANKBPF):
        print(f"Bail out! {JANKBPF} is not built")
        sys.exit(1)
    need_tracing(JANKBPF)


class Trace:
    """Runs jankbpf --json on pids, from its attachment to stop(). Then it has blocks, hangs,
    summary. Without pids the options must name the target: -a, narrowed to what the test itself
    started."""

    def __init__(self, *pids, threshold="25ms", options=()):
        self.dir = tempfile.TemporaryDirectory(prefix="jank-live-")
        self.journal = os.path.join(self.dir.name, "journal")
        self.out = open(os.path.join(self.dir.name, "out"), "w+", encoding="utf-8")
        # else the options name the target
        whom = ["-p", ",".join(str(pid) for pid in pids)] if pids else []
        command = [JANKBPF, "-v", "--json", "--journal", self.journal, "-t", threshold, *whom, *options]
        self.process = subprocess.Popen(command, stdout=self.out, stderr=subprocess.PIPE, text=True)
        self.messages = []
        self.attached = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.attached.wait(START_S):
            self.process.kill()
            raise RuntimeError(f"jankbpf did not attach: {self.messages}")
        self.status, self.blocks, self.hangs, self.summary = None, [], [], None

    def _read(self):
        for line in self.process.stderr:
            self.messages.append(line.rstrip())
            if "tracing;" in line:
                self.attached.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.status is None:
            self.process.send_signal(signal.SIGINT)
            self.finish()
        return self

    def finish(self, timeout=60):
        """Waits until it ends by itself."""
        try:
            self.status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(5)
        self.out.seek(0)
        self.lines = self.out.read()
        self.out.close()
        records = [json.loads(line) for line in self.lines.split("\n") if line]
        self.all_blocks = [r for r in records if r["type"] == "block"]
        # A busy machine can start any dispatch late: keep the blocks that the program caused
        # itself.
        self.blocks = [r for r in self.all_blocks if r["duration_ns"] > r["threshold_ns"] and not r.get("phase")]
        self.hangs = [r for r in records if r["type"] == "hang"]
        self.summary = next((r for r in records if r["type"] == "summary"), None)

    def keep(self, path):
        """Writes the records to a file, unchanged."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.lines)
        return path

    def text(self):
        """The same blocks as a person sees them at a terminal, without names of frames."""
        done = subprocess.run([JANKBPF, "-q", "replay", self.journal], capture_output=True, text=True,
                              timeout=60)
        return done.stdout


def account_error(block):
    """The error of the time account, in ns."""
    times = block["time"]
    total = times.get("running_ns", 0) + times.get("runnable_ns", 0)
    return total + sum(times.get("blocked_ns", {}).values()) - block["duration_ns"]


def state_ns(block, state):
    times = block["time"]
    return times.get(state + "_ns", 0) or times.get("blocked_ns", {}).get(state, 0)


def blamed(block):
    """The cause's kind without the time in which neighbours took the CPU."""
    cause = block.get("cause") or {}
    if cause.get("kind") != "runnable":
        return cause.get("kind")
    part = next((part for part in cause.get("parts", ()) if part["kind"] != "runnable"), None)
    if part:
        return part["kind"]
    times = dict(block["time"].get("blocked_ns", {}), running=state_ns(block, "running"))
    state = max(times, key=times.get)
    if state != "running":
        return state
    ticks = [s for s in block["samples"] if s["state"] == "running"]
    kernel = sum(any(f.get("kernel") for f in s["stack"][:1]) for s in ticks)
    return "kernel" if kernel * 2 > len(ticks) else "cpu"


def frames(block, state=None):
    """Each frame of each stack, optionally of one state only."""
    for sample in block["samples"]:
        if state in (None, sample["state"]):
            yield from sample.get("stack", ())


def functions(block, state=None):
    return {frame["function"] for frame in frames(block, state) if "function" in frame}


def modules(block, state=None):
    return {os.path.basename(f["module"]) for f in frames(block, state) if "module" in f}


def main_syscall(block):
    """The system call with the most time off the CPU."""
    time_in = collections.Counter()
    for sample in block["samples"]:
        if sample.get("syscall"):
            time_in[sample["syscall"]] += sample.get("ns", 0)
    return time_in.most_common(1)[0][0] if time_in else None


def frame_of(block):
    """The function to blame, by its name in the source."""
    frame = (block.get("cause") or {}).get("frame") or {}
    return re.sub(r"\.(constprop|isra|part|cold|lto_priv)\b.*", "", frame.get("function") or "") or None


def is_to_blame(block, function):
    """Is the function blamed, or a helper that it calls?"""
    blamed_one = frame_of(block)
    for sample in block["samples"]:
        names = [re.sub(r"\..*|.*::", "", frame.get("function") or "") for frame in sample.get("stack", ())]
        helper = re.sub(r".*::", "", blamed_one or "")
        if function in names and helper in names and 0 <= names.index(function) - names.index(helper) <= 1:
            return True
    return blamed_one == function


def wakers(block):
    return {sample["waker"]["comm"] for sample in block["samples"] if sample.get("waker")}


def headline(block):
    """One line about a block, for people who read the test's output."""
    cause = block.get("cause") or {}
    frame = cause.get("frame") or {}
    name = frame.get("function") or "+0x%x" % frame["offset"] if frame else "-"
    module = os.path.basename(frame.get("module", "")) if frame else "-"
    return (f"{block['duration_ns'] / MS:.1f} ms {block['process']}/{block['thread']} {block['loop']}: "
            f"{cause.get('kind')} {100 * cause.get('share', 0):.0f} %, frame {name} ({module}), "
            f"syscall {main_syscall(block) or '-'}"
            + (f", woken by {', '.join(sorted(wakers(block)))}" if wakers(block) else ""))


def judge_truth(tap, what, truth, blocks, options, *details):
    """Reports the checks of tests/lib/truth.py as the test's own. It compares jankbpf's records with
    simjank's truth."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "lib", "truth.py"), truth, blocks, *options],
                          capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    notes = [line for line in lines if line.startswith("#")]
    for line in lines:
        if line.startswith(("ok", "not ok")):
            # a guest that waits for a CPU between two looks at its clock has a long block of a short dispatch
            is_measured = ", wanted " in line or (tap.starved and " is invented" in line)
            judge = tap.measured if is_measured else tap.check
            judge(line.startswith("ok"), f"{what}: {line.split(' - ', 1)[1]}", *notes)
    if done.returncode > 1 or not lines:
        tap.check(False, f"{what}: truth.py can judge it", done.stderr, *details)


def check_blamed(tap, what, block, kind):
    """Is there a block, and is its cause of this kind? Returns False if there is no block."""
    if not tap.check(block, f"{what}: there is a block"):
        return False
    tap.note(headline(block))
    tap.measured(blamed(block) == kind, f"{what}: the cause is {kind}", headline(block))
    return True


def check_stall(tap, what, block, row):
    """Checks a block by its row: (letter, name, cause, system call, function to blame). An empty
    system call or function is not checked."""
    _, name, kind, syscall, function = row
    what = f"{what}: {name}"
    if not check_blamed(tap, what, block, kind):
        return
    tap.check(block["duration_ns"] >= 59 * MS, f"{what}: the block covers all of it", headline(block))
    if syscall:
        tap.check(main_syscall(block) == syscall, f"{what}: in {syscall}", headline(block))
    if function:
        tap.check(is_to_blame(block, function), f"{what}: {function} is to blame", headline(block))


# Losses of detail, on a machine with too few CPUs: no block and no time is missing.
BUSY_LOSSES = ("evidence_shed", "preemptors_capped", "samples_capped", "samples_shed", "stack_copies_shed")


def check_run(tap, trace, what, process=None, *loops, spared=()):
    """Checks what holds for every run: it ended well, lost no block and no time except for the reasons
    in `spared`, and each account sums up. A busy machine has less detail: that is said."""
    blocks = trace.blocks
    tap.check(trace.status == 0 and trace.summary, f"{what}: jankbpf ended well", trace.messages)
    wrong = [headline(b) for b in blocks if account_error(b)]
    tap.check(not wrong, f"{what}: each of {len(blocks)} accounts sums to the duration", *wrong)
    ids = collections.Counter(b["id"] for b in blocks)
    tap.check(len(ids) == len(blocks), f"{what}: no block is reported twice", ids.most_common(3))
    ends = {}
    overlap = []
    for block in sorted(blocks, key=lambda b: b["start_ns"]):
        if block["start_ns"] < ends.get(block["tid"], 0):
            overlap.append(headline(block))
        ends[block["tid"]] = block["start_ns"] + block["duration_ns"]
    tap.check(not overlap, f"{what}: no two blocks of a thread overlap", *overlap)
    lost = dict((trace.summary or {}).get("lost") or {})
    missed = lost.pop("wakeup_missed", 0)
    if missed:
        tap.note(f"{missed} wake-ups missed: the time until the CPU counts as part of the wait")
    detail = {reason: count for reason, count in lost.items() if reason in BUSY_LOSSES}
    if detail:
        tap.note(f"detail was left out: {detail}")
    lost = {reason: count for reason, count in lost.items() if reason not in (*detail, *spared)}
    tap.check(not lost, f"{what}: no block and no time was lost", lost)
    if process:
        other = {(b["process"], b["loop"]) for b in blocks} - {(process, each) for each in loops}
        tap.check(not other, f"{what}: all blocks are of {process}, loop {' or '.join(loops)}", other)


def longest(blocks, since_ns=0, until_ns=1 << 63):
    """The block that overlaps a time most, by CLOCK_MONOTONIC, or None."""
    def inside_ns(block):
        return min(block["start_ns"] + block["duration_ns"], until_ns) - max(block["start_ns"], since_ns)

    return max((b for b in blocks if inside_ns(b) > 0), key=inside_ns, default=None)


class Moment:
    """The time in which something was done: with Moment() as moment: …"""

    def __enter__(self):
        self.begin_ns, self.end_ns = time.monotonic_ns(), None
        return self

    def __exit__(self, *_):
        self.end_ns = time.monotonic_ns()

    def block(self, blocks):
        """The block that overlaps this time most. The edges are not sharp: a reply may be sent
        before or after the end of the dispatch."""
        return longest(blocks, self.begin_ns, self.end_ns)


def build(folder, source, *options):
    """Compiles a program of tests/live/programs, with frame pointers, and returns its path."""
    path = os.path.join(folder, source.rpartition(".")[0])
    compiler = ["c++", "-std=gnu++17"] if source.endswith(".cc") else ["cc", "-std=gnu11", "-D_GNU_SOURCE"]
    subprocess.run([*compiler, "-O2", "-g", "-Wall", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-fno-shrink-wrap", "-o", path, os.path.join(ROOT, "tests", "live", "programs", source),
                    *options], check=True)
    return path


def unseen(block):
    """Was the thread off the CPU without a switch that we saw? A hypervisor may have taken the CPU,
    or the kernel did not run our BPF program. Only the CPU clock shows it then, and it counts as a
    wait for a CPU, or as part of a wait whose wake-up was missed as well."""
    seen = sum(sample.get("ns", 0) for sample in block["samples"])
    missed = (block.get("lost") or {}).get("wakeup_missed")
    off = block["duration_ns"] - state_ns(block, "running") if missed else state_ns(block, "runnable")
    return off > seen + 20 * MS


def twice(do, *args):
    """Does something twice and returns both moments, for block_of."""
    moments = []
    for _ in range(2):
        with Moment() as moment:
            do(*args)
        moments.append(moment)
        time.sleep(0.1)
    return moments


def block_of(tap, blocks, moments):
    """The block of an action that was done in each of the moments. None unless each moment has a
    block. Prefers a block with all switches seen."""
    candidates = [moment.block(blocks) for moment in moments]
    if not all(candidates):
        return None
    for block in filter(unseen, candidates):
        tap.note(f"off the CPU without a switch: {headline(block)}")
    return next((b for b in candidates if not unseen(b)), candidates[0])


def start(command, uid=None, **options):
    """Starts a process to be traced, with a better priority than busy neighbours."""
    def enter():
        os.nice(-10)
        if uid is not None:
            os.setuid(uid)
    return subprocess.Popen(command, preexec_fn=enter, **options)


def trace_whole(command, threshold):
    """Traces a program that reports when it is ready, goes on after a line of input, and ends by
    itself."""
    process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    trace = Trace(process.pid, threshold=threshold)
    process.stdin.write("\n")
    process.stdin.flush()
    trace.finish()
    end(process)
    return trace


class Lettered:
    """A program that reads one letter from stdin, does that action, and answers with the letter."""

    def __init__(self, command):
        self.process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.expect("r")

    def expect(self, letter):
        answer = self.process.stdout.read(1)
        if answer != letter.encode():
            raise RuntimeError(f"the program answered {answer}, not {letter}")

    def do(self, letter):
        self.process.stdin.write(letter.encode())
        self.expect(letter)

    def end(self):
        end(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


def end(process, timeout=20):
    """Ends a process that we started."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(condition, seconds=20, what="it"):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not appear within {seconds} s")


def drop_cache(path):
    """Drops a file's pages from memory."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def is_cached(path):
    """Are all of a file's pages in memory? Then a program has read it since drop_cache()."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as pages:
        states = (ctypes.c_ubyte * -(-len(pages) // mmap.PAGESIZE))()
        begin = (ctypes.c_char * len(pages)).from_buffer(pages)
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(begin)), ctypes.c_size_t(len(pages)), states)
        del begin
    if failed:
        raise OSError("mincore")
    return all(state & 1 for state in states)
