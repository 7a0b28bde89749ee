#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The memory and files of another user's program lie on a file system that never answers us. Other
programs are traced meanwhile."""
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
import fuse
from bad import ok, skip

NOBODY = 65534
# A stuck tracer hangs for ever. Two seconds are jankbpf's patience with stdout; the rest is for a
# loaded machine.
END_S = 20
BLOCKS = 5
STUCK = 9  # more than jankbpf abandons helper processes
# count_down(rdi): mov %rdi,%rax; dec %rax; jne; ret
COUNT_DOWN = bytes.fromhex("4889f848ffc875fbc3")
PAGE = 4096


def hangs(_pid, comm, _name, _opcode):
    """The file system never answers a thread of the tracer."""
    return comm.startswith("jankbpf")


def attacker(exe, *args):
    process = bad.start(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", exe, *args],
                        stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line != "ready\n":
        raise RuntimeError(f"{args}: said {line!r}")
    return process


def trace_both(what, mounted, process, *args):
    """Blocks of both are reported meanwhile, and Ctrl-C ends the trace."""
    honest = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-v", "-t", "10ms", "-p", process.pid, "-p", honest.pid, *args, wait=False)
    meanwhile = (bad.wait_for(tracer.attached, END_S) and
                 bad.wait_for(lambda: min(map(tracer.written, (honest, process))) >= BLOCKS, END_S))
    tracer.process.send_signal(signal.SIGINT)
    ended = bad.wait_for(lambda: tracer.process.poll() is not None, END_S)
    if not ended:
        mounted.end()  # not even SIGKILL ends a process that waits there
    result = tracer.finish()
    bad.end(honest)
    ok(meanwhile, f"{what}: blocks of both are reported meanwhile", result)
    ok(ended and result.status == 0, f"{what}: Ctrl-C ends the trace", result)
    return result


# Maps a page of the file over its own environment, of which jankbpf reads 64 KiB.
ENVIRONMENT = """
import ctypes, os, select, sys, time
with open("/proc/self/stat", encoding="utf-8") as stat:
    begin = int(stat.read().rpartition(")")[2].split()[47])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
page = (begin // 4096 + 2) * 4096
if libc.mmap(page, 4096, 1, 0x12, os.open(sys.argv[1], os.O_RDONLY), 0) != page:
    sys.exit(str(ctypes.get_errno()))
print("ready", flush=True)
loop = select.epoll()
while True:
    loop.poll(0.1)
    time.sleep(0.03)
"""


def one_user(mounted):
    """Processes of one user cannot end the reads for other users' processes."""
    os.environ["PAD"] = "x" * 32768
    many = [attacker(sys.executable, "-c", ENVIRONMENT, f"{mounted.path}/page{i}") for i in range(STUCK)]
    del os.environ["PAD"]
    honest = bad.start(["bash", "-c", 'read -r; exec "$0" loop 40', bad.TARGET], stdin=subprocess.PIPE,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, OTEL_SERVICE_NAME="honest"))
    pids = [word for process in (*many, honest) for word in ("-p", process.pid)]
    tracer = bad.Tracer("--json", "-t", "10ms", *pids, wait=False)
    ok(bad.wait_for(lambda: all(b'"pid":%d,' % process.pid in tracer.stdout() for process in many), END_S),
       f"{STUCK} processes of one user are seen", tracer.stdout()[-3000:])
    honest.stdin.write(b"\n")
    honest.stdin.close()  # its environment is read now, at its exec
    ok(bad.wait_for(lambda: b'"process":"target"' in tracer.stdout(), END_S) and
       bad.wait_for(lambda: b'"service_name":"honest"' in tracer.stdout(), 2),
       "then the environment of another user's process is read", tracer.stdout()[-3000:])
    tracer.process.send_signal(signal.SIGINT)
    if not bad.wait_for(lambda: tracer.process.poll() is not None, END_S):
        mounted.end()
    result = tracer.finish()
    lost = (result.summary() or {}).get("lost", {})
    ok(lost.get("reads_unanswered", 0) >= STUCK, "each process that was not read is counted", result)
    for process in (*many, honest):
        bad.end(process)


def main():
    if not fuse.available():
        return skip("a file system that never answers", "/dev/fuse cannot be used here")
    os.chmod(bad.SCRATCH, 0o755)
    exe = bad.scratch("target")
    shutil.copy(bad.TARGET, exe)
    with open(bad.TARGET, "rb") as file:
        program = file.read()
    files = {"program": program, "app_process64": program, "stack": bytes(16 * PAGE),
             **{f"page{i}": bytes(PAGE) for i in range(STUCK)},  # a second reader of a file would wait killably
             "libuv.so.1": bytes(PAGE) + COUNT_DOWN.ljust(PAGE, b"\0")}
    with fuse.Fuse(bad.scratch("mnt"), files, hangs) as mounted:
        process = attacker(exe, "farstack", f"{mounted.path}/stack")
        trace_both("a stack pointer in such a file", mounted, process)
        bad.end(process)
        one_user(mounted)
        # The sink thread searches a program for its package, and maps for that of an Android app.
        for name in ("program", "app_process64"):
            process = attacker(f"{mounted.path}/{name}", "loop", "40")
            trace_both(f"a program on it, {name}", mounted, process)
            bad.end(process)
        if os.uname().machine != "x86_64":
            return skip("code in such a file", "it is x86-64's")
        process = attacker(exe, "code", f"{mounted.path}/libuv.so.1")
        result = trace_both("code in such a file", mounted, process)
        lost = (result.summary() or {}).get("lost", {})
        ok(lost.get("reads_unanswered"), "what could not be read is reported", result)
        blocks = [b for b in result.blocks() if b["pid"] == process.pid]
        ok(blocks and bad.exact(blocks), "its own blocks are reported, too", result)
        bad.end(process)
    return None


bad.need_tracing()
main()
bad.done()
