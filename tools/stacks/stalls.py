# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls asyncio's loop for 60 ms of every 80: in Python only, in C that Python calls, in Python
that C calls, asleep. With "sleep": only asleep."""
import asyncio
import json
import re
import signal
import sys
import time

TEXT = json.dumps([{"id": number, "name": f"name {number}"} for number in range(3000)])


def compute():
    return sum(number * number % 7 for number in range(20000))


def parse():
    return len(json.loads(TEXT))


def order():
    return sorted(range(5000), key=lambda number: number * 7919 % 5003)[0]


def search():
    return len(re.sub(r"name (\d+)", lambda match: match[1], TEXT))


def nap():
    time.sleep(0.06)


def handle(do):
    end = time.monotonic() + 0.06
    while time.monotonic() < end:
        do()


async def main():
    print("ready", flush=True)
    while True:
        for do in (nap,) if sys.argv[1:] == ["sleep"] else (compute, parse, order, search, nap):
            await asyncio.sleep(0.02)
            handle(do)


signal.alarm(120)
asyncio.run(main())
