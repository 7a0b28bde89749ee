#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests the judge: tests/lib/truth.py accepts right blocks and refuses each kind of wrong one."""
import copy
import json
import os
import subprocess
import sys
import tempfile

JUDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib", "truth.py")
MS = 1000000
PID = 100


def dispatch(tid, begin_ms, ms, kind, function, cpu_ms, delay_ms=0.0, stopped_ms=0.0):
    return {"type": "dispatch", "pid": PID, "tid": tid, "loop": "epoll", "scenario": function[7:],
            "kind": kind, "also": [], "function": function, "functions": [function, "do_" + kind],
            "begin_ns": int(begin_ms * MS), "end_ns": int((begin_ms + ms) * MS),
            "duration_ns": int(ms * MS), "cpu_ns": int(cpu_ms * MS),
            "run_delay_ns": int(delay_ms * MS), "stopped_ns": int(stopped_ms * MS)}


TRUTH = [
    dispatch(100, 1000, 40, "cpu", "handle_busy", 39.5),
    dispatch(100, 1100, 60, "sleep", "handle_sleep", 0.2),
    dispatch(100, 1200, 24.95, "sleep", "handle_sleep", 0.2),  # within the guard band
    dispatch(100, 1300, 10, "cpu", "handle_busy", 10),  # shorter than the threshold
    dispatch(100, 1400, 90, "stopped", "handle_stopped", 0.2, stopped_ms=89),
    dispatch(101, 1010, 50, "runnable", "handle_runnable", 12, delay_ms=38),
    dispatch(101, 1100, 6000, "futex", "handle_mutex", 0.2),
    {"type": "summary", "pid": PID, "loop": "epoll", "dispatches": 20, "lost": 0},
]


def block_of(truth):
    """The block that jankbpf should report of it: begun a little earlier, a little longer."""
    duration = truth["duration_ns"] + 1500
    running, runnable = truth["cpu_ns"] + 900, truth["run_delay_ns"]
    left = duration - running - runnable
    state = truth["kind"] if truth["kind"] in ("sleep", "futex", "stopped") else "other"
    return {"type": "block", "schema": "jankbpf/1", "pid": PID, "tid": truth["tid"], "loop": "epoll",
            "start_ns": truth["begin_ns"] - 700, "duration_ns": duration, "cpu_ns": truth["cpu_ns"] + 400,
            "time": {"running_ns": running, "runnable_ns": runnable, "blocked_ns": {state: left}},
            "cause": {"kind": truth["kind"], "share": 0.9, "frame": {"function": truth["function"]}}}


def right_blocks():
    blocks = [block_of(TRUTH[i]) for i in (0, 1, 5, 6)]
    hang = dict(copy.deepcopy(blocks[3]), type="hang", duration_ns=5000 * MS)
    foreign = dict(block_of(TRUTH[0]), pid=999, tid=999)
    return blocks[:3] + [hang, blocks[3], foreign, {"type": "summary", "dispatches": 20}]


def edit(index, **fields):
    def apply(truth, blocks):
        blocks[index].update(fields)
    return apply


def edit_time(index, **fields):
    def apply(truth, blocks):
        blocks[index]["time"].update(fields)
    return apply


def edit_cause(index, **fields):
    def apply(truth, blocks):
        blocks[index]["cause"].update(fields)
    return apply


def move_time(index, ns):
    """Moves time from running to runnable; the sum stays the same."""
    def apply(truth, blocks):
        time = blocks[index]["time"]
        time["running_ns"] -= ns
        time["runnable_ns"] += ns
    return apply


def edit_truth(index, **fields):
    def apply(truth, blocks):
        truth[index].update(fields)
    return apply


def drop(index):
    def apply(truth, blocks):
        del blocks[index]
    return apply


def add(make):
    def apply(truth, blocks):
        blocks.insert(0, make())
    return apply


def report(index):
    return add(lambda: block_of(TRUTH[index]))


def nothing(truth, blocks):
    pass


def late_block():
    return dict(block_of(TRUTH[0]), start_ns=1700 * MS)


def longer_sum(truth, blocks):
    blocks[0]["time"]["blocked_ns"]["other"] += 1


def duration_off(truth, blocks):
    blocks[0]["duration_ns"] += MS // 5
    blocks[0]["time"]["blocked_ns"]["other"] += MS // 5


FRAMES = ["--tolerance", "frame_rate=1"]
HANG = ["--hang", "5s"]

