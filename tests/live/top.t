#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf top: tables as text, and the screen in a real terminal (tmux), with its keys."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

JANK = os.path.abspath(bad.JANK)
STALLS = ("--scenario", "busy:40ms,sleep:60ms,mutex:300ms", "--count", "1000000")


class Screen:
    """A tmux of its own with one window, in which jankbpf top runs in a directory of its own."""

    def __init__(self, *options, size="150x30"):
        self.folder = bad.scratch(f"screen{len(os.listdir(bad.SCRATCH))}")
        os.mkdir(self.folder)
        self.socket = os.path.join(self.folder, "tmux")
        command = " ".join([JANK, "top", *map(str, options)])
        # What stty says before and after shows whether the terminal is as it was.
        script = f"cd {self.folder}; stty -a >before; {command} 2>err; echo $? >status; stty -a >after; sleep 1000"
        columns, lines = size.split("x")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", lines, "bash", "-c", script)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, timeout=30,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)
        return done.stdout

    def shown(self):
        return self.tmux("capture-pane", "-p")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, pattern, seconds=60):
        return bad.wait_for(lambda: re.search(pattern, self.shown()), seconds)

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def status(self):
        """The exit status, once it has one."""
        bad.wait_for(lambda: self.read("after"), 60)
        return self.read("status").strip()

    def terminal_kept(self):
        """Are the terminal's modes, but for its size, as before?"""
        return self.read("before").split("\n")[1:] == self.read("after").split("\n")[1:]

    def tracer(self):
        """The pid of the jankbpf in it."""
        pane = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        with open(f"/proc/{pane}/task/{pane}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def close(self):
        self.tmux("kill-server")


def check(screen, pattern, name):
    ok(screen.shows(pattern), name, screen.shown())


def test_batch(process):
    result = bad.trace("top", "-b", "-n", 3, "--interval", "500ms", "-t", "25ms", "-p", process.pid, seconds=120)
    lines = result.out.splitlines()
    ok(result.status == 0 and sum("OPEN NOW" in line for line in lines) == 3, "-b -n 3: three tables", result)
    row = next(line.split() for line in reversed(lines) if line.split()[:1] == [str(process.pid)])
    ok(row[1:3] == ["simjank", "epoll"] and float(row[3].replace(",", "")) > 0, "a row has its dispatches", row)
    ok(re.search(r"×\d+ +[\d.]+ m?s +[34]\d\d ms +[0-9a-f]{8}  simjank \(\d+\)  .* mutex", result.out),
       "a fault has count, times, signature, process and sentence", result.out)
    ok(all(line == line.rstrip() for line in lines), "no line ends in blanks", result.out)


def test_no_terminal(process):
    result = bad.trace("top", "-p", process.pid)
    ok(result.status == 2 and "give -b" in result.err and not result.out, "no terminal: a message with the remedy", result)
    result = bad.trace("top", "-n", 3, "-p", process.pid)
    ok(result.status == 2 and "-b" in result.err, "-n without -b is refused", result)


def test_keys(process):
    screen = Screen("-t", "25ms", "-p", process.pid)
    check(screen, r"\d simjank +epoll .* ms (futex|sleep|running)", "a row shows which dispatch is open now")
    check(screen, r"Faults of simjank \(\d+\), epoll\n.*×\d+ .*0d4882b8", "below are the faults of the row")
    screen.press("Tab", "Enter")
    check(screen, r"held by thread 'holder'(.|\n)*do_lock", "enter: the last record of the fault")
    screen.press("q")
    check(screen, "DISP/S", "q: back to the loops")
    screen.press("m")
    check(screen, r"blocks muted", "m: the fault is muted")
    ok("0d4882b8" not in screen.shown().replace("0d4882b8 is muted", ""), "… and not listed", screen.shown())
    screen.press("M")
    check(screen, "0d4882b8", "M: it is back")
    screen.press("s")
    check(screen, "sorted by blocks", "s: another order")
    screen.press("/", "n", "o", "n", "e", "Enter")
    check(screen, "only with 'none'", "/: a filter")
    ok(not re.search(r"\d simjank +epoll", screen.shown()), "… hides the other rows", screen.shown())
    screen.press("/", "BSpace", "BSpace", "BSpace", "BSpace", "s", "i", "m", "Enter")
    check(screen, r"\d simjank +epoll", "… until it is changed")
    screen.press("?")
    check(screen, "the longest dispatch that has not ended", "?: the help")
    screen.press("q")
    return screen


def test_save(screen):
    screen.press("d")
    check(screen, r"saved: \./jankbpf-\w+-\d+-\d+\.jsonl", "d: the record is saved")
    names = [name for name in os.listdir(screen.folder) if name.endswith(".jsonl")]
    with open(os.path.join(screen.folder, names[0]), encoding="utf-8") as file:
        record = json.loads(file.read())
    ok(len(names) == 1 and record["type"] == "block" and record["samples"], "… as JSON, with its stacks")


def test_threshold(screen):
    screen.press("t", "x", "Enter")
    check(screen, "threshold", "t: nonsense is refused")
    screen.press("t", "2", "0", "0", "m", "s", "Enter")
    check(screen, "over 200 ms", "t: another threshold")

    def counts():
        return {m[1]: int(m[0].replace(",", "")) for m in re.findall(r"×([\d,]+) .*?  ([0-9a-f]{8}) ", screen.shown())}

    # Blocks of before are still on their way.
    bad.wait_for(lambda: re.search(r"over 200 ms", screen.shown()))
    before = counts()
    bad.wait_for(lambda: counts().get("0d4882b8", 0) >= before.get("0d4882b8", 0) + 3, 60)
    after = counts()
    grown = {key: after[key] - before.get(key, 0) for key in after}
    ok(grown.pop("0d4882b8", 0) >= 3 and all(more <= 2 for more in grown.values()),
       "… and only longer blocks are counted from then on", (before, after))


def test_end(screen):
    """jankbpf-deliver draws the screen; it may be killed at any time."""
    tracer = screen.tracer()
    old = bad.own_process(tracer, "jankbpf-deliver")
    os.kill(old, signal.SIGKILL)
    bad.wait_for(lambda: bad.own_process(tracer, "jankbpf-deliver") not in (0, old))
    check(screen, r"\d simjank +epoll", "the process that draws is killed: another one goes on")
    screen.press("q")
    ok(screen.status() == "0", "q ends it with status 0", (screen.status(), screen.read("err")))
    check(screen, r"summary(.|\n)*\d faults?", "then the summary is shown")
    ok(screen.terminal_kept(), "the terminal is as it was",
       screen.read("before") + screen.read("after"))
    ok("the process that writes records ended" in screen.read("err"), "messages come after the screen",
       screen.read("err"))
    screen.close()


def test_signals(process):
    """Ctrl-C, and a process that ends."""
    screen = Screen("-t", "25ms", "-p", process.pid, size="80x24")
    check(screen, r"\d simjank +epoll", "80 columns: the row is there")
    ok(all(len(line) <= 80 for line in screen.shown().splitlines()), "… and fits")
    screen.tmux("resize-window", "-x", "120", "-y", "40")
    check(screen, "START P99", "the window grows: more columns")
    screen.press("C-c")
    ok(screen.status() == "0" and screen.terminal_kept(), "Ctrl-C ends it",
       (screen.status(), screen.read("err")))
    screen.close()
    screen = Screen("-t", "25ms", "-p", process.pid)
    screen.shows(r"\d simjank +epoll")
    bad.end(process)
    ok(screen.status() == "0", "it ends with its process", (screen.status(), screen.read("err")))
    screen.close()


def main():
    if not shutil.which("tmux"):
        bad.skip("jankbpf top", "tmux is not installed")
        return
    process = bad.simjank(*STALLS)
    test_batch(process)
    test_no_terminal(process)
    screen = test_keys(process)
    test_save(screen)
    test_threshold(screen)
    test_end(screen)
    test_signals(process)


main()
bad.done()
