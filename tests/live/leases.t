#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program of another user that holds write leases on the files that it maps: an open without
O_NONBLOCK waits for 45 s. The start, the blocks of another program, and the end must not wait for
that."""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok, skip

NOBODY = 65534
FILES = 128
CODE_AT = 4096
COUNT_DOWN = bytes.fromhex("4889f848ffc875fbc3")  # of rdi: mov %rdi,%rax; dec %rax; jne; ret
WITHIN_S = 15  # far less than one lease's 45 s, far more than a start takes on a busy machine
END_S = 10


def attacker():
    """It runs code in the first of its files. Their names match libraries in which jankbpf looks
    for places of uprobes."""
    work = bad.scratch("leased")
    os.makedirs(work, exist_ok=True)
    os.chmod(bad.SCRATCH, 0o755)
    program = shutil.copy(bad.TARGET, f"{work}/target")
    files = [f"{work}/libQt5Core.so.5.15.{i}" for i in range(FILES // 2)]
    files += [f"{work}/libother.so.{i}" for i in range(FILES // 2)]
    for path in files:
        with open(path, "wb") as file:
            file.write(bytes(CODE_AT) + COUNT_DOWN.ljust(CODE_AT, b"\0"))
        os.chown(path, NOBODY, NOBODY)
    return bad.target("--reuid", NOBODY, "--clear-groups", program, "leases", *files, exe="setpriv")


def test_leases(*options):
    name = f"{' '.join(options)}, {FILES} files with leases"
    victim, hostile = bad.target("loop", 40), attacker()
    begin = time.monotonic()
    tracer = bad.Tracer("-v", "--json", "-t", "10ms", *options, "-p", f"{victim.pid},{hostile.pid}", wait=False)
    traces = bad.wait_for(tracer.attached, WITHIN_S)
    ok(traces, f"{name}: traced after {time.monotonic() - begin:.1f} s", tracer.stderr())
    for process, whose in (victim, "another program"), (hostile, "their owner"):
        ok(bad.wait_for(lambda process=process: tracer.written(process) > 1, WITHIN_S), f"{name}: blocks of {whose} are reported")
    begin = time.monotonic()
    result = tracer.stop(seconds=END_S)
    ok(result.status == 0 and bad.exact(result.blocks()), f"{name}: ended after {time.monotonic() - begin:.1f} s", result)
    lines = [line for line in result.err.splitlines() if "another process holds a lease on it" in line]
    ok(any("names are missing" in line for line in lines) and "libQt5Core" in "".join(lines),
       f"{name}: what could not be read is reported", result.err)
    bad.end(victim, hostile)


bad.need_tracing()
with open("/proc/sys/fs/leases-enable", encoding="ascii") as file:
    ENABLED = file.read().strip() == "1"
if not ENABLED:
    skip("leases", "fs.leases-enable is 0")
elif os.uname().machine == "x86_64":
    test_leases("--backend", "kernel")
    test_leases("--backend", "uprobe")
else:
    skip("leases", "the code in the files is x86-64's")
bad.done()
