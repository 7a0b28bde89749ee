# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the stack of a program's main thread by gdb, now and again, while the program goes on."""
import re
import subprocess
import tempfile
import threading

import callcheck
import tracers

INTERPRETER = "_PyEval_EvalFrameDefault"
TRIES = 40
LIMIT_S = 60
SCRIPT = """python
import gdb
for thread in gdb.selected_inferior().threads():
    if thread.ptid[1] == thread.ptid[0]:
        thread.switch()
frame = gdb.newest_frame()
while frame:
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): # the latter is no more
        print("AT", hex(frame.pc()))
    frame = frame.older()
end
"""


def at_once(pid):
    with tempfile.NamedTemporaryFile("w", prefix="stacks-", suffix=".gdb") as file:
        file.write(SCRIPT)
        file.flush()
        done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
                               "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-p", str(pid),
                               "-x", file.name], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
    return [int(address, 16) for address in re.findall(r"^AT (0x[0-9a-f]+)", done.stdout, re.M)]


def in_files(pid, addresses):
    """(file, address in it) of each frame, up to the first in no file: gdb knows nothing of JIT
    code."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        maps = [line.split() for line in lines]
    for address in addresses:
        for words in maps:
            low, high = (int(word, 16) for word in words[0].split("-"))
            if low <= address < high and len(words) > 5 and words[5].startswith("/"):
                image = callcheck.image_of(words[5])
                vaddr = image.vaddr(address - low + int(words[2], 16)) if image else None
                if not image or image.function_at(vaddr or 0) not in image.by_name.get(INTERPRETER, ()):
                    found.append((words[5], vaddr))
                break
        else:
            break
    return tuple(found)


def take(program, places, same):
    """gdb's stacks of the same waits as the samples': until each wait was found, or was tried often
    enough."""
    stacks, left = set(), set(places)
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            program.nap(1) if hasattr(program, "nap") else program.load(1)

    doer = threading.Thread(target=go_on, daemon=True)
    doer.start()
    try:
        for _ in range(TRIES):
            if not left or program_ended(program):
                break
            stack = in_files(program.pid, at_once(program.pid))
            if stack:
                stacks.add(stack)
                left = {place for place in left if not same(place, stack)}
    finally:
        stop.set()
        doer.join(20)
    return stacks


def program_ended(program):
    try:
        return not tracers.file_bases(program.pid)
    except OSError:
        return True
