#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""No report means that nothing happened: what is not watched is listed with its reason, and counts
agree."""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

LOOP = """
import os, select, time
def loop(n=10**6, stall=0.04):
    epoll, (reader, writer) = select.epoll(), os.pipe()
    os.write(writer, b'x')
    epoll.register(reader, select.EPOLLIN)
    for _ in range(n):
        epoll.poll(0.05)
        time.sleep(stall)
"""
QUEUE = "import queue, threading\nq = queue.Queue()\nprint('ready', flush=True)\nq.get()"
IDLE_CHILD = "import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint('ready', flush=True)\nloop()"
IDLE_PAIR = "import os\nif os.fork() == 0:\n    import signal\n    signal.pause()\nepoll = select.epoll()\nprint('ready', flush=True)\nepoll.poll()"
IN_THREAD = "import threading\nthread = threading.Thread(target=loop)\nthread.start()\nprint('ready', flush=True)\nthread.join()"
POOL = """
import queue, threading, time
work = queue.Queue()
def serve():
    while True:
        work.get()
threading.Thread(target=serve, daemon=True).start()
print('ready', flush=True)
while True:
    work.put(1)
    time.sleep(0.01)
"""
POOL_FOR_A_WHILE = POOL.replace("print('ready', flush=True)", "print('ready', flush=True)\ninput()").replace("while True:\n    work.put", "for _ in range(150):\n    work.put")
SELDOM = "import select\nprint('ready', flush=True)\nselect.select([], [], [], 60)"
SELECTS = """
import select, sys, time
print('ready', flush=True)
sys.stdin.readline()
def turns(count):
    for _ in range(count):
        select.select([], [], [], 0.01)
        time.sleep(0.04)
"""
STALLS = 40
# Its read is deeper in the stack than its polls.
AFTER_A_READ = SELECTS.replace("select.select([], [], [], 0.01)", "waits.poll(10)").replace("def turns", """
import os
waits = select.poll()
for fd in os.pipe(): waits.register(fd, select.POLLIN)
def turns""") + f"turns({STALLS})"
# Spins until it may begin: jankbpf tries a main thread that waits in a read there first
# (docs/loops.md).
FROM_THE_START = SELECTS.replace("sys.stdin.readline()", "import os\nwhile not os.path.exists(%r): pass") + f"turns({STALLS})"
# deeper in the stack, because of the C function that calls it
DEEPER_FIRST = SELECTS + "max([3], key=turns)\nturns(10000)"
ZOMBIE = "import os, time\nif not os.fork(): os._exit(0)\nprint('ready', flush=True)\ntime.sleep(60)"
FAMILY = """
import sys
def child(generations):
    if os.fork() == 0:
        if generations:
            child(generations - 1)
        loop()
child(1)
print('ready', flush=True)
sys.stdin.readline()
child(1)
sys.stdin.readline()
"""


def program(code, python=sys.executable, **options):
    process = bad.start([python, "-c", LOOP + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                        start_new_session=True, **options)
    if process.stdout.readline() != "ready\n":
        raise RuntimeError("a program did not start")
    return process


def end(process):
    """Ends the process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def listed(result, **wanted):
    """The entries of not_watched with these members."""
    return [entry for entry in result.summary()["not_watched"] if wanted.items() <= entry.items()]


def traced_to_its_end(code, *options, python=sys.executable):
    process = program(code, python)
    tracer = bad.Tracer("--json", "-p", process.pid, *options)
    go_on(process)
    return process.pid, tracer.finish(30)


def unknown_python(folder):
    """The machine's Python that calls itself 3.9: the place of that version's frames is not
    known."""
    python = os.path.realpath("/usr/bin/python3")
    version = int(subprocess.check_output([python, "-c", "import sys; print(sys.hexversion)"]))
    with open(python, "rb") as file:
        program = file.read()
    path = os.path.join(folder, "python3.9")
    with open(path, "wb") as file:
        file.write(program.replace(struct.pack("<Q", version), struct.pack("<Q", 0x030902f0)))
    os.chmod(path, 0o755)
    return path


