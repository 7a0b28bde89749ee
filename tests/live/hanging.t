#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Attaching to a program that hangs already: the dispatch was open before the trace. It is reported
with its begin, account, stack and end. What rests is in no handler, whatever it waits in."""
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import fuse
from bad import MS, ok
from real import Redis

HANG = 300
NEAR_NS = 50 * MS  # of the begin that the kernel's clock of the run queue gives
BEFORE = "before the trace"
NOBODY = 65534
BUSY = "local n = 0; while true do n = n + 1 end"


def functions(record):
    return {f.get("function") for s in record["samples"] for f in s["stack"]}


def hang_of(result, pid):
    return next((r for r in result.of("hang") if r["pid"] == pid), None)


def attach(process, *options, until=b'"type":"hang"'):
    """Traces a process that hangs, until a record is there or it is certain that none comes."""
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG}ms", *(options or ("-p", process.pid)))
    bad.wait_for(lambda: until in tracer.stdout(), 15)
    return tracer


def check_hang(result, pid, state, what):
    hang = hang_of(result, pid)
    if not ok(hang and hang.get("began") == BEFORE and hang["tid"] == pid, f"{what}: a hang that began before the trace", result):
        return None
    time_ns = hang["time"]
    key = time_ns["running_ns"] if state == "running" else time_ns["blocked_ns"].get(state, 0)
    ok(bad.exact([hang]) and key > 0.5 * (hang["duration_ns"] - time_ns["runnable_ns"]), f"{what}: the time is {state}", time_ns)
    return hang


def test_endless(mode, state):
    """asleep since a known time, or busy"""
    process = bad.target(mode)
    begun = time.monotonic_ns()
    bad.begin_endless(process)
    time.sleep(1)
    result = attach(process).stop()
    hang = check_hang(result, process.pid, state, mode)
    if hang:
        ok("main" in functions(hang), f"{mode}: with its stack", functions(hang))
        ok(state == "running" or abs(hang["start_ns"] - begun) < NEAR_NS, f"{mode}: since when it sleeps",
           f"{hang['start_ns'] - begun} ns later")
        bad.valid(result, f"{mode}: valid records")
    bad.end(process)


def test_end():
    """The block has the known length, with a stack of the wait; a replay says the same."""
    with tempfile.TemporaryDirectory(prefix="jank-hanging-") as folder:
        redis = Redis(folder)
        begun = time.monotonic_ns()
        sleeper = bad.start(["redis-cli", "-s", redis.socket, "debug", "sleep", "8"], stdout=bad.subprocess.DEVNULL)
        bad.wait_for(lambda: not bad.is_waiting(redis.process))
        time.sleep(1)
        journal = bad.scratch("end.journal")
        result = attach(redis.process, "--journal", journal, "-p", redis.process.pid, until=b'"type":"block"').stop()
        sleeper.wait()
        hang = check_hang(result, redis.process.pid, "sleep", "redis")
        block = next(iter(result.blocks()), None)
        if ok(hang and block and block.get("hang_reported") and block.get("began") == BEFORE, "redis: and its end", result):
            ok(block["start_ns"] == hang["start_ns"] and begun - NEAR_NS < block["start_ns"] and
               abs(block["duration_ns"] - 8000 * MS) < 2 * NEAR_NS, "redis: the block has its whole length",
               [begun, block["start_ns"], block["duration_ns"]])
            ok(all("debugCommand" in functions(r) and "aeMain" in functions(r) for r in (hang, block)), "redis: the handler, and its loop",
               [functions(hang), functions(block)])
            again = bad.trace("-q", "--json", "replay", journal)
            ok([r for r in again.records() if r["type"] in ("hang", "block")] == result.of("hang") + result.blocks(),
               "redis: a replay has the same", again)
        test_busy_server(redis)


def test_busy_server(redis):
    script = bad.start(["redis-cli", "-s", redis.socket, "eval", BUSY, "0"], stdout=bad.subprocess.DEVNULL,
                       stderr=bad.subprocess.DEVNULL)
    bad.wait_for(lambda: not bad.is_waiting(redis.process))
    time.sleep(0.2)
    result = attach(redis.process).stop()
    bad.end(redis.process)
    script.wait()
    check_hang(result, redis.process.pid, "running", "redis in a script")


def stuck_in_stat(pid):
    with open(f"/proc/{pid}/stack", encoding="ascii") as stack:
        return "fuse_" in stack.read()


def test_fuse():
    """A file system does not answer: who holds it has a name."""
    if not fuse.available():
        bad.skip("a daemon that does not answer", "no /dev/fuse")
        return
    with fuse.Fuse(bad.scratch("stuck"), {"file": b"text"}, lambda *_: True) as stuck:
        path = f"{stuck.path}/file"
        process = bad.start([sys.executable, "-c", IN_HANDLER, f"os.stat({path!r})"], stderr=bad.subprocess.DEVNULL)
        bad.wait_for(lambda: stuck_in_stat(process.pid))
        time.sleep(0.2)
        hang = check_hang(attach(process).stop(), process.pid, "other", "stat on FUSE")
        ok(hang and hang["cause"]["kind"] == "filesystem" and f"pid {stuck.pid}" in hang["cause"]["summary"], "stat on FUSE: its daemon", hang and hang["cause"])
    bad.end(process)


IN_HANDLER = """
import os, select, sys
epoll, (reader, writer) = select.epoll(), os.pipe()
epoll.register(reader, select.EPOLLIN)
exec(sys.argv[1])
"""

MUTEX = """
import ctypes, threading, time
mutex, libc, held = ctypes.create_string_buffer(64), ctypes.CDLL(None), threading.Event()
def owner():
    libc.pthread_mutex_lock(mutex)
    held.set()
    time.sleep(100)
