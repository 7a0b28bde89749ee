#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Start-ups: from the exec or fork of a process to its loop's first wait, with account, stacks and
length. A program that reaches no loop gives nothing, nor does a wait for its user."""
import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok
from group import Group
from real import free_port

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "starter.c")
SLOW_S = 1.5
END_NS = 1000 * MS  # on a busy machine the program gets a CPU late
SHELL_JOBS, COMPILERS = 20, 12


def build(folder):
    path = os.path.join(folder, "starter")
    subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, PROGRAM], check=True)
    return path


def functions(record):
    return {f.get("function") for s in record["samples"] for f in s["stack"]}


def difference(replayed, record):
    return {key: (replayed.get(key), record.get(key)) for key in {*replayed, *record} if replayed.get(key) != record.get(key)}


def startups(result):
    return [block for block in result.of("block") if block.get("phase") == "startup"]


class Slow:
    """The program in the cgroup, and when what it waits for came: CLOCK_MONOTONIC in ns."""

    def __init__(self, group, program, folder, start, loop):
        self.fifo = os.path.join(folder, f"{start}-{loop}")
        os.mkfifo(self.fifo)
        self.begun_ns = time.monotonic_ns()
        self.process = group.start(program, start, loop, self.fifo)
        self.came_ns = self.begun_ns
        self.feeder = threading.Thread(target=self.feed)
        self.feeder.start()

    def feed(self):
        time.sleep(SLOW_S)
        fd = os.open(self.fifo, os.O_WRONLY)
        self.came_ns = time.monotonic_ns()
        os.write(fd, b"x")
        os.close(fd)

    def finish(self, group):
        self.feeder.join()
        self.process.wait()
        bad.wait_for(lambda: not group.pids(), 30)


def check_length(block, slow, what):
    end_ns = block["start_ns"] + block["duration_ns"]
    ok(slow.begun_ns <= block["start_ns"] <= slow.came_ns - 0.8 * SLOW_S * 1e9, f"{what}: it begins with the program",
       (slow.begun_ns, block["start_ns"]))
    ok(slow.came_ns <= end_ns <= slow.came_ns + END_NS, f"{what}: it ends with the first turn", end_ns - slow.came_ns)
    ok(bad.exact([block]), f"{what}: its time adds up", block["time"])


def test_slow(group, program, folder, start, loop):
    what = f"{start}, then {loop}"
    journal = os.path.join(folder, f"{start}-{loop}.journal")
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", "1s", "--journal", journal)
    slow = Slow(group, program, folder, start, loop)
    slow.finish(group)
    result = tracer.stop()
    blocks = startups(result)
    if not ok(len(blocks) == 1, f"{what}: one start-up", result):
        return
    block = blocks[0]
    ok(block["loop"] == loop and block["process"] == "starter", f"{what}: of its loop", (block["loop"], block["process"]))
    check_length(block, slow, what)
    ok(block["time"]["blocked_ns"].get("other", 0) > 0.7 * SLOW_S * 1e9, f"{what}: it waited", block["time"])
    # of the parent's part a child has what the kernel says
    ok(("fifo_open" if start == "forks" else "read_settings") in functions(block), f"{what}: with the stack", functions(block))
    ok(block["cause"]["summary"].startswith("start-up took "), f"{what}: and a sentence", block["cause"])
    if start != "forks":
        ok(block["pid"] == slow.process.pid, f"{what}: the process", (block["pid"], slow.process.pid))
    turns = [each.get("first_turn_ns") for each in result.summary()["loops"] if each["pid"] == block["pid"]]
    ok(turns == [block["duration_ns"]], f"{what}: and in the summary", (turns, block["duration_ns"]))
    again = subprocess.run([bad.JANK, "replay", "--json", journal], capture_output=True, text=True, check=True).stdout
    again = [record for record in map(json.loads, again.splitlines()) if record.get("phase") == "startup"]
    ok(again == blocks, f"{what}: the journal gives the same record", [difference(*pair) for pair in zip(again, blocks)])


def test_busy(group, program):
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", "1s")
    process = group.start(program, "busy", "epoll")
    process.wait()
    result = tracer.stop()
    blocks = startups(result)
    if ok(len(blocks) == 1, "busy: one start-up", result):
        block = blocks[0]
        ok(abs(block["cpu_ns"] - 1500 * MS) < 100 * MS, "busy: its CPU time, also that before it was seen", block["cpu_ns"])
        ok("build_index" in functions(block) and block["cause"]["kind"] in ("cpu", "runnable"), "busy: with stacks and the cause",
           block["cause"])


def test_nothing(group, program, folder):
    """No loop; a wait for a terminal; --startup 0 and a longer one."""
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", "1s")
    slow = Slow(group, program, folder, "fifo", "none")
    slow.finish(group)
    leader, terminal = pty.openpty()
    tty.setraw(terminal)
    user = group.start(program, "fifo", "epoll", os.ttyname(terminal))
    time.sleep(SLOW_S)
    os.write(leader, b"x")
    user.wait()
    shell = group.start("bash", "--norc", "-i", stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
    time.sleep(SLOW_S)
    os.write(leader, b"sleep 1; true | cat; exit\n")
    shell.wait()
    result = tracer.stop()
    ok(not result.of("block") and not result.of("hang"), "no loop, or a terminal: nothing", result)
    turns = [each.get("first_turn_ns", 0) for each in result.summary()["loops"] if each["process"] == "starter"]
    ok(len(turns) == 1 and turns[0] > 0.9 * SLOW_S * 1e9, "but how long the latter took is in the summary", turns)
    for limit in ("0", "30s"):
        tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", limit)
        slow = Slow(group, program, folder, "fifo", "epoll") if limit == "0" else Slow(group, program, folder, "fifo", "poll")
        slow.finish(group)
        result = tracer.stop()
        ok(not startups(result), f"--startup {limit}: nothing", result)


# Each waits for its first work for longer than a start-up may take, and then goes on as its loop.
RESTS = {
    "accepts": "s = socket.create_server(('127.0.0.1', PORT))\nwhile True: s.accept()[0].close()",
    "forked workers accept": "s = socket.create_server(('127.0.0.1', PORT))\nfor i in range(2):\n  if not os.fork():\n"
                             "    while True: s.accept()[0].close()\nos.wait()",
    "forked, its parent's pipe, then epoll": "r, w = os.pipe()\nif not os.fork():\n  os.read(r, 1)\n  e = select.epoll()\n"
                                             "  while True: e.poll(0.02)\ntime.sleep(WAIT)\nos.write(w, b'x')\nos.wait()",
    "forked, a queue": "q = multiprocessing.Queue()\nmultiprocessing.Process(target=lambda: [q.get() for i in range(99)]).start()\n"
                       "time.sleep(WAIT)\nwhile True: q.put(1); time.sleep(0.02)",
    "another thread's queue": "q = queue.Queue()\ndef f():\n  time.sleep(WAIT)\n  while True: q.put(1); time.sleep(0.02)\n"
                              "threading.Thread(target=f).start()\nwhile True: q.get()",
    "idle in epoll": "e = select.epoll()\ne.poll(WAIT)\nwhile True: e.poll(0.02)",
    "forked, idle in epoll": "if not os.fork():\n  e = select.epoll()\n  e.poll(WAIT)\n  while True: e.poll(0.02)\nos.wait()",
    "reads its input": "while True: os.read(0, 1)",
    "its input, then epoll": "os.read(0, 1)\ne = select.epoll()\nwhile True: e.poll(0.02)",
}
EPOLLS = 4 # of them
IMPORTS = "import multiprocessing, os, queue, select, socket, threading, time\nos.write(1, b'x')\n"


def knock(port, processes):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port)).close()
    for process in processes:
        with contextlib.suppress(OSError):
            process.stdin.write(b"x")
            process.stdin.flush()


def test_rests(group):
    """Waits for work, for a parent's orders, or for input: no start-up took long."""
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", "1s")
    ports = {name: free_port() for name in RESTS}
    processes = []
    for name, code in RESTS.items():
        code = IMPORTS + code.replace("PORT", str(ports[name])).replace("WAIT", str(2 * SLOW_S))
        processes.append(group.start(sys.executable, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for process in processes:
        process.stdout.read(1)
    time.sleep(2 * SLOW_S)
    for _ in range(30):
        for port in ports.values():
            knock(port, processes)
        time.sleep(0.05)
    result = tracer.stop()
    for pid in map(int, group.pids()):
        os.kill(pid, signal.SIGKILL)
    bad.end(*processes)
    bad.wait_for(lambda: not group.pids(), 30)
    # importing takes long on a busy machine: it is the waits that must not count
    wrong = [block for block in startups(result)
             if sum(block["time"]["blocked_ns"].get(kind, 0) for kind in ("poll", "pipe", "socket", "futex")) > 500 * MS]
    ok(not wrong, "waits for work: no start-up", [(block["process"], block["cause"]) for block in wrong])
    epolls = [loop for loop in result.summary()["loops"] if loop["loop"] not in ("park", "poll")]
    ok(len(epolls) >= EPOLLS, "and their loops were seen", epolls)


HANGS = """import os, select, sys
e = select.epoll()
if sys.argv[2] == "epoll": e.register(os.pipe()[0], select.EPOLLIN)
os.close(os.open(sys.argv[1], os.O_RDONLY))
for i in range(100): e.poll(0.02)
"""


def test_hang(group, folder):
    """It has an epoll with a member, so it will have a loop. Another one may end without."""
    journal, fifos, processes = os.path.join(folder, "hang.journal"), [], []
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--hang", "2s", "--journal", journal)
    for kind in ("epoll", "empty"):
        fifos.append(os.path.join(folder, kind))
        os.mkfifo(fifos[-1])
        processes.append(group.start(sys.executable, "-c", HANGS, fifos[-1], kind))
    bad.wait_for_hang(tracer)
    for fifo, process in zip(fifos, processes):
        os.close(os.open(fifo, os.O_WRONLY))
        process.wait()
    result = tracer.stop()
    hangs, blocks = result.of("hang"), [block for block in startups(result) if block["pid"] == processes[0].pid]
    ok([hang["pid"] for hang in hangs] == [processes[0].pid] and len(blocks) == 1, "a hang, and a block at its end", (hangs, blocks))
    if hangs and blocks:
        ok(hangs[0]["phase"] == "startup" and "os_open" in functions(hangs[0]), "the hang: a start-up, with its stack", hangs[0])
        ok(hangs[0]["cause"]["summary"].startswith("start-up takes "), "and a sentence", hangs[0]["cause"])
        ok((hangs[0]["id"], hangs[0]["start_ns"]) == (blocks[0]["id"], blocks[0]["start_ns"]) and blocks[0]["hang_reported"],
           "the block is of the same dispatch", blocks[0])
    again = subprocess.run([bad.JANK, "replay", "--json", journal], capture_output=True, text=True, check=True).stdout
    again = [record for record in map(json.loads, again.splitlines()) if record.get("phase") == "startup"]
    ok(again == hangs + startups(result), "the journal gives the same records", (again, hangs, startups(result)))


def test_build(group, folder):
    """What a build starts lives for longer than start-ups are left alone."""
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        shells, objects = (" ".join(map(pattern.format, range(cnt))) for pattern, cnt in (("s{}", SHELL_JOBS), ("c{}.o", COMPILERS)))
        file.write(f".PHONY: all {shells}\nall: {shells} {objects}\n")
        file.write(f"{shells}:\n\tsleep 0.3; for i in 1 2 3 4 5; do true | cat; done\n")
        file.write(f"{objects}:\n\tcc -O2 -c -o $@ starter.c\n")
    shutil.copy(PROGRAM, os.path.join(folder, "starter.c"))
    tracer = bad.Tracer("--json", "-a", "-g", group.path, "--startup", "100ms")
    process = group.start("make", "-rs", "-j2", "-C", folder)
    process.wait()
    result = tracer.stop()
    ok(not process.returncode and not startups(result) and not result.of("hang"), "a build: nothing is reported", result)


def main():
    bad.need_tracing()
    try:
        group = Group(f"jank-startup-{os.getpid()}")
    except OSError as error:
        bad.skip("start-ups", f"no cgroup of our own: {error}")
        bad.done()
        return
    with tempfile.TemporaryDirectory(prefix="jank-startup-") as folder:
        program = build(folder)
        for start, loop in (("fifo", "epoll"), ("fifo", "poll"), ("answers", "poll"), ("answers", "epoll"), ("forks", "epoll"),
                            ("forks", "poll")):
            test_slow(group, program, folder, start, loop)
        test_busy(group, program)
        more = os.path.join(folder, "more")
        os.mkdir(more)
        test_nothing(group, program, more)
        test_rests(group)
        test_hang(group, more)
        test_build(group, more)
    group.remove()
    bad.done()


main()
