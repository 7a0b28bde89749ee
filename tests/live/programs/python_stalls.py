# SPDX-License-Identifier: GPL-2.0
"""asyncio that stalls on command: one letter on stdin, answered when it is done. argv: a file for
the truth.

Each stall notes its own Python stack, in the same line of source: innermost first, [function, file,
line].
"""
import asyncio
import json
import os
import sys
import threading
import time

WAIT = 0.15
truth = {}
thread, released = None, threading.Event()
big = [{"id": i, "parts": [i, str(i), None]} for i in range(60000)]


def turns_of(seconds):
    """How often the loop of Shop.count runs in that much CPU time on this machine."""
    shop, started = Shop(), time.thread_time()
    shop.turns = 200000
    shop.count()
    return int(shop.turns * seconds / (time.thread_time() - started))


def note(letter):
    frame, stack = sys._getframe(1), []
    while frame:
        stack.append([frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    truth[letter] = stack


def nap():
    note("s"); time.sleep(WAIT)


class Shop:
    total = 0
    turns = 0

    def count(self):
        for i in note("b") or range(self.turns): self.total += i * i


def dump():
    for _ in note("j") or range(3): json.dumps(big)


def items(depth):
    if depth:
        yield from items(depth - 1)
    else:
        note("g"); time.sleep(WAIT)
        yield 1


async def inner():
    return [item for item in items(3)]


async def outer():
    await asyncio.sleep(0)
    await inner()


def deep(depth):
    if depth:
        return deep(depth - 1)
    note("d"); time.sleep(WAIT)


def größe():
    note("u"); time.sleep(WAIT)


def in_thread():
    async def handler():
        while not released.is_set():
            await asyncio.sleep(0.02)
        note("t"); time.sleep(WAIT)
        await asyncio.sleep(0.02)
    asyncio.run(handler())


def start_thread():
    """Its loop turns idly until `release_thread`."""
    global thread
    released.clear()
    thread = threading.Thread(target=in_thread)
    thread.start()


async def release_thread():
    released.set()
    while thread.is_alive():
        await asyncio.sleep(0.01)


def run_text():
    for i in range(3):
        exec(compile(f"def short_{i}():\n note('x'); time.sleep({WAIT / 3})\nshort_{i}()", "<text>", "exec"))


shop = Shop()
shop.turns = turns_of(WAIT)

STALLS = {
    "s": nap,
    "b": shop.count,
    "j": dump,
    "g": outer,
    "d": lambda: deep(80),
    "u": größe,
    "T": start_thread,
    "t": release_thread,
    "x": run_text,
}


async def stall(letter):
    done = STALLS[letter]()
    if done is not None and letter in "gt":
        await done
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(truth, file)
    os.write(1, letter.encode())


async def main():
    loop = asyncio.get_running_loop()
    tasks = set()

    def on_stdin():
        letter = os.read(0, 1).decode()
        if letter:
            tasks.add(loop.create_task(stall(letter)))
        else:
            loop.remove_reader(0)

    loop.add_reader(0, on_stdin)
    os.write(1, b"r")
    await asyncio.Event().wait()


asyncio.run(main())
