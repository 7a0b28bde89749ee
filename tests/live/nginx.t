#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A real nginx worker: no blocks while it serves well, and blocks that name what stalls it.

Stalls that Debian's nginx can have: the listing of a huge directory, gzip of a big response at
level 9, a big file that is not in memory, a log pipe without a reader, and a stop by a signal.
"""
import concurrent.futures
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import (MS, Moment, Tap, Trace, blamed, check_run, drop_cache, end, functions, headline,  # noqa: E402
                  main_syscall, modules, need, start, state_ns, wait_for)
from real import free_port  # noqa: E402

CONF = """
worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/error.log; user {user};
events {{ worker_connections 256; use epoll; }}
http {{
    access_log off; root {dir}/www; sendfile off; default_type text/html; open_file_cache off;
    keepalive_requests 1000000; keepalive_timeout 60s; output_buffers 2 512k;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=64;
        location /list/ {{ autoindex on; }}
        location /zip/ {{ gzip on; gzip_comp_level 9; gzip_min_length 1; gzip_types *;
                          gzip_buffers 64 1m; output_buffers 1 8m; postpone_output 0; }}
        location /cold/ {{ output_buffers 1 32m; }}
        location /logged/ {{ access_log {dir}/log.pipe; }}
    }}
}}
"""
FILES = 100000


class Nginx:
    def __init__(self, folder):
        self.port = free_port()
        self.make_site(folder)
        conf = os.path.join(folder, "nginx.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(CONF.format(dir=folder, port=self.port, user="root"))
        self.master = start(["nginx", "-p", folder, "-c", conf, "-e", os.path.join(folder, "error.log")],
                            stderr=subprocess.DEVNULL)
        wait_for(self.answers, what="nginx's answer")
        children = f"/proc/{self.master.pid}/task/{self.master.pid}/children"
        with open(children, encoding="ascii") as file:
            self.worker = int(file.read().split()[0])

    def make_site(self, folder):
        www = os.path.join(folder, "www")
        for name in ("list", "zip", "cold", "logged"):
            os.makedirs(os.path.join(www, name))
        with open(os.path.join(www, "index.html"), "w", encoding="ascii") as file:
            file.write("hello\n" * 100)
        shutil.copy(os.path.join(www, "index.html"), os.path.join(www, "logged", "index.html"))
        for number in range(FILES):
            os.close(os.open(os.path.join(www, "list", f"file-{number}"), os.O_CREAT | os.O_WRONLY))
        words = os.urandom(1 << 16).hex().encode()
        with open(os.path.join(www, "zip", "big"), "wb") as file:
            file.write(words * 64)
        self.cold = os.path.join(www, "cold", "big")
        with open(self.cold, "wb") as file:
            for _ in range(4):
                file.write(os.urandom(32 << 20))
        self.pipe = os.path.join(folder, "log.pipe")
        os.mkfifo(self.pipe)
        # Opens both ends, so that nginx can open the pipe although nobody reads it; makes it as
        # small as possible.
        self.pipe_fd = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.pipe_fd, 1031, 4096)  # F_SETPIPE_SZ

    def answers(self):
        try:
            return self.get("/index.html", timeout=1).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def get(self, path, timeout=60, headers=""):
        """The beginning of the response; reads all of it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode())
            head = b""
            while chunk := client.recv(1 << 20):
                head = head or chunk
            return head

    def end(self):
        os.kill(self.worker, signal.SIGCONT)
        end(self.master)
        os.close(self.pipe_fd)


def load(nginx, until, counts):
    """Sends requests on one kept connection until the event is set."""
    request = b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=30) as client:
        while not until.is_set():
            client.sendall(request)
            answer = b""
            while not answer.endswith(b"hello\n") or len(answer) < 800:
                answer += client.recv(65536)
            counts.append(1)


def serve(tap, nginx):
    """Under load no dispatch is long without a reason: the time of each is accounted for."""
    until, counts = threading.Event(), []
    with Trace(nginx.worker, threshold="2ms") as trace:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(load, nginx, until, counts) for _ in range(4)]
            time.sleep(4)
            until.set()
            for future in futures:
                future.result()
    check_run(tap, trace, "serving", "nginx", "nginx")
    dispatches = trace.summary["dispatches"]
    tap.note(f"{len(counts)} requests, {dispatches} dispatches, {len(trace.blocks)} over 2 ms")
    tap.check(len(counts) > 500 and dispatches >= len(counts) / 4, "serving: dispatches are counted",
              len(counts), trace.summary)
    own = [b for b in trace.blocks if blamed(b) in ("cpu", "kernel") and state_ns(b, "running") > 50 * MS
           or blamed(b) not in ("cpu", "kernel") and b["duration_ns"] - state_ns(b, "runnable") > 50 * MS]
    tap.check(not own, "serving: no long block is invented", *[headline(b) for b in own])