threading.Thread(target=owner, daemon=True).start()
held.wait()
libc.pthread_mutex_lock(mutex)
"""


# A loop that polls: its handler is known by the stack.
GLIB = """
import ctypes, os, sys, time
glib, PTR = ctypes.CDLL('libglib-2.0.so.0'), ctypes.c_void_p
glib.g_main_loop_new.restype = PTR
def run_loop(until_ms=0):
    loop = PTR(glib.g_main_loop_new(None, 0))
    if until_ms:
        glib.g_timeout_add(until_ms, CALLBACK(lambda _: glib.g_main_loop_quit(loop) or 0), None)
    glib.g_main_loop_run(loop)
def handle(_):
    print('ready', flush=True)
    exec(sys.argv[1])
    return 0
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, PTR)
handler = CALLBACK(handle)
glib.g_timeout_add(50, handler, None)
run_loop()
"""
LATE_S = 8  # a tracer beside busy loops takes some seconds to begin
LATE = {"sleep": f"time.sleep({LATE_S})", "poll": f"import select; poll = select.poll(); poll.register(os.pipe()[0]); poll.poll({LATE_S}000)",
        "running": f"end = time.time() + {LATE_S}\nwhile time.time() < end: pass"}


def start_glib(code, program=GLIB):
    process = bad.start([sys.executable, "-c", program, code], stdin=bad.subprocess.PIPE, stdout=bad.subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(0.3)
    return process


def test_glib():
    for state, code in LATE.items():
        process = start_glib(code)
        end_ns = time.monotonic_ns() + (LATE_S * 1000 - 300) * MS
        result = attach(process, until=b'"type":"block"').stop()
        what = f"GLib, {state}"
        hang = check_hang(result, process.pid, state, what)
        block = next((r for r in result.blocks() if r.get("began") == BEFORE), None)
        ok(hang and block and block["start_ns"] == hang["start_ns"] and abs(block["start_ns"] + block["duration_ns"] - end_ns) < 1000 * MS,
           f"{what}: the loop's next wait ends it", block or result)
        ok(hang and hang["loop"] == "glib", f"{what}: the loop", hang)
        bad.end(process)


# The same loop in another thread, while the main one rests.
IN_THREAD = GLIB.replace("\nrun_loop()", "\nimport select, threading\nthreading.Thread(target=run_loop).start()\nselect.select([os.pipe()[0]], [], [])")


def other_thread(pid):
    return next(int(tid) for tid in os.listdir(f"/proc/{pid}/task") if int(tid) != pid)


def test_other_thread():
    for state, code in LATE.items():
        process = start_glib(code, IN_THREAD)
        tid = other_thread(process.pid)
        what = f"GLib in another thread, {state}"
        result = attach(process, until=b'"type":"block"').stop()
        hang = hang_of(result, process.pid)
        block = next((r for r in result.blocks() if r.get("began") == BEFORE), None)
        ok(hang and hang.get("began") == BEFORE and hang["tid"] == tid and hang["loop"] == "glib", f"{what}: a hang of it", result)
        ok(block and block["tid"] == tid and block["start_ns"] == hang["start_ns"], f"{what}: and its block", block or result)
        bad.end(process)


def test_lock():
    process = bad.start([sys.executable, "-c", IN_HANDLER, MUTEX])
    bad.wait_for(lambda: os.path.exists(f"/proc/{process.pid}/task") and len(os.listdir(f"/proc/{process.pid}/task")) == 2)
    time.sleep(0.5)
    hang = check_hang(attach(process).stop(), process.pid, "futex", "a mutex")
    ok(hang and "mutex held by" in hang["cause"]["summary"] and hang["chain"][0]["tid"] != process.pid, "a mutex: its owner", hang and hang["cause"])
    bad.end(process)


def stall_java(folder, mode):
    """The server of make check-attach, in a stall. Its main is not in the process's main thread."""
    process = bad.start(["java", "-cp", folder, "Server", folder], stdout=bad.subprocess.DEVNULL)
    order = os.path.join(folder, str(process.pid))
    with open(order + ".new", "w", encoding="ascii") as file:
        file.write(f"{mode} 100")
    os.rename(order + ".new", order)
    bad.wait_for(lambda: not os.path.exists(order))
    time.sleep(0.5)
    return process


