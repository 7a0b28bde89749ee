# SPDX-License-Identifier: GPL-2.0
"""A running `jankbpf serve` and requests to it."""
import atexit
import gzip
import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse

WAIT_S = 30


def until(what, wait_s=WAIT_S):
    """Waits for a fact: the value of what() once it is true, else None."""
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        if value := what():
            return value
        time.sleep(0.02)
    return None


class Serve:
    """Runs the server on a directory. command: what comes before and the program itself."""

    def __init__(self, command, folder, *options, listen="127.0.0.1:0", **how):
        self.ended = None
        self.process = subprocess.Popen([*command, "serve", "--listen", listen, *options, folder], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **how)
        atexit.register(self.process.kill)  # of a test that failed; nothing if it has ended
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.stderr.read())
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.token = parts.hostname, parts.port or 80, parts.fragment.partition("=")[2]
        self.header = {"X-Jankbpf-Token": self.token}

    def ask(self, path, method="GET", own=True, body=None, **headers):
        """(status, headers, body) of a request; own: with the token. Names of headers have _ for -."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAIT_S)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if own:
            fields.update(self.header)
        try:
            connection.request(method, path, body=body, headers=fields)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def post(self, path):
        return self.ask(path, "POST")[0]

    def lines(self, query=""):
        """The lines of /data."""
        status, _, body = self.ask("/data" + query)
        if status != 200:
            raise RuntimeError(f"/data{query}: {status}")
        return [json.loads(line) for line in gzip.decompress(body).splitlines()]

    def blocks(self, query=""):
        """(seq, id, read) of each block or hang."""
        ret, mark = [], None
        for line in self.lines(query):
            if "seq" in line:
                mark = line
            elif line.get("type") in ("block", "hang"):
                ret.append((mark["seq"], line["id"], mark["read"]))
        return ret

    def rss_kb(self, field="VmHWM"):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(field))

    def stop(self):
        """(exit status, stderr); the same again in a second call."""
        if self.ended:
            return self.ended
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            _, err = self.process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.ended = (self.process.returncode, err)
        return self.ended


class Events:
    """Reads the states that a server sends, on a thread of its own."""

    def __init__(self, serve):
        self.states, self.ended = [], False
        self.connection = http.client.HTTPConnection(serve.host, serve.port, timeout=WAIT_S)
        self.connection.request("GET", "/events", headers=serve.header)
        self.answer = self.connection.getresponse()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while line := self.answer.readline():
                if line.strip():
                    self.states.append(json.loads(line))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):  # closed on the other thread
            pass
        self.ended = True

    def wait(self, fits):
        """The first state, from the last one known on, that fits; None: none came in time."""
        return until(lambda: next((state for state in list(self.states)[-1:] if fits(state)), None))

    def close(self):
        self.connection.close()


def find_logs(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("looper-"))


def find_records(folder, kind="block"):
    ret = []
    for name in ("blocks.1.jsonl", "blocks.jsonl"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                ret += [json.loads(line) for line in file if line.endswith("\n")]
    return [record for record in ret if record["type"] == kind]
