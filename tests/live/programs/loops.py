# SPDX-License-Identifier: GPL-2.0
"""asyncio that stalls on command: one letter on stdin, answered when it is done. argv: a slow
server's socket.

The letter x ends the loop and begins another. y does the same but leaves the old loop's epoll open.
z ends the loop for good: the program then waits for the end of stdin.
"""
import asyncio
import os
import select
import socket
import subprocess
import sys
import time

WAIT = 0.15
kept = []


def ask(timeout):
    """A request to a slow server."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(timeout)
        client.connect(sys.argv[1])
        client.sendall(b"?")
        client.recv(16)


def wait_in_epoll():
    with select.epoll() as epoll:
        epoll.poll(WAIT)


def run_inner_loop():
    """A loop inside a handler of a loop, as nest_asyncio and notebooks do it."""
    outer = asyncio.get_running_loop()
    asyncio._set_running_loop(None)
    inner = asyncio.new_event_loop()
    inner.run_until_complete(asyncio.sleep(WAIT))
    inner.close()
    asyncio._set_running_loop(outer)


STALLS = {
    "s": lambda: time.sleep(WAIT),
    "l": lambda: select.select([], [], [], WAIT),
    "p": lambda: select.poll().poll(WAIT * 1000),
    "e": wait_in_epoll,
    "n": run_inner_loop,
    "h": lambda: ask(None),
    "H": lambda: ask(5),
    "c": lambda: subprocess.run(["sleep", str(WAIT)], check=True),
    "b": lambda: sum(i * i for i in range(1500000)),
}


def answer(letter):
    os.write(1, letter.encode())


def on_stdin(end):
    letter = os.read(0, 1).decode()
    if letter in STALLS:
        STALLS[letter]()
        answer(letter)
    elif not end.done():
        end.set_result(letter)


async def serve(greeting):
    loop = asyncio.get_running_loop()
    end = loop.create_future()
    loop.add_reader(0, on_stdin, end)
    answer(greeting)
    letter = await end
    loop.remove_reader(0)
    return letter


def main():
    letter = "r"
    while letter != "z":
        loop = asyncio.new_event_loop()
        letter = loop.run_until_complete(serve(letter))
        kept.append(loop)
        if letter != "y":
            loop.close()
    answer(letter)
    os.read(0, 1)


main()