def traced(code, *options, whom=lambda process: process.pid, python=sys.executable, **more):
    process = program(code, python)
    pid = whom(process)
    result = bad.trace("--json", "-t", "25ms", "-d", "2", "-p", pid, *options, **more)
    end(process)
    return pid, result


def test_no_loop():
    process = program(QUEUE)
    tracer = bad.Tracer("--json", "-p", process.pid)
    begun = time.monotonic()
    early = bad.wait_for(lambda: "not watched" in tracer.stderr(), 5)
    took = time.monotonic() - begun
    result = tracer.stop()
    ok(early and took < 2 and f"(pid {process.pid}): no loop seen" in result.err and "futex" in result.err,
       f"a thread that waits in a futex: on stderr after {took:.1f} s", result)
    ok(listed(result, pid=process.pid, reason="no_loop", waits_in="futex"), "and in the summary", result)
    bad.valid(result, "which the schema knows")
    text = bad.trace("-d", "1500ms", "-p", process.pid)
    ok("nothing was watched" in text.out and "not watched: " in text.out and "0 blocks" not in text.out and
       "nothing lost" not in text.out, "the text does not say that all is well", text)
    journal = bad.scratch("unwatched.jnl")
    live = bad.trace("-q", "--json", "-d", "1500ms", "--journal", journal, "-p", process.pid)
    again = bad.trace("-q", "--json", "replay", journal)
    ok(live.summary()["not_watched"] == again.summary()["not_watched"] != [], "a replay reports the same", again)
    ok(not live.err, "-q: nothing on stderr", live)
    end(process)


def test_idle():
    """A loop that always waits is watched, whatever is reported of another process."""
    process = program(IDLE_PAIR)
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
        child = int(children.read())
    text = bad.trace("-d", "1500ms", "-p", f"{process.pid} {child}")
    ok(f"(pid {child})" in text.out and f"(pid {process.pid})" not in text.out and "nothing was watched" not in text.out and
       "0 dispatches" in text.out, "an idle loop beside a process without one", text)
    text = bad.trace("-d", "1500ms", "-p", child)
    ok("nothing was watched" in text.out, "which alone means that nothing is watched", text)
    end(process)


def test_reasons():
    pid, result = traced(IDLE_CHILD)
    ok(listed(result, reason="child", comm="sleep") and "-f traces it" in result.err, "a child that is not traced", result)
    ok(result.blocks() and not listed(result, pid=pid), "its parent's loop is watched", result)
    pid, result = traced(IN_THREAD)
    ok(listed(result, pid=pid, tid=pid, reason="main_thread") and result.blocks(), "a main thread beside a loop", result)
    pid, result = traced(SELDOM)
    ok(listed(result, pid=pid, reason="few_turns"), "a main thread that has not returned to its wait", result)
    pid, result = traced(POOL, "--workers", python="/usr/bin/python3")
    ok(not listed(result, reason="workers") and not result.of("hang"), "--workers: an interpreter with readable frames", result)
    with tempfile.TemporaryDirectory() as folder:
        python = unknown_python(folder)
        os.environ["PYTHONHOME"] = "/usr"
        pid, result = traced(POOL, "--workers", python=python)
        ok(listed(result, pid=pid, reason="workers") and not result.of("block") + result.of("hang"), "--workers: one of another version", result)
        pid, result = traced_to_its_end(POOL_FOR_A_WHILE, "--workers", python=python)
        ok(listed(result, pid=pid, reason="workers"), "and an interpreter that has ended since", result)
        pid, result = traced(POOL, python=python)
        del os.environ["PYTHONHOME"]
    ok(not listed(result, reason="workers"), "without --workers, nothing is said of them", result)
    process = program(DEEPER_FIRST)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    time.sleep(1.2)
    go_on(process)
    bad.wait_for(lambda: b'"block"' in tracer.stdout(), 20)
    result = tracer.stop()
    found = listed(result, pid=process.pid, reason="late")
    ok(found and found[0]["late_ns"] > 1200 * bad.MS and result.blocks(), "a loop that was tried elsewhere first", result)
    end(process)
    process = program(ZOMBIE)
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
        zombie = int(children.read())
    result = bad.trace("--json", "-p", zombie)
    ok(result.status in (0, 1) and "ended" in result.err, "a zombie", result)
    end(process)
    result = bad.trace("--json", "--", "true")
    ok(result.status == 0 and listed(result, comm="true", reason="no_loop"), "a program that ends at once", result)
    process = program("print('ready', flush=True)\nloop(stall=0)")
    result = bad.trace("--json", "-d", "1500ms", "-p", process.pid)
    ok(result.summary()["not_watched"] == [] and "not watched" not in result.err, "a loop is watched: no message", result)
    end(process)