# what, edit, options, the check that must fail (None: all must pass)
CASES = [
    ("right blocks", nothing, [], None),
    ("right blocks, with frames and hangs checked", nothing, FRAMES + HANG, None),
    ("a block within the guard band", report(2), [], None),
    ("a kind that ties with the right one", lambda t, b: (t[0].update(also=["kernel"]),
     b[0]["cause"].update(kind="kernel")), [], None),
    ("the frame below the handler", edit_cause(1, frame={"function": "do_sleep"}), FRAMES, None),
    ("a stopped one, debugging", report(4), ["--debugging"], None),
    ("a stopped one that waited for a CPU", lambda t, b: (
        t[4].update(run_delay_ns=50 * MS, kind="runnable"), b.append(block_of(t[4]))), [], None),
    ("one that waited in a stop, of unsure length", lambda t, b: (
        t[4].update(run_delay_ns=38 * MS), b.append(block_of(t[4]))), ["--guard", "12ms"], None),
    ("a lower threshold", report(3), ["--threshold", "5ms", "--tolerance", "kind_rate=1"],
     "every dispatch over 5 ms is reported"),
    ("a missing block", drop(0), [], "every dispatch over 25 ms is reported"),
    ("a block reported twice", report(0), [], "none is reported twice"),
    ("an invented block", add(late_block), [], "is invented"),
    ("a block of another thread", edit(0, tid=102), [], "is invented"),
    ("a block below the threshold", report(3), [], "is invented"),
    ("a stopped one, not debugging", report(4), [], "is invented"),
    ("no stopped one, debugging", nothing, ["--debugging"], "every dispatch over 25 ms is reported"),
    ("a sum off by one", longer_sum, [], "is the duration, exactly"),
    ("a time off by one", edit_time(1, runnable_ns=1), [], "is the duration, exactly"),
    ("another loop", edit(0, loop="glib"), [], "the loop is epoll"),
    ("another loop wanted", nothing, ["--loop", "android-looper"], "the loop is android-looper"),
    ("a wrong kind", edit_cause(0, kind="sleep"), [], "cause.kind right"),
    ("no kind", edit_cause(0, kind=None), [], "cause.kind right"),
    ("a wrong frame", edit_cause(0, frame={"function": "main"}), FRAMES, "cause.frame right"),
    ("no frame", edit_cause(0, frame=None), FRAMES, "cause.frame right"),
    ("a wrong duration", duration_off, [], "duration error"),
    ("running too short", move_time(0, 11 * MS // 10), [], "|running_ns - CPU clock|"),
    ("runnable too long", move_time(2, 21 * MS // 10), ["--tolerance", "running_max=none"],
     "|runnable_ns - run delay|"),
    ("a wrong CPU time", edit(0, cpu_ns=41 * MS), [], "|cpu_ns - CPU clock|"),
    ("no hang reported", drop(3), HANG, "every hang is reported once"),
    ("a hang too many", add(lambda: dict(block_of(TRUTH[1]), type="hang")), HANG, "hangs is invented"),
    ("a truth with losses", edit_truth(-1, lost=1), [], "the truth is whole"),
    ("nothing to report", nothing, ["--threshold", "10s"], "the truth is whole"),
]


def write_lines(path, records, end="\n"):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(json.dumps(record) for record in records) + end)


def judge(folder, truth, blocks, options, end="\n"):
    paths = [os.path.join(folder, name) for name in ("truth", "blocks")]
    write_lines(paths[0], truth)
    write_lines(paths[1], blocks, end)
    return subprocess.run([sys.executable, JUDGE, *paths, *options], capture_output=True, text=True)


def print_result(number, good, what, run):
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    if not good:
        for line in (run.stdout + run.stderr).splitlines():
            print("#", line)


def holds(run, failing):
    bad = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    if failing is None:
        return run.returncode == 0 and not bad and "1.." in run.stdout
    return run.returncode == 1 and any(failing in line for line in bad)


def main():
    # exit status 2, because nothing can be judged: what, truth, the end of the blocks, options
    unjudged = [
        ("a torn last line", TRUTH, '\n{"type":', []),
        ("a last line without its end", TRUTH, "", []),
        ("a truth without summary", TRUTH[:-1], "\n", []),
        ("an unknown tolerance", TRUTH, "\n", ["--tolerance", "speed=1"]),
        ("a threshold that is no time", TRUTH, "\n", ["--threshold", "5parsecs"]),
    ]
    print(f"1..{len(CASES) + len(unjudged)}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (what, apply, options, failing) in enumerate(CASES, 1):
            truth, blocks = copy.deepcopy(TRUTH), right_blocks()
            apply(truth, blocks)
            run = judge(folder, truth, blocks, options)
            print_result(number, holds(run, failing), what if failing is None else f"{what} is refused", run)
        for number, (what, truth, end, options) in enumerate(unjudged, len(CASES) + 1):
            run = judge(folder, truth, right_blocks(), options, end)
            print_result(number, run.returncode == 2 and run.stderr, f"{what} is an error", run)


if __name__ == "__main__":
    main()
