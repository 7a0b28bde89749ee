# SPDX-License-Identifier: GPL-2.0
"""CPython's asyncio over the selector argv[1]: a timer, a reader, a call from another thread, a coroutine."""
import asyncio
import os
import selectors
import sys
import threading

import stall

SELECTORS = {"epoll": selectors.EpollSelector, "poll": selectors.PollSelector, "select": selectors.SelectSelector}
KINDS = 4
turns = stall.Turns(KINDS)
fds = os.pipe()


def on_timer():
    turns.stall("timer", None, callback="on_timer")


def on_readable():
    os.read(fds[0], 1)
    turns.stall("reader", None, callback="on_readable", fd=fds[0], fd_target="pipe")


def on_call():
    turns.stall("call", None, callback="on_call")


async def coroutine():
    turns.stall("coroutine", None, callback="coroutine")


def tick(loop):
    due = turns.due()
    if due == 0:
        loop.call_later(0.001, on_timer)
    elif due == 1:
        os.write(fds[1], b"x")
    elif due == 2:
        threading.Thread(target=loop.call_soon_threadsafe, args=(on_call,)).start()
    elif due == 3:
        kept.append(loop.create_task(coroutine()))
    elif due == stall.OVER:
        loop.stop()
        return
    loop.call_later(stall.TICK_S, tick, loop)


def main():
    stall.open_()
    loop = asyncio.SelectorEventLoop(SELECTORS[sys.argv[1]]())
    loop.add_reader(fds[0], on_readable)
    loop.call_soon(stall.ready, os.getpid())
    loop.call_later(stall.TICK_S, tick, loop)
    loop.run_forever()


kept = []
main()
# else the collection at the end would be a stall, too, after the last wait that is seen
os._exit(0)
