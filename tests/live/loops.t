#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Programs over the loops of real libraries. They stall on purpose and report when and on what
(tests/loops/stall.h). Each stall is reported once, with its length, cause, loop and message, and
nothing else is. tests/lib/loop_kinds.py has what each program must give.

LOOPS=glib,uv runs these only. JANK_LOOPS_KEEP=DIR keeps truths and records.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import (JANKBPF, MS, ROOT, Tap, Trace, blamed, check_run, end, functions, headline, need,  # noqa: E402
                  start, state_ns, unseen, wait_for, wakers)
from loop_kinds import BUILT, KINDS  # noqa: E402
from real import Screen  # noqa: E402

EDGE_NS = 2 * MS
CANNOT = 77
MARKS = ("--marks", "always")  # otherwise a process has them after a second


class Program:
    """One of the programs, in its loop. begin() starts its stalls, truth() waits for its end."""

    def __init__(self, kind, env):
        self.process = start(kind.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**os.environ, **env, **kind.env})
        first = self.process.stdout.readline()
        self.pid = json.loads(first)["ready"] if first else None
        self.failure = None if first else self.process.stderr.read().strip() or "it printed nothing"

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def truth(self):
        return [json.loads(line) for line in self.process.stdout]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()


def overlap_ns(block, stall):
    return (min(block["start_ns"] + block["duration_ns"], stall["end_ns"]) -
            max(block["start_ns"], stall["begin_ns"]))


def blocks_of(blocks, stall):
    """The stall's causes, by the states with most of its time."""
    length = stall["end_ns"] - stall["begin_ns"]
    return [b for b in blocks if b["tid"] == stall["tid"] and overlap_ns(b, stall) > length / 2]


def covers(block, stall):
    edge = (stall["end_ns"] - stall["begin_ns"]) / 2 if stall.get("loose") else EDGE_NS
    return (block["start_ns"] <= stall["begin_ns"] + edge and
            block["start_ns"] + block["duration_ns"] >= stall["end_ns"] - edge)


def right_cause(block, stall):
    """Is the cause right? The kernel time of a computing program depends on its pages and on the
    machine. A stall shorter than half of its block is not the cause, but in the account (a JVM's
    first turn compiles for longer than it waits)."""
    ns = stall["end_ns"] - stall["begin_ns"]
    if ns * 2 < block["duration_ns"] and stall["how"] != "cpu":
        return state_ns(block, stall["how"]) >= 0.9 * ns
    allowed = {"cpu": {"cpu", "kernel"}, "kernel": {"cpu", "kernel", "disk"}}
    return blamed(block) in allowed.get(stall["how"], {stall["how"]})


def own_fault(block):
    """Did the program stall itself, rather than a busy machine stall it?"""
    waited = state_ns(block, "runnable")
    # Java stops its threads now and then; GTK waits for X
    if wakers(block) & {"VM Thread", "Xvfb"}:
        return False
    return not unseen(block) and (block["duration_ns"] - waited) > block["threshold_ns"]


def flat(part):
    return part if isinstance(part, (int, str)) else part.get("symbol") or ""


def message_of(block):
    return {name: flat(part) for name, part in (block.get("message") or {}).items() if name != "also_ready"}


def descriptors(block):
    """The ready descriptors as (fd, fd_target)."""
    message = block.get("message") or {}
    return [(entry["fd"], entry.get("fd_target", "")) for entry in (message, *message.get("also_ready", ()))
            if "fd" in entry]


def wrong_descriptor(block, truth):
    ready = descriptors(block)
    good = [entry for entry in ready
            if truth.get("fd", entry[0]) == entry[0] and truth.get("fd_target", "") in entry[1]]
    return {"fd": (ready, truth)} if ready and not good and {"fd", "fd_target"} & truth.keys() else {}


def wrong_parts(block, stall):
    """A symbol may have its arguments, a class its namespace, a descriptor's target its ends."""
    said, truth = message_of(block), stall["message"]
    wrong = {name: (said[name], truth[name]) for name in said.keys() & truth.keys() - {"fd", "fd_target"}
             if str(truth[name]) not in str(said[name])}
    return wrong | wrong_descriptor(block, truth)


