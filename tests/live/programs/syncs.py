# SPDX-License-Identifier: GPL-2.0
"""Syncs files of a folder. loop FOLDER: an epoll loop on stdin, whose handler syncs a small file. large FOLDER: writes and
syncs a large one again and again."""
import os
import select
import sys


def open_own():
    return os.open(os.path.join(sys.argv[2], sys.argv[1]), os.O_RDWR | os.O_CREAT, 0o600)


def handle(fd):
    os.read(0, 1)
    os.pwrite(fd, b"x", 0)
    os.ftruncate(fd, 1)
    os.fsync(fd)


def loop(fd):
    epoll = select.epoll()
    epoll.register(0, select.EPOLLIN)
    print("ready", flush=True)
    while True:
        if epoll.poll():
            handle(fd)


def large(fd):
    print("ready", flush=True)
    while True:
        os.ftruncate(fd, 0)  # new blocks: the journal's commit waits for their data
        for _ in range(8):
            os.write(fd, bytes(1 << 20))
        os.fsync(fd)
        os.lseek(fd, 0, os.SEEK_SET)


{"loop": loop, "large": large}[sys.argv[1]](open_own())
