#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The number of clients that had to wait: the descriptors that were ready when a loop returned from
a slow handler, compared with what was sent meanwhile."""
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import Tap, Trace, check_run, end, headline, need, start, trace_whole, wait_for  # noqa: E402
from real import NodeServer, Redis  # noqa: E402

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


def counts(trace):
    return [block.get("behind") for block in trace.blocks]


def test_loop(tap):
    trace = trace_whole([sys.executable, "-c", LOOP], "100ms")
    tap.check(counts(trace) == WAITERS, f"our own loop: {WAITERS} descriptors", counts(trace), *map(headline, trace.blocks))


REQUEST = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
NGINX = """
worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/error.log; user root;
events {{ worker_connections 256; }}
http {{ access_log off; root {dir}; default_type text/html; gzip_comp_level 9; gzip_min_length 1; gzip_buffers 64 1m; gzip_types *;
        keepalive_requests 1000000; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
        uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
        server {{ listen unix:{dir}/nginx; location /slow {{ gzip on; sendfile off; output_buffers 1 16m; postpone_output 0; }} }} }}
"""


class Clients:
    """Connections to a server: each sends one request while another request stalls the server."""

    def __init__(self, path, quick, slow):
        self.quick, self.slow = quick, slow
        self.all = [self.connect(path) for _ in range(max(WAITERS) + 1)]

    @staticmethod
    def connect(path):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(path)
        return client

    @staticmethod
    def receive(client):
        """Reads one answer; of HTTP its body, too."""
        got = client.recv(1 << 16)
        if got.startswith(b"HTTP"):
            head, _, body = got.partition(b"\r\n\r\n")
            length = [int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            while not (len(body) >= length[0] if length else body.endswith(b"0\r\n\r\n")):
                body += client.recv(1 << 20)

    def ask(self, clients):
        for client in clients:
            client.sendall(self.quick)

    def stall(self, count):
        self.all[-1].sendall(self.slow)
        time.sleep(STALL_S / 4)
        self.ask(self.all[:count])
        for client in [self.all[-1], *self.all[:count]]:
            self.receive(client)

    def end_dispatch(self):
        self.ask(self.all[:1])
        self.receive(self.all[0])


def check_server(tap, name, pid, clients):
    """Without marks, which would end the block before the wait."""
    clients.ask(clients.all)
    for client in clients.all:  # the server has accepted each and answered once
        clients.receive(client)
    with Trace(pid, threshold="100ms", options=["--marks", "never"]) as trace:
        for count in WAITERS:
            clients.stall(count)
        clients.end_dispatch()
    check_run(tap, trace, name)
    # The next request may arrive with the answer, before the loop waits again.
    good = [got in (count, count + 1) for got, count in zip(counts(trace), WAITERS)]
    tap.check(len(trace.blocks) == len(WAITERS) and all(good), f"{name}: {WAITERS} clients", counts(trace), *map(headline, trace.blocks))


def test_redis(tap, folder):
    redis = Redis(folder)
    try:
        check_server(tap, "redis", redis.process.pid, Clients(redis.socket, b"PING\r\n", f"DEBUG SLEEP {STALL_S}\r\n".encode()))
    finally:
        end(redis.process)


def test_node(tap, folder):
    server = NodeServer(folder, "/dev/null")
    try:
        check_server(tap, "node", server.process.pid, Clients(server.path, REQUEST % b"/quick", REQUEST % b"/exec"))
    finally:
        server.end()


def test_nginx(tap, folder):
    with open(os.path.join(folder, "slow"), "wb") as file:
        file.write(os.urandom(1 << 16).hex().encode() * 96)
    with open(os.path.join(folder, "index.html"), "wb") as file:
        file.write(b"hello")
    conf, path = os.path.join(folder, "nginx.conf"), os.path.join(folder, "nginx")
    with open(conf, "w", encoding="ascii") as file:
        file.write(NGINX.format(dir=folder))
    nginx = start(["nginx", "-p", folder, "-c", conf, "-e", os.path.join(folder, "error.log")], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(path), what="nginx's socket")
        with open(f"/proc/{nginx.pid}/task/{nginx.pid}/children", encoding="ascii") as file:
            worker = int(file.read().split()[0])
        slow = REQUEST.replace(b"Host", b"Accept-Encoding: gzip\r\nHost") % b"/slow"
        check_server(tap, "nginx", worker, Clients(path, REQUEST % b"/", slow))
    finally:
        end(nginx)


def main():
    need("redis-server", "node", "nginx")
    tap = Tap()
    test_loop(tap)
    for test in test_redis, test_node, test_nginx:
        with tempfile.TemporaryDirectory() as folder:
            test(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
