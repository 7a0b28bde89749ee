# SPDX-License-Identifier: GPL-2.0
"""A backend for tests of the sender: an HTTP server that keeps what it got and answers as the test
wants, also like a hostile one. And what is in a spool, by its heads."""
import collections
import glob
import gzip
import hashlib
import http.server
import json
import os
import ssl
import struct
import subprocess
import threading
import time

Request = collections.namedtuple("Request", "path headers body sent_at")


class Backend:
    """answer(handler, request) sends the answer; None: 200. requests has those that were answered by 200."""

    def __init__(self, answer=None, port=0, tls=None, client_ca=None):
        self.answer, self.requests, self.all, self.lock = answer, [], [], threading.Lock()
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                backend.handle(self, Request(self.path, dict(self.headers), body, time.monotonic()))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A client that gives up is part of the test."""

        self.server = Server(("127.0.0.1", port), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            if client_ca:
                context.load_verify_locations(client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle(self, handler, request):
        with self.lock:
            self.all.append(request)
            answer = self.answer
        if answer and answer(handler, request):
            return
        with self.lock:
            self.requests.append(request)
        reply(handler, 200)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def rows(self, table="blocks_local"):
        """The rows of all requests for a table of ClickHouse."""
        return [row for request in self.requests if f"%20{table}%20" in request.path for row in rows_of(request)]


def plain(request):
    """The body, as the request says that it is compressed."""
    encoding = request.headers.get("Content-Encoding")
    if encoding == "zstd":
        return subprocess.run(["zstd", "-dc"], input=request.body, capture_output=True, check=True).stdout
    return gzip.decompress(request.body) if encoding == "gzip" else request.body


def rows_of(request):
    return [json.loads(line) for line in plain(request).splitlines()]


def reply(handler, status, body=b"", **headers):
    handler.send_response(status)
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
    return True


def raw(handler, *parts):
    """Bytes instead of an answer; then the connection ends."""
    handler.close_connection = True
    for part in parts:
        handler.wfile.write(part)
    return True


def times(count, answer):
    """This answer to the first requests, then 200."""
    left = [count]

    def ask(handler, request):
        left[0] -= 1
        return answer(handler, request) if left[0] >= 0 else None

    return ask


def digest(request):
    return hashlib.sha256(request.body).hexdigest()


# --- the spool

BATCH = struct.Struct("<4sIQIIIIQQ")


def batches(folder):
    """(number, records) of each batch."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*.spool")):
        with open(path, "rb") as file:
            data = file.read()
        at = struct.unpack_from("<I", data, 12)[0]
        while at + BATCH.size <= len(data):
            magic, head, nr, records, _, packed, *_ = BATCH.unpack_from(data, at)
            if magic != b"JBAT" or at + head + packed > len(data):
                break
            found.append((nr, records))
            at += head + packed
    return found


def position(folder, backend="clickhouse"):
    try:
        with open(f"{folder}/{backend}.position", encoding="ascii") as file:
            return {key: int(value) for key, value in (line.split() for line in file.readlines()[1:])}
    except FileNotFoundError:
        return {"batch": 0, "sent_records": 0, "refused_records": 0, "retries": 0}


def copy(folder, to):
    os.makedirs(to, mode=0o700)
    for path in [*glob.glob(f"{folder}/*.spool"), f"{folder}/agent"]:
        with open(path, "rb") as source, open(f"{to}/{os.path.basename(path)}", "wb") as file:
            file.write(source.read())
    return to
