# SPDX-License-Identifier: GPL-2.0
"""A worker that waits on a queue and does what a letter from stdin says; the letter is also the
answer. "inline": in the same function that waits."""
import os
import queue
import sys
import threading
import time

STALL_S = 0.15
jobs, done, lock = queue.Queue(), queue.Queue(), threading.Lock()


def spin():
    end = time.monotonic() + STALL_S
    while time.monotonic() < end:
        pass


def take_lock():
    with lock:
        pass


HANDLERS = {"t": lambda: None, "s": lambda: time.sleep(STALL_S), "b": spin, "l": take_lock, "e": lambda: threading.Event().wait(STALL_S)}


def work():
    while True:
        job = jobs.get()
        HANDLERS[job]()
        done.put(job)


def work_inline():
    while True:
        job = jobs.get()
        if job == "s":
            time.sleep(STALL_S)
        elif job == "l":
            lock.acquire()
            lock.release()
        else:
            HANDLERS[job]()
        done.put(job)


threading.Thread(target=work_inline if "inline" in sys.argv else work, daemon=True).start()
os.write(1, b"r")
while letter := os.read(0, 1).decode():
    if letter == "l":
        with lock:
            jobs.put(letter)
            time.sleep(STALL_S)
    else:
        jobs.put(letter)
    os.write(1, done.get().encode())
