# SPDX-License-Identifier: GPL-2.0
"""A typical asyncio server with blocking handlers. argv: its socket.

A request is a line, "nap" or "ask URL"; the answer is the same line.
"""
import asyncio
import sys
import time

import requests

NAP_S = 0.3


def nap(_):
    time.sleep(NAP_S)
    return "slept"


def ask(url):
    return requests.get(url, timeout=30).text


HANDLERS = {"nap": nap, "ask": ask}


async def handle(reader, writer):
    name, _, argument = (await reader.readline()).decode().strip().partition(" ")
    if name in HANDLERS:
        writer.write((HANDLERS[name](argument) + "\n").encode())
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_unix_server(handle, sys.argv[1])
    async with server:
        await server.serve_forever()


asyncio.run(main())
