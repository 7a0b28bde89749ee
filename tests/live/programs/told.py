# SPDX-License-Identifier: GPL-2.0
"""A loop that does what datagrams tell it: "busy 300" (ms of CPU), "sleep 300", "lock 300" (waits for
a lock that another thread holds for so long), or nothing. Arguments: the wait, and the port."""
import asyncio
import select
import socket
import sys
import threading
import time

lock, held = threading.Lock(), threading.Event()


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def hold(seconds):
    with lock:
        held.set()
        busy(seconds)


def wait_for_lock(seconds):
    held.clear()
    threading.Thread(target=hold, args=(seconds,)).start()
    held.wait()
    with lock:
        pass


DEEDS = {"busy": busy, "sleep": time.sleep, "lock": wait_for_lock}


def handle(message):
    deed, _, ms = message.decode().partition(" ")
    if deed in DEEDS:
        DEEDS[deed](float(ms) / 1000)


def by_poll(sock, other):
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(other, select.POLLIN)  # a loop has more than one descriptor
    while True:
        poll.poll()
        handle(sock.recv(100))


def by_epoll(sock, _):
    epoll = select.epoll()
    epoll.register(sock, select.EPOLLIN)
    while True:
        epoll.poll()
        handle(sock.recv(100))


async def by_asyncio(sock, _):
    loop = asyncio.get_running_loop()
    while True:
        handle(await loop.sock_recv(sock, 100))


socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for sock, port in zip(socks, (int(sys.argv[2]), 0)):
    sock.bind(("127.0.0.1", port))
    sock.setblocking(False)
print("ready", flush=True)
if sys.argv[1] == "asyncio":
    asyncio.run(by_asyncio(*socks))
else:
    {"epoll": by_epoll, "poll": by_poll}[sys.argv[1]](*socks)