def test_probation():
    """A loop that is recognised by its turns only: its first stalls are reported with the
    others."""
    go = bad.scratch("go")
    process = program(FROM_THE_START % go)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    with open(go, "w", encoding="ascii"):
        pass
    result = tracer.finish(30)
    blocks = result.blocks()
    ok(len(blocks) >= STALLS - 1, f"the stalls before it was recognised are blocks: {len(blocks)} of {STALLS}", result)
    ok(result.summary()["blocks"] == len(blocks) <= result.summary()["dispatches"], "and counted", result)
    ok(not listed(result, reason="late"), "nothing was late", result)


def test_read_first():
    """The main thread reads its input once before its loop begins: of the stalls only the first one may be lost."""
    pid, result = traced_to_its_end(AFTER_A_READ, "-t", "25ms")
    blocks = result.blocks()
    ok(len(blocks) >= STALLS - 2, f"a loop after a read: {len(blocks)} of {STALLS} stalls", result)


def test_off():
    """A kind of loop that is traced only with -l."""
    rows = bad.scratch("off.loop")
    with open(rows, "w", encoding="utf-8") as file:
        file.write("[python]\nabout = a loop of ours\nlibrary = select.* exe:python3*\nwait = epoll\ntraced = no\n")
    pid, result = traced("print('ready', flush=True)\nloop()", "--loop-file", rows)
    ok(listed(result, pid=pid, reason="loop_off", loop="python") and "-l python" in result.err,
       "a loop that is off is listed with its option", result)
    ok(not result.summary()["loops"] and not result.blocks() and not result.summary()["dispatches"],
       "and counted nowhere", result)


def count_by_pid(result):
    return {loop["pid"]: loop["blocks"] for loop in result.summary()["loops"]}