def missing_parts(kind, block, stall):
    wanted = kind.parts.get(stall["kind"], kind.parts.get("", ()))
    return [name for name in wanted if name in stall["message"] and name not in message_of(block)]


def line_of(stall, block=None):
    about = f"{stall['kind']} ({stall['how']}) of {(stall['end_ns'] - stall['begin_ns']) / MS:.1f} ms"
    return f"{about}: {headline(block)}, message {block.get('message')}" if block else about


def each(tap, text, pairs, is_wrong):
    """One result for all; the wrong ones are its details."""
    wrong = [(line_of(stall, block), is_wrong(block, stall)) for stall, block in pairs if is_wrong(block, stall)]
    tap.check(not wrong, text, *wrong)


def check_pairs(tap, name, kind, pairs):
    each(tap, f"{name}: each block covers all of its stall", pairs, lambda b, s: not covers(b, s))
    each(tap, f"{name}: each has the right cause", pairs, lambda b, s: not right_cause(b, s))
    # If the kernel did not run our BPF program at a switch, there is no stack; that is counted.
    framed = [(s, b) for s, b in pairs if s.get("frame") and not b.get("lost", {}).get("wakeup_missed")]
    if framed:
        each(tap, f"{name}: the function that stalls is in a stack", framed,
             lambda b, s: not any(s["frame"] in f for f in functions(b)))


def check_words(tap, name, kind, pairs):
    """Checks the loop's name and the message."""
    each(tap, f"{name}: the loop is called {kind.loop}", pairs, lambda b, s: b["loop"] != kind.loop)
    each(tap, f"{name}: what a message says is true", pairs, wrong_parts)
    if kind.parts:
        each(tap, f"{name}: a message has all it can have", pairs, lambda b, s: missing_parts(kind, b, s))


def check_silence(tap, name, stalls, blocks):
    tap.check(len(stalls) >= 2 and not blocks, f"{name}: {len(stalls)} stalls, and no block, since it has no loop",
              *[headline(b) for b in blocks])


def check_others(tap, name, others):
    for block in others:
        tap.note(f"not one of our stalls: {headline(block)}")
    tap.check(not any(map(own_fault, others)), f"{name}: nothing else of the program is a block",
              *[headline(b) for b in filter(own_fault, others)])


def pair(stalls, blocks):
    """[(stall, its block)], what is wrong with the other stalls, the blocks without a stall."""
    pairs, wrong, matched = [], [], set()
    for stall in stalls:
        found = blocks_of(blocks, stall)
        matched |= {b["id"] for b in found}
        if len(found) == 1:
            pairs.append((stall, found[0]))
        else:
            wrong += [line_of(stall, block) for block in found] or [f"{line_of(stall)}: no block"]
    return pairs, wrong, [b for b in blocks if b["id"] not in matched]


def check_blocks(tap, name, kind, stalls, blocks):
    pairs, wrong, others = pair(stalls, blocks)
    tap.check(len(stalls) >= 2 and not wrong, f"{name}: each of {len(stalls)} stalls is one block", *wrong)
    check_pairs(tap, name, kind, pairs)
    check_words(tap, name, kind, pairs)
    check_others(tap, name, others)


def check_moving(tap, name, kind, stalls, blocks):
    """Sleeping handlers are reported. No thread's idle wait is, whether in a futex, in epoll or in
    a sleep."""
    asleep = [s for s in stalls if s["how"] == "sleep"]
    pairs, wrong, _ = pair(asleep, blocks)
    tap.check(asleep and not wrong, f"{name}: each of {len(asleep)} stalls that sleep is one block", *wrong)
    check_pairs(tap, name, kind, pairs)
    check_words(tap, name, kind, pairs)
    ours = {b["id"] for _, b in pairs}
    idle = [b for b in blocks if b["id"] not in ours and blamed(b) in ("futex", "poll", "sleep")]
    tap.check(not idle, f"{name}: no idle wait is a block", *map(headline, idle))


def keep(name, stalls, lines):
    folder = os.environ.get("JANK_LOOPS_KEEP")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    for what, text in (("truth", "".join(json.dumps(s) + "\n" for s in stalls)), ("records", lines)):
        with open(os.path.join(folder, f"{name}.{what}.jsonl"), "w", encoding="utf-8") as file:
            file.write(text)


