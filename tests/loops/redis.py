# SPDX-License-Identifier: GPL-2.0
"""Debian's redis-server, with a command that sleeps and one that computes; prints the lines of
stall.h."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import stall

SPIN = "for i = 1, 30000000 do end"


def command(client, *words):
    parts = [f"${len(word)}\r\n{word}\r\n" for word in words]
    client.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
    return client.recv(4096)


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    for _ in range(500):
        try:
            client.connect(path)
            return client
        except OSError:
            time.sleep(0.02)
    return stall.cannot("redis-server does not answer")


def main():
    if not shutil.which("redis-server"):
        stall.cannot("not installed: redis-server")
    stall.open_()
    with tempfile.TemporaryDirectory(prefix="jank-redis-") as folder:
        path = os.path.join(folder, "socket")
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir",
                                   folder, "--enable-debug-command", "yes"], stdout=subprocess.DEVNULL,
                                  preexec_fn=stall.open_)
        with connect(path) as client:
            stall.ready(server.pid)
            fd = int(re.search(rb" fd=(\d+) ", command(client, "CLIENT", "LIST"))[1])
            stall.await_start()
            for _ in range(stall.ROUNDS):
                stall.driven("sleep", server.pid, lambda: command(client, "DEBUG", "SLEEP", "0.06"), "sleep",
                             None, callback="readQueryFromClient", fd=fd, fd_target="unix")
                stall.driven("script", server.pid, lambda: command(client, "EVAL", SPIN, "0"), "cpu",
                             None, callback="readQueryFromClient", fd=fd, fd_target="unix")
            command(client, "SHUTDOWN", "NOSAVE")
        server.wait(10)


main()
