# SPDX-License-Identifier: GPL-2.0
"""Shared by run_desktop and run_idle: a program in a folder of its own, and the judgement of a
trace's blocks."""
import json
import os
import shutil
import tempfile

import desktop_programs as programs
import live
from real import free_port

MS = 1000000
THRESHOLD_MS = 100
SLACK_NS = 15 * MS      # two clocks, and a browser's rounding


class Seat:
    """A program that is ready to be started: its folder, port, environment (env: in addition to
    ours) and words."""

    def __init__(self, program, display, rounds):
        self.program, self.rounds, self.port = program, rounds, free_port()
        self.folder = tempfile.mkdtemp(prefix="verdict-")
        os.chmod(self.folder, 0o777)
        self.log = os.path.join(self.folder, "stalls")
        with open(self.log, "w", encoding="ascii"):
            os.chmod(self.log, 0o666)
        self.env = dict(display.env, HOME=self.folder, STALLS_FILE=self.log, STALLS_DELAY=str(programs.DELAY_S),
                        STALLS_ROUNDS=str(rounds), PATH=os.environ["PATH"] + ":/usr/sbin",
                        MOZ_DISABLE_CONTENT_SANDBOX="1")
        self.page = programs.Page(self.port, self.folder, rounds) if program.page else None
        self.words = program.prepare(self.port, self.folder, rounds)

    def said(self):
        try:
            with open(os.path.join(self.folder, "output"), encoding="utf-8", errors="replace") as file:
                return file.read()[-300:].replace("\n", " | ")
        except FileNotFoundError:
            return ""

    def close(self):
        """Removes its folder, after its process's end."""
        if self.page:
            self.page.server.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)


def waited(block):
    """Did the thread sleep for most of it, rather than work or wait for a CPU?"""
    return sum(block["time"].get("blocked_ns", {}).values()) * 2 > block["duration_ns"]


# The causes that are right for a kind of stall, by how each language causes it, and the comms of
# the threads that it waits for.
KINDS = {"cpu": ("cpu",), "script": ("cpu",), "layout": ("cpu", "kernel"), "garbage": ("cpu", "kernel"),
         "sleep": ("sleep", "poll", "futex"), "futex": ("futex",), "child": ("child", "pipe", "poll"),
         "request": ("futex", "poll", "socket")}
CULPRITS = {"child": ("sleep", "sh"), "sleep": ()}


class Tally:
    def __init__(self, name):
        self.name = name
        self.stalls = self.found = self.kind = self.invented = self.others = 0
        self.wanted = self.named = self.right = self.accused = 0
        self.notes, self.unwatched = [], set()

    def judge(self, trace, stalls):
        free, missed = trace.all_blocks + trace.hangs, {}
        for begin, end, kind in stalls:
            self.stalls += 1
            blocks = [block for block in free if block["start_ns"] <= begin + SLACK_NS and
                      block["start_ns"] + block["duration_ns"] >= end - SLACK_NS]
            if blocks:
                self.found += 1
                self.check(kind, blocks[0])
            else:
                missed[kind] = missed.get(kind, 0) + 1
            free = [block for block in free if block not in blocks]
        if missed:
            self.notes.append(f"missed: {missed}")
        self.judge_free(free, stalls)
        for entry in trace.summary["not_watched"] if self.found < len(stalls) else ():
            self.notes.append(f"not watched: {json.dumps(entry)}")
            self.unwatched.add(entry["reason"])

    def check(self, kind, block):
        """Judges the first of the blocks that cover the stall: its kind, and the thread or process
        that it waited for."""
        # a program that is busy by the clock waits for a CPU as long as others have it
        kinds = KINDS[kind]
        kind_right = live.blamed(block) in kinds or "cpu" in kinds and block["cause"]["kind"] == "runnable"
        culprit = [link["comm"] for link in block.get("chain", ())][-1:]
        wanted = CULPRITS.get(kind)
        # Ruby's threads wait for a child by a condition variable (3.1, process.c): the child must be named
        if kind == "child" and live.blamed(block) == "futex":
            kind_right = bool(culprit) and culprit[0] in wanted
        wrong = bool(culprit) and wanted is not None and culprit[0] not in wanted
        self.kind += kind_right
        if wanted:
            self.wanted += 1
            self.named += bool(culprit)
            self.right += bool(culprit) and not wrong
        self.accused += wrong
        if not kind_right or wrong or wanted and not culprit:
            self.notes.append(f"{kind}: {live.headline(block)}: {block['cause'].get('summary')}")

    def judge_free(self, blocks, stalls):
        """Blocks outside all stalls."""
        for block in blocks:
            if waited(block) and not any(begin < block["start_ns"] + block["duration_ns"] and block["start_ns"] < end
                                         for begin, end, _ in stalls):
                self.invented += 1
                self.notes.append(f"invented: {block['type']} {live.headline(block)}: {block['cause'].get('summary')}")
            else:
                self.others += 1
                self.notes.append(f"other: {block['type']} {live.headline(block)}: {block['cause'].get('summary')}")
