# SPDX-License-Identifier: GPL-2.0
"""A client of an X server, at its socket PATH. loop PATH: an epoll loop on stdin, whose handler asks the server where the
focus is, and waits as libxcb does. grab PATH: a line on stdin grabs the server, the next one gives it back."""
import select
import socket
import sys

GRAB, UNGRAB, FOCUS = (bytes([code, 0, 1, 0]) for code in (36, 37, 43))


def connect():
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[2])
    server.sendall(b"l\0\x0b\0" + bytes(8))  # byte order, protocol 11, no authorization
    head = server.recv(8, socket.MSG_WAITALL)
    server.recv(4 * int.from_bytes(head[6:8], "little"), socket.MSG_WAITALL)
    return server


def ask(server):
    polled = select.poll()
    polled.register(server, select.POLLIN)
    server.sendall(FOCUS)
    polled.poll()
    server.recv(32, socket.MSG_WAITALL)


def loop(server):
    epoll = select.epoll()
    epoll.register(0, select.EPOLLIN)
    print("ready", flush=True)
    while epoll.poll() and sys.stdin.buffer.raw.read(1):
        ask(server)
        print("answered", flush=True)


def grab(server):
    print("ready", flush=True)
    for request in (GRAB, UNGRAB):
        sys.stdin.readline()
        server.sendall(request + FOCUS)
        server.recv(32, socket.MSG_WAITALL)
        print("answered", flush=True)
    sys.stdin.readline()


{"loop": loop, "grab": grab}[sys.argv[1]](connect())
