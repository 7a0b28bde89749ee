# SPDX-License-Identifier: GPL-2.0
"""A main thread that waits for the letters of stdin and does what each says: "s" sleeps, "x" does
nothing, "e" ends the work in the last three modes: then the thread only rests. It answers each with
the letter, and when the work began and ended. MODE is how it waits, and where it sleeps."""
import queue
import sys
import threading
import time

STALL_S, REST_S = 0.3, 0.7
jobs = queue.Queue()


def read():
    while letter := sys.stdin.read(1):
        jobs.put(letter)


def answer(job, begin_ns=0):
    print(job, begin_ns, time.monotonic_ns(), flush=True)


def fetch():
    return jobs.get()


def inline():
    while True:
        job = jobs.get()
        begin_ns = time.monotonic_ns()
        if job == "s":
            time.sleep(STALL_S)
        answer(job, begin_ns)


def fetched():
    while True:
        job = fetch()
        begin_ns = time.monotonic_ns()
        if job == "s":
            time.sleep(STALL_S)
        answer(job, begin_ns)


def mixed(timed):
    turn = 0
    while True:
        turn += 1
        try:
            job = jobs.get(timeout=REST_S) if turn % timed == 0 else jobs.get()
        except queue.Empty:
            continue
        begin_ns = time.monotonic_ns()
        if job == "s":
            time.sleep(STALL_S)
        answer(job, begin_ns)


def rests(mode, reader):
    while (job := jobs.get()) != "e":
        answer(job)
    answer(job)
    event = threading.Event()
    while mode == "sleeps":
        time.sleep(1)
    while mode == "joins":
        reader.join(REST_S)
    while True:
        event.wait(REST_S)


def main(mode):
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    answer("r")
    modes = {"inline": inline, "fetch": fetched, "mixed": lambda: mixed(3), "timed": lambda: mixed(1)}
    modes.get(mode, lambda: rests(mode, reader))()


main(sys.argv[1])
