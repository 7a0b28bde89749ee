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
    """The honest target's blocks are reported meanwhile, and Ctrl-C ends the trace."""
    honest = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "10ms", "-p", process.pid, "-p", honest.pid, *args, wait=False)

    def reported():
        return tracer.stdout().count(b'"pid":%d,' % honest.pid) >= BLOCKS

    meanwhile = bad.wait_for(reported, END_S)
    tracer.process.send_signal(signal.SIGINT)
    ended = bad.wait_for(lambda: tracer.process.poll() is not None, END_S)
    if not ended:
        mounted.end()  # not even SIGKILL ends a process that waits there
    result = tracer.finish()
    bad.end(honest)
    ok(meanwhile, f"{what}: another program's blocks are reported meanwhile", result)
    ok(ended and result.status == 0, f"{what}: Ctrl-C ends the trace", result)
    return result


def main():
    if not fuse.available():
        return skip("a file system that never answers", "/dev/fuse cannot be used here")
    os.chmod(bad.SCRATCH, 0o755)
    exe = bad.scratch("target")
    shutil.copy(bad.TARGET, exe)
    with open(bad.TARGET, "rb") as file:
        program = file.read()
    files = {"program": program, "app_process64": program, "stack": bytes(16 * PAGE),
             "libuv.so.1": bytes(PAGE) + COUNT_DOWN.ljust(PAGE, b"\0")}
    with fuse.Fuse(bad.scratch("mnt"), files, hangs) as mounted:
        process = attacker(exe, "farstack", f"{mounted.path}/stack")
        trace_both("a stack pointer in such a file", mounted, process)
        bad.end(process)
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