def test_java():
    if not shutil.which("javac"):
        bad.skip("Java's main thread", "no javac")
        return
    with tempfile.TemporaryDirectory(prefix="jank-hanging-") as folder:
        bad.subprocess.run(["javac", "-d", folder, os.path.join(bad.ROOT, "tests/attach/Server.java")], check=True)
        for mode, state in {"asleep": "futex", "locked": "futex", "blocked": "pipe"}.items():
            process = stall_java(folder, mode)
            hang = hang_of(attach(process).stop(), process.pid)
            ok(hang and hang.get("began") == BEFORE and hang["tid"] != process.pid and hang["time"]["blocked_ns"].get(state), f"Java, {mode}: a hang of its main", hang)
            ok(hang and "JavaMain" in functions(hang), f"Java, {mode}: with its stack", hang and functions(hang))
            bad.end(process)


def test_machine_wide():
    with tempfile.TemporaryDirectory(prefix="jank-hanging-") as folder:
        os.chmod(folder, 0o777)
        redis = Redis(folder, uid=NOBODY)
        sleeper = bad.start(["redis-cli", "-s", redis.socket, "debug", "sleep", "30"], stdout=bad.subprocess.DEVNULL, stderr=bad.subprocess.DEVNULL)
        bad.wait_for(lambda: not bad.is_waiting(redis.process))
        time.sleep(0.5)
        check_hang(attach(None, "-a", "-u", NOBODY).stop(), redis.process.pid, "sleep", "-a")
        bad.end(redis.process)
        sleeper.wait()


# In a handler at once, or once the pipe's writer is gone.
CROWD = """
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct timespec time = { .tv_sec = 100 };
	struct epoll_event event = { .events = EPOLLIN };
	char byte;
	int fds[2];
	(void)argv;
	if (pipe(fds) || epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fds[0], &event) || (argc > 1 && read(0, &byte, 1) < 0))
		return 1;
	return nanosleep(&time, 0);
}
"""
CROWD_CNT = 80  # more than can be opened