def judge(tap, name, kind, stalls, blocks):
    if not kind.loop:
        check_silence(tap, name, stalls, blocks)
    elif kind.moves:
        check_moving(tap, name, kind, stalls, blocks)
    else:
        check_blocks(tap, name, kind, stalls, blocks)


def run(tap, name, kind, env):
    program = Program(kind, env)
    if program.failure:
        status = program.end()
        if status == CANNOT:
            tap.skip(name, program.failure)
        else:
            tap.check(False, f"{name}: the program begins", program.failure)
        return
    try:
        with Trace(program.pid, options=(*MARKS, *kind.options)) as trace:
            time.sleep(kind.learn_s)
            program.begin()
            stalls = program.truth()
            tap.check(program.process.wait(20) == 0, f"{name}: the program quits by itself")
            trace.finish()
    finally:
        program.end()
    keep(name, stalls, trace.lines)
    check_run(tap, trace, name, spared=("preemptors_capped",))  # long blocks on a busy machine
    judge(tap, name, kind, stalls, trace.blocks)


def trace_command(kind, path):
    """jankbpf -- COMMAND; its truth goes to a file, because stdout has the records."""
    words = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", path, *kind.command]
    traced = subprocess.Popen([JANKBPF, "-q", "--json", "-t", "25ms", *MARKS, "--", *words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path), what=f"{kind.command[0]} in its loop")
        time.sleep(kind.learn_s)
        out, messages = traced.communicate("\n", timeout=60)
    finally:
        end(traced)
    return traced.returncode, [json.loads(line) for line in out.splitlines()], messages


def run_command(tap, name, kind):
    """Traced from its first instruction on."""
    what = f"{name}, started by jankbpf"
    with tempfile.TemporaryDirectory(prefix="jank-loops-") as folder:
        path = os.path.join(folder, "truth")
        status, records, messages = trace_command(kind, path)
        with open(path, encoding="utf-8") as file:
            stalls = [s for s in map(json.loads, file) if "kind" in s]
    tap.check(status == 0, f"{what}: ended well", messages)
    blocks = [r for r in records if r["type"] == "block"]
    if kind.loop:
        _, wrong, others = pair(stalls, blocks)
        tap.check(len(stalls) >= 2 and not wrong, f"{what}: each of {len(stalls)} stalls is one block", *wrong)
        check_others(tap, what, others)
    else:
        check_silence(tap, what, stalls, blocks)


def there(command):
    """Is the program, or the program that an interpreter runs, installed or built?"""
    if command[0] == "java":
        jars = [jar for jar in command[-2].split(":") if jar.endswith(".jar")]
        return all(map(os.path.exists, [f"{BUILT}/java/{command[-1]}.class", *jars])) and find("java")
    return find(command[0])


def find(name):
    return subprocess.run(["sh", "-c", 'command -v "$0"', name], capture_output=True).returncode == 0


def run_on_screen(tap, name, kind):
    if not find("Xvfb"):
        tap.skip(name, "not installed: xvfb")
        return
    screen = Screen()
    try:
        if screen.env:
            run(tap, name, kind, screen.env)
        else:
            tap.skip(name, "Xvfb does not start here")
    finally:
        screen.end()


def main():
    need()
    made = subprocess.run(["make", "-s", "-C", ROOT, "stallers"], capture_output=True, text=True)
    if made.returncode:
        print("Bail out! the programs do not build:", made.stderr.replace("\n", " "))
        sys.exit(1)
    tap = Tap()
    only = os.environ.get("LOOPS")
    for name, kind in KINDS.items():
        if only and name not in only.split(","):
            continue
        if not there(kind.command):
            tap.skip(name, f"not installed: {kind.needs}")
        elif kind.x11:
            run_on_screen(tap, name, kind)
        else:
            run(tap, name, kind, {})
        if name in ("epoll", "glib", "libuv", "client") and there(kind.command):
            run_command(tap, name, kind)
    tap.end()


if __name__ == "__main__":
    main()