def stop_for_a_while(nginx):
    """A request arrives, and a signal stops the worker while it answers."""
    zipping = threading.Thread(target=nginx.get, args=("/zip/big",), kwargs={"headers": "Accept-Encoding: gzip\r\n"})
    zipping.start()
    time.sleep(0.1)
    os.kill(nginx.worker, signal.SIGSTOP)
    time.sleep(1.2)
    os.kill(nginx.worker, signal.SIGCONT)
    zipping.join()


def fill_log(nginx):
    """Enough requests to fill the pipe; a reader comes 0.3 s later."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(nginx.get, "/logged/index.html") for _ in range(80)]
        time.sleep(0.5)
        while not all(future.done() for future in futures):
            try:
                os.read(nginx.pipe_fd, 65536)
            except BlockingIOError:
                time.sleep(0.02)


def check_list(tap, block):
    what = f"a listing of {FILES} files"
    if not tap.check(block, f"{what}: there is a block"):
        return
    tap.note(headline(block))
    kind = blamed(block)
    tap.check(kind in ("cpu", "kernel", "disk"), f"{what}: the cause is the listing", headline(block))
    seen = functions(block, "running") | functions(block, "disk")
    named = [f for f in seen if any(word in f for word in ("getdents", "readdir", "newfstatat", "stat", "dents",
                                                           "ngx_http_autoindex", "ngx_sort", "ext4", "strcmp"))]
    tap.check(named or "nginx" in modules(block), f"{what}: its stacks have it", seen)


def check_zip(tap, block):
    if not tap.check(block, "gzip -9 of a big response is a block"):
        return
    tap.note(headline(block))
    tap.check(blamed(block) == "cpu", "gzip: the cause is cpu", headline(block))
    frame = (block["cause"] or {}).get("frame") or {}
    tap.check(frame.get("module", "").endswith("/nginx"), "gzip: nginx's own code is to blame", frame)
    tap.check(any("libz" in module for module in modules(block)), "gzip: its stacks have libz", modules(block))


def check_cold(tap, block):
    if not block:
        tap.skip("a big file that is not in memory", "the disk is fast: no block")
        return
    tap.note(headline(block))
    if state_ns(block, "disk") < block["duration_ns"] / 4:
        tap.skip("a big file that is not in memory", "the disk is fast: the CPU took longer")
        return
    tap.check(blamed(block) in ("disk", "kernel"), "a cold file: the cause is the disk", headline(block))
    tap.check(main_syscall(block) in ("pread64", "read", "preadv"), "a cold file: in pread64", headline(block))


def check_log(tap, block):
    if not tap.check(block, "a log pipe without a reader is a block"):
        return
    tap.note(headline(block))
    tap.check(blamed(block) == "pipe", "a log pipe: the cause is the pipe", headline(block))
    tap.check(main_syscall(block) == "write", "a log pipe: in write", headline(block))


def check_stop(tap, block):
    if not tap.check(block, "a stopped worker is a block (--debugging)"):
        return
    tap.note(headline(block))
    tap.check(block["cause"]["kind"] == "stopped", "a stop: the cause is stopped", headline(block))
    tap.check(1100 * MS < state_ns(block, "stopped") < 1600 * MS, "a stop: its length is right", block["time"])


STALLS = [
    ("list", check_list, lambda nginx: nginx.get("/list/")),
    ("zip", check_zip, lambda nginx: nginx.get("/zip/big", headers="Accept-Encoding: gzip\r\n")),
    ("cold", check_cold, lambda nginx: (drop_cache(nginx.cold), nginx.get("/cold/big"))),
    ("log", check_log, fill_log),
    ("stop", check_stop, stop_for_a_while),
]


def stall(tap, nginx):
    moments = {}
    with Trace(nginx.worker, threshold="10ms", options=["--debugging"]) as trace:
        for name, _, do in STALLS:
            with Moment() as moments[name]:
                do(nginx)
            time.sleep(0.2)
    check_run(tap, trace, "stalls", "nginx", "nginx")
    for name, check, _ in STALLS:
        check(tap, moments[name].block(trace.blocks))


def stop_unreported(tap, nginx):
    with Trace(nginx.worker, threshold="100ms") as trace:
        stop_for_a_while(nginx)
        time.sleep(0.2)
    stopped = [headline(b) for b in trace.blocks if b["cause"]["kind"] == "stopped"]
    tap.check(not stopped, "a stop is no block without --debugging", *stopped)


def main():
    need("nginx")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-nginx-", dir="/var/tmp") as folder:
        nginx = Nginx(folder)
        try:
            serve(tap, nginx)
            stall(tap, nginx)
            stop_unreported(tap, nginx)
        finally:
            nginx.end()
    tap.end()


if __name__ == "__main__":
    main()
