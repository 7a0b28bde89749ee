# SPDX-License-Identifier: GPL-2.0
"""Stalls of known functions, three calls deep, as stalls.js. A line of stdin names one; "done" answers.
The marks @name are at the lines in which each takes its time. argv: a FIFO."""
import asyncio
import gc
import json
import re
import sys
import threading
import time

text = json.dumps([{"id": i, "name": f"name {i}"} for i in range(60000)])
lock = threading.Lock()


def until(end):
    x = 0
    while time.monotonic() < end: x += x * x & 7  # @busy
    return x


def compute(seconds):
    return until(time.monotonic() + seconds) + 1


def busy():
    return compute(0.09)


def parse_catalog():
    return len(json.loads(text)) + len(json.loads(text)) + len(json.loads(text))  # @json


def check_name():
    return re.match(r"(a+)+$", "a" * 22 + "b")  # @regex


def load_config():
    with open(sys.argv[1], encoding="ascii") as file:  # @fifo
        return len(file.read())


def hold_lock(held):
    with lock:
        held.set()
        time.sleep(0.12)


def take_lock():
    held = threading.Event()
    threading.Thread(target=hold_lock, args=(held,)).start()
    held.wait()
    with lock:  # @lock
        return 0


def sort_key(row):
    total = row
    for i in range(20): total ^= i  # @sort
    return total


def sort_rows():
    return len(sorted(range(120000), key=sort_key))


def descend(depth):
    if depth == 0:
        end = time.monotonic() + 0.09
        while time.monotonic() < end: pass  # @recursion
        return 0
    return 1 + descend(depth - 1)


class Catalog:
    total = 0

    def rebuild(self):
        end = time.monotonic() + 0.09
        while time.monotonic() < end: self.total += 1  # @method


def make_catalog():
    return Catalog().rebuild()


async def inner():
    await asyncio.sleep(0)
    end = time.monotonic() + 0.09
    while time.monotonic() < end: pass  # @async


async def finish():
    await asyncio.sleep(0)
    await inner()


def per_request():
    def closure(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end: pass  # @closure
    return closure(0.09)


def grow():
    kept = []
    for i in range(150000): kept.append([i, [i]])  # @collection
    return len(kept) + gc.collect()


cases = {"busy": busy, "json": parse_catalog, "regex": check_name, "fifo": load_config, "lock": take_lock, "sort": sort_rows,
         "recursion": lambda: descend(60), "method": make_catalog, "async": finish, "closure": per_request, "collection": grow}


async def on_command(name):
    done = cases[name]()
    if asyncio.iscoroutine(done):
        await done
    print("done", flush=True)


async def main():
    loop = asyncio.get_running_loop()
    tasks = set()

    def on_stdin():
        name = sys.stdin.readline().strip()
        if name:
            tasks.add(loop.create_task(on_command(name)))
        else:
            loop.stop()

    loop.add_reader(0, on_stdin)
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
