#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How many had to wait: what was ready when a loop came back from a slow handler, against what was sent meanwhile."""
import os
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import Tap, Trace, check_run, end, headline, need, trace_whole  # noqa: E402
from real import Redis  # noqa: E402

WAITERS = [50, 20, 7, 0]
STALL_S = 0.2
LOOP = f"""
import os, select, sys, time
epoll, pipes = select.epoll(), [os.pipe() for _ in range({max(WAITERS)})]
for reader, _ in pipes: epoll.register(reader, select.EPOLLIN)
print('ready', flush=True)
sys.stdin.readline()
for count in {WAITERS}:
    os.write(pipes[0][1], b'x')
    for fd, _ in epoll.poll(): os.read(fd, 10)
    for _, writer in pipes[:count]: os.write(writer, b'x')
    time.sleep({STALL_S})
    for fd, _ in epoll.poll(0 if count else 0.05): os.read(fd, 10)
"""


def told(trace):
    return [block.get("behind") for block in trace.blocks]


def test_loop(tap):
    trace = trace_whole([sys.executable, "-c", LOOP], "100ms")
    tap.check(told(trace) == WAITERS, f"a loop of our own: {WAITERS} descriptors", told(trace), *map(headline, trace.blocks))


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def ping(clients):
    for client in clients:
        client.sendall(b"PING\r\n")


def answers(clients):
    for client in clients:
        client.recv(100)


def test_redis(tap, folder):
    """Each client sends one request while another one's makes redis sleep. Its marks would end the block before the wait."""
    redis = Redis(folder)
    try:
        clients = [connect(redis.socket) for _ in range(max(WAITERS) + 1)]
        with Trace(redis.process.pid, threshold="100ms", options=["--marks", "never"]) as trace:
            for count in WAITERS:
                clients[-1].sendall(f"DEBUG SLEEP {STALL_S}\r\n".encode())
                time.sleep(STALL_S / 4)
                ping(clients[:count])
                answers(clients[-1:])
                answers(clients[:count])
            ping(clients[:1])  # the last dispatch has ended by then
            answers(clients[:1])
    finally:
        end(redis.process)
    check_run(tap, trace, "redis", "redis-server", "redis")
    # With the answer sent, the next request may be there before the loop comes back.
    good = [got in (count, count + 1) for got, count in zip(told(trace), WAITERS)]
    tap.check(len(trace.blocks) == len(WAITERS) and all(good), f"redis: {WAITERS} clients", told(trace), *map(headline, trace.blocks))


def main():
    tap = Tap()
    test_loop(tap)
    need("redis-server")
    with tempfile.TemporaryDirectory() as folder:
        test_redis(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
