# SPDX-License-Identifier: GPL-2.0
"""An epoll loop, its client on another CPU, and hogs on the loop's CPU.

argv: SCENARIO COUNT; for `quota` also the cgroup.procs of a cgroup with a quota. Prints a line
`ready`. Then for each message, and for a first one without hogs, prints `BEFORE AFTER RECEIVED`
(CLOCK_MONOTONIC in ns): when the client was about to send, when it had sent, when the loop's
handler had received it. The hogs end by themselves.
"""
import os
import select
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from hogs import MS, hog, nice, pinned, real_time  # noqa: E402

LOOP_CPU, CLIENT_CPU = 1, 0
HOG_MS, EVERY_MS = 90, 150
LEAD_MS = 20, 50 # the latter for a quota, which the hog must use up first, also on a busy machine


def in_cgroup():
    with open(sys.argv[3], "w", encoding="ascii") as file:
        file.write("0")


def client(sock, moments, lead_ms):
    pid = os.fork()
    if pid:
        return pid
    pinned(CLIENT_CPU)
    os.nice(-10)
    for moment in moments:
        time.sleep(max(0, moment + lead_ms * MS - time.monotonic_ns()) / 1e9)
        before = time.monotonic_ns()
        sock.send(before.to_bytes(8, "little"))
        after = time.monotonic_ns()
        sock.send(after.to_bytes(8, "little"))
    os._exit(0)


def main():
    scenario, count = sys.argv[1], int(sys.argv[2])
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    loop = select.epoll()
    loop.register(ours.fileno(), select.EPOLLIN)
    print("ready", flush=True)
    start = int(sys.stdin.readline())
    moments = [start + i * EVERY_MS * MS for i in range(1 + count)]
    hogs = {
        "real-time": [real_time],
        "nice": [nice(-20)] * 3,
        "affinity": [nice(-10)] * 2,
        "quota": [in_cgroup],
        "prompt": [],
    }[scenario]
    # each CPU keeps a slice of a quota: on another CPU the loop would go on
    if scenario != "prompt":
        pinned(LOOP_CPU)
    children = [hog(enter, moments[1:], HOG_MS) for enter in hogs] + [client(theirs, moments, LEAD_MS[scenario == "quota"])]
    if scenario in ("nice", "affinity"):
        os.nice(19)
    if scenario == "quota":
        in_cgroup()
    for _ in moments:
        loop.poll()
        before = int.from_bytes(ours.recv(8), "little")
        received = time.monotonic_ns()
        print(before, int.from_bytes(ours.recv(8), "little"), received, flush=True)
    loop.poll(0)
    for child in children:
        os.waitpid(child, 0)


main()