def test_crowd():
    """Of many the one that has slept longest is looked at first, whatever its number."""
    program = bad.scratch("crowd")
    bad.subprocess.run(["cc", "-O1", "-xc", "-o", program, "-"], input=CROWD, text=True, check=True)
    os.chmod(os.path.dirname(program), 0o755)
    reader, writer = os.pipe()
    crowd = [bad.start([program, "later"], stdin=reader, user=NOBODY) for _ in range(CROWD_CNT)]
    first = bad.start([program], user=NOBODY)
    os.close(reader)
    time.sleep(1)
    os.close(writer)
    time.sleep(0.5)
    tracer = bad.Tracer("--json", "-t", "25ms", "--hang", f"{HANG}ms", "-a", "-u", NOBODY)
    bad.wait_for(lambda: tracer.stdout().count(b'"type":"hang"') > CROWD_CNT // 2, 15)
    result = tracer.stop()
    pids = {r["pid"] for r in result.of("hang") if r.get("began") == BEFORE}
    ok(first.pid in pids and 32 <= len(pids) < CROWD_CNT, f"of {CROWD_CNT + 1} the oldest hang is found", [first.pid, sorted(pids), result.err])
    bad.end(*crowd, first)


# Programs with an epoll that are in no handler of it. They print "ready" when they rest.
RESTING = {
    "a worker that inherited its parent's epoll": """
if os.fork():
    os.wait()
print('ready', flush=True)
os.read(os.pipe()[0], 1)""",
    "a main thread that sleeps beside the loop's thread, which is busy": """
import threading, time
def handle():
    while True:
        pass
threading.Thread(target=handle, daemon=True).start()
print('ready', flush=True)
time.sleep(100)""",
    "a busy main thread beside the loop's, which waits for the interpreter": """
import threading
def handle():
    while True:
        pass
threading.Thread(target=handle, daemon=True).start()
print('ready', flush=True)
handle()""",
    "a main thread that joins another": """
import threading, time
other = threading.Thread(target=time.sleep, args=(100,), daemon=True)
other.start()
print('ready', flush=True)
other.join()""",
    "a main thread that waits for a connection": """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print('ready', flush=True)
listener.accept()""",
    "a main thread that reads commands": """
print('ready', flush=True)
os.read(0, 1)""",
    "a worker that waits for its turn to accept": """
import ctypes, mmap, threading
mutex, libc, attr = mmap.mmap(-1, 4096), ctypes.CDLL(None), ctypes.create_string_buffer(64)
shared = ctypes.c_char.from_buffer(mutex)
libc.pthread_mutexattr_init(attr)
libc.pthread_mutexattr_setpshared(attr, 1)
libc.pthread_mutex_init(ctypes.byref(shared), attr)
libc.pthread_mutex_lock(ctypes.byref(shared))
if os.fork():
    os.wait()
epoll = select.epoll()
epoll.register(reader, select.EPOLLIN)
print('ready', flush=True)
libc.pthread_mutex_lock(ctypes.byref(shared))""",
    "a main thread that waits for a signal": """
import signal
print('ready', flush=True)
signal.pause()""",
}


RESTING_GLIB = {
    "GLib's loop that waits": "",
    "a dialog's loop in a handler": "run_loop(100000)",
    "a handler that reads commands": "os.read(0, 1)",
    "a handler with a loop of its own": "import select; select.select([os.pipe()[0]], [], [])",
}


def start_resting(code):
    process = bad.start([sys.executable, "-c", IN_HANDLER, code], stdin=bad.subprocess.PIPE, stdout=bad.subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def own_child(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def test_seen():
    """What rests may also hang: the list says for how long it waits."""
    process = bad.start(["sleep", "100"])
    begun = time.monotonic_ns()
    time.sleep(1)
    result = bad.trace("--json", "-d", "1s", "-p", process.pid)
    waits = [item.get("waits_ns", 0) for item in result.summary()["not_watched"] if item["pid"] == process.pid]
    ok(waits and 2000 * MS < waits[0] < time.monotonic_ns() - begun, "sleep: for how long it has waited", result)
    bad.end(process)


SEEN = """
#include <time.h>
__attribute__((noinline)) int load_config(int s) { struct timespec time = { .tv_sec = s }; return nanosleep(&time, 0) + 1; }
__attribute__((noinline)) int begin(int s) { return load_config(s) + 1; }
int main(int argc, char **argv) { (void)argv; for (;;) begin(argc > 1 ? 4 : 100); }
"""


def seen_at(process, seconds, *options):
    result = bad.trace("--json", "-d", f"{seconds}s", *options, "-p", process.pid)
    return next((item.get("waits_at") for item in result.summary()["not_watched"]), None), result


def test_seen_stack():
    """And where, as long as it is the same wait."""
    program = bad.scratch("seen")
    bad.subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-xc", "-o", program, "-"], input=SEEN, text=True, check=True)
    process = bad.start([program])
    time.sleep(0.5)
    functions_in, result = seen_at(process, 2)
    line = "load_config ← begin ← main"
    ok(functions_in == line and "has waited in clock_nanosleep for" in result.err and line in result.err, "a sleep: the functions that it is in", result)
    functions_in, result = seen_at(process, 2, "--disable-feature", "tp_btf")
    ok(functions_in == line, "the same by the plain probes", result)
    bad.end(process)
    process = bad.start([program, "again"])
    time.sleep(0.5)
    functions_in, result = seen_at(process, 5)
    ok(not functions_in, "another sleep of it: not known", result)
    bad.end(process)


def test_resting():
    processes = {what: start_resting(code) for what, code in RESTING.items()}
    processes |= {what: start_glib(code) for what, code in RESTING_GLIB.items()}
    pids = {what: (own_child(process.pid) or [process.pid])[0] for what, process in processes.items()}
    time.sleep(0.5)
    result = bad.trace("--json", "-t", "25ms", "--hang", f"{HANG}ms", "-d", "2s", "-p", ",".join(map(str, pids.values())))
    for what, pid in pids.items():
        ok(not [r for r in result.of("hang") + result.blocks() if r["pid"] == pid], f"{what}: no hang", result)
    listed = {pid for what, pid in pids.items() if what in RESTING}
    ok({item["pid"] for item in result.summary()["not_watched"]} >= listed, "all are listed as not watched",
       result.summary().get("not_watched"))
    for what, process in processes.items():
        if pids[what] != process.pid:
            os.kill(pids[what], bad.signal.SIGKILL)
        bad.end(process)


bad.need_tracing()
test_endless("stuck", "sleep")
test_endless("spin", "running")
test_end()
test_fuse()
test_glib()
test_other_thread()
test_lock()
test_java()
test_machine_wide()
test_crowd()
test_seen()
test_seen_stack()
test_resting()
bad.done()
