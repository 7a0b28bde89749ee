# SPDX-License-Identifier: GPL-2.0
"""asyncio with handlers that wait for other threads: one letter on stdin, answered when it is done.
argv: "other" makes it the process at the other end of two pipes, its stdin and stdout.

What a thread does while the handler waits for it is in one line of source, marked by a comment.
"""
import asyncio
import os
import queue
import subprocess
import sys
import threading
import time

WAIT = 0.15
lock = threading.Lock()
held = threading.Event()
work = None
big = list(range(800000))


def busy_until(end):
    while time.monotonic() < end: pass  # line: busy


def hold_asleep():
    with lock:  # line: asleep
        held.set()
        time.sleep(WAIT)


def hold_in_naps():
    with lock:
        held.set()
        for _ in range(3): time.sleep(WAIT / 3)  # line: naps


def hold_busy():
    with lock:
        held.set()
        busy_until(time.monotonic() + WAIT)


def keep_interpreter():
    for _ in range(2): sorted(big, key=str)  # line: keeps


HOLDERS = {"l": hold_asleep, "n": hold_in_naps, "b": hold_busy}


def worker(work):
    while True:
        work.get()()


def begin_anew():
    """Makes another thread hold the lock from now on."""
    global work
    work = queue.SimpleQueue()
    threading.Thread(target=worker, args=[work], daemon=True).start()


def wait_for_lock(holder):
    work.put(holder)
    held.wait()
    held.clear()
    with lock:
        pass


def wait_for_interpreter():
    """Passes it on while the other thread waits for it."""
    work.put(keep_interpreter)
    time.sleep(0.02)


class Other:
    """Another process that also runs Python."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, __file__, "other"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.ask("s")

    def ask(self, letter):
        self.process.stdin.write(letter.encode())
        self.process.stdout.read(1)


def answer_late():
    time.sleep(WAIT)
    os.write(1, b"!")  # line: answer


def answer_busy():
    busy_until(time.monotonic() + WAIT)
    os.write(1, b"!")


def answer():
    while letter := os.read(0, 1).decode():
        {"s": lambda: os.write(1, b"!"), "p": answer_late, "q": answer_busy}[letter]()


async def main():
    loop = asyncio.get_running_loop()
    other = Other()
    begin_anew()

    def on_stdin():
        letter = os.read(0, 1).decode()
        if not letter:
            other.process.stdin.close()
            os._exit(0)
        if letter in HOLDERS:
            wait_for_lock(HOLDERS[letter])
        elif letter == "w":
            begin_anew()
        elif letter == "g":
            wait_for_interpreter()
        else:
            other.ask(letter)
        os.write(1, letter.encode())

    loop.add_reader(0, on_stdin)
    os.write(1, f"r{other.process.pid:7}".encode())
    await asyncio.Event().wait()


if sys.argv[1:] == ["other"]:
    answer()
else:
    asyncio.run(main())