def test_follow():
    for follow in (True, False):
        process = program(FAMILY)
        tracer = bad.Tracer("--json", "-t", "25ms", *(["-f"] if follow else []), "-p", process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(1.5)
        result = tracer.stop()
        pids = {block["pid"] for block in result.blocks()}
        if follow:
            ok(len(pids) == 4, "-f: two children and two of theirs, existing and new", result)
            ok({pid for pid, blocks in count_by_pid(result).items() if blocks} == pids, "each with its counts", result)
        else:
            ok(not pids and listed(result, reason="child"), "without -f they are listed", result)
        end(process)
    command = ["--", sys.executable, "-c", LOOP + "if os.fork() == 0: loop(10)\nos.wait()"]
    ok(bad.trace("--json", "-t", "25ms", *command).blocks(), "a command's child is followed")
    result = bad.trace("--json", "-t", "25ms", "--no-follow", *command)
    ok(not result.blocks(), "but not with --no-follow", result)
    for words in (["-f", "-a"], ["-f", "--no-follow", "-p", "1"], ["-f", "--backend", "uprobe", "-p", "1"]):
        result = bad.trace(*words)
        ok(result.status == 2 and not result.out and result.err.count("\n") == 1, f"{' '.join(words)}: refused", result)


def test_follow_many():
    """Short-lived children leave nothing behind, neither here nor in the probes."""
    process = program("print('ready', flush=True)\nimport sys\nsys.stdin.readline()\n"
                      "for _ in range(300):\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\nloop()")
    tracer = bad.Tracer("--json", "-t", "25ms", "-f", "-p", process.pid)
    go_on(process)
    time.sleep(2.5)
    result = tracer.stop()
    ok(not result.summary()["lost"].get("thread_table_full") and {b["pid"] for b in result.blocks()} == {process.pid},
       "300 children that end at once", result)
    end(process)


def test_all():
    """Lists all processes that the filters admit, grouped by reason and name."""
    names = [f"jkw{i}" for i in range(12)]
    for name in names:
        shutil.copy("/bin/sleep", bad.scratch(name))
    sleepers = [bad.start([bad.scratch(name), "60"]) for name in names + names[:1]]
    result = bad.trace("--json", "-d", "1500ms", "-a", "-c", "jkw*")
    lines = [line for line in result.err.splitlines() if "not watched" in line]
    ok(len(lines) == 10 and "more process" in lines[-1], "-a: ten lines at most on stderr", result)
    ok({e["pid"] for e in result.summary()["not_watched"]} == {s.pid for s in sleepers}, "JSON has each", result)
    first = ", ".join(str(pid) for pid in sorted((sleepers[0].pid, sleepers[-1].pid)))
    ok(any(f"jkw0 (pids {first})" in line for line in lines), "processes of one name are one line", lines)
    bad.end(*sleepers)


CROWD, LISTED = 1200, 1000


def test_crowd():
    """Many processes: with -a each is counted, with -p none."""
    shutil.copy("/bin/sleep", bad.scratch("jkcrowd"))
    crowd = [bad.start([bad.scratch("jkcrowd"), "100"]) for _ in range(CROWD)]
    result = bad.trace("--json", "-d", "2500ms", "-a", "-c", "jkcrowd")
    summary = result.summary()
    ok(len(summary["not_watched"]) == LISTED and summary["not_watched_more"] == CROWD - LISTED, "JSON lists 1,000, and counts the others",
       result.err)
    lines = [line for line in result.err.splitlines() if "not watched" in line]
    # by reason: jankbpf watches the main threads of 768 and no more
    counted = sum(3 + int(more) for more in re.findall(r"and (\d+) more\): ", "\n".join(lines)))
    ok(len(lines) <= 3 and counted == LISTED and f"and {CROWD - LISTED} more process" in lines[-1], "stderr counts them all",
       lines)
    process = program("print('ready', flush=True)\nloop(stall=0)")
    result = bad.trace("--json", "-d", "2500ms", "-p", process.pid)
    ok("not watched" not in result.err and not result.summary().get("not_watched_more"), "with -p they are not mentioned", result)
    end(process)
    bad.end(*crowd)


def test_counts():
    """Counts agree: blocks printed, those of the summary, and those of its loops. A stopped block
    is mentioned."""
    process = bad.target("loop", 2000, 300)
    tracer = bad.Tracer("--json", "-t", "300ms", "-p", process.pid)
    bad.in_dispatch(process)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(process.pid, signal.SIGCONT)
    bad.in_dispatch(process)
    bad.in_dispatch(process)
    result = tracer.stop()
    bad.end(process)
    summary, blocks = result.summary(), len(result.of("block"))
    ok(blocks and blocks == summary["blocks"] == sum(count_by_pid(result).values()), f"{blocks} blocks, in each count", result)
    ok(summary.get("stopped_blocks") == 1, "a stopped block is counted apart", result)


bad.need_tracing()
test_no_loop()
test_idle()
test_reasons()
test_probation()
test_read_first()
test_off()
test_follow()
test_follow_many()
test_all()
test_crowd()
test_counts()
bad.done()
