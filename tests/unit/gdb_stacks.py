# SPDX-License-Identifier: GPL-2.0
"""For gdb -x: stops the attached process again and again and writes its registers, stack and gdb's
own backtrace, in the format that test_unwind_programs reads. OUT, COUNT and BYTES come from the
environment."""

import os
import random
import struct
import subprocess

import gdb  # pylint: disable=import-error

REGS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
HOLE = 2
DEPTH_MAX = 300


def stack_bytes(inferior, sp, size):
    """Copies the stack as the probe does: page by page, up to the first missing page."""
    data = b""
    while len(data) < size:
        step = min(size - len(data), 4096 - (sp + len(data)) % 4096)
        try:
            data += bytes(inferior.read_memory(sp + len(data), step))
        except gdb.MemoryError:
            break
    return data


def code_of_files(pid):
    """Ranges of code that comes from a file or the kernel. A second copy, which V8 makes of its
    builtins, does not count."""
    bases, found = {}, []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            begin, end = [int(at, 16) for at in fields[0].split("-")]
            base = begin - int(fields[2], 16)
            if len(fields) > 5 and "x" in fields[1] and bases.setdefault(fields[5], base) == base:
                found.append((begin, end))
    return found


def managed(frame, code):
    """Must gdb guess here? True for code of no file and for V8's builtins."""
    return (frame.name() or "").startswith("Builtins_") or \
        not any(begin <= frame.pc() < end for begin, end in code)


def backtrace(pid):
    """(addresses, how many of them gdb found before it had to guess)"""
    found, sure, code = [], None, code_of_files(pid)
    frame, newer = gdb.newest_frame(), None
    while frame and len(found) < DEPTH_MAX:
        kind = frame.type()
        if kind not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):  # no return address
            exact = bool(found) and (kind == gdb.SIGTRAMP_FRAME or newer == gdb.SIGTRAMP_FRAME)
            found.append(frame.pc() + exact)
            if sure is None and managed(frame, code):
                sure = len(found)
            newer = kind
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found, len(found) if sure is None else sure


def write_sample(out, size):
    inferior = gdb.selected_inferior()
    frame = gdb.newest_frame()
    regs = [int(frame.read_register(name).cast(gdb.lookup_type("long"))) & (2**64 - 1) for name in REGS]
    data = stack_bytes(inferior, regs[7], size)
    frames, sure = backtrace(inferior.pid)
    out.write(struct.pack("<33Q", *(regs + [0] * (33 - len(regs)))))
    out.write(struct.pack("<4I", len(data), 0 if len(data) == size else HOLE, len(frames), sure))
    out.write(data)
    out.write(struct.pack(f"<{len(frames)}Q", *frames))


def stopper(pid):
    """A process that stops the target soon after each line. gdb runs no thread of its own
    meanwhile."""
    return subprocess.Popen(["sh", "-c", f"while read t; do sleep $t; kill -INT {pid}; done"],
                            stdin=subprocess.PIPE, text=True)


def main():
    for setting in ("pagination off", "confirm off", "backtrace past-main on",
                    "backtrace past-entry on", f"backtrace limit {DEPTH_MAX}"):
        gdb.execute("set " + setting)
    gdb.execute("handle all nostop noprint pass", to_string=True)
    gdb.execute("handle SIGINT stop print nopass", to_string=True)
    pid = gdb.selected_inferior().pid
    helper = stopper(pid)
    with open(os.environ["OUT"], "wb") as out:
        for _ in range(int(os.environ["COUNT"])):
            helper.stdin.write(f"{random.uniform(0.0005, 0.006):.4f}\n")
            helper.stdin.flush()
            gdb.execute("continue", to_string=True)
            write_sample(out, int(os.environ["BYTES"]))
    helper.stdin.close()
    gdb.execute("detach")


main()
