# SPDX-License-Identifier: GPL-2.0
"""Backends of OTLP for tests/fleet: an OpenTelemetry collector that passes on what it took to a server of the test,
VictoriaMetrics. They run on free ports of 127.0.0.1, with their data in a directory of the test."""
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

START_S = 60
PROTOBUF = "application/x-protobuf"


def find(variable, *names):
    """The path of a program: from the environment, or the first in PATH. None: there is none."""
    if os.environ.get(variable):
        return os.environ[variable]
    return next((path for path in map(shutil.which, names) if path), None)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def request(url, body=None, headers=None):
    """Status and body of the answer; status 0: nobody answered."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers or {}), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (urllib.error.URLError, OSError):
        return 0, b""


def post(url, body, **headers):
    return request(url, body, {"Content-Type": PROTOBUF, **headers})


class Backend:
    """A program that answers on a port. Use it in a `with`."""

    def __init__(self, command, ready, log):
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_S
        while not request(ready)[0]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{command[0]} does not answer: {self.said()}")
            time.sleep(0.05)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Receiver:
    """Takes OTLP as JSON, which the collector made of what it understood."""

    def __init__(self):
        self.got = {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.setdefault(self.path, []).append(json.loads(body))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Collector(Backend):
    """It answers a request only when the receiver has its data, as it has no queue."""

    CONFIG = """
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
exporters:
  otlphttp:
    endpoint: http://127.0.0.1:{to}
    encoding: json
    compression: none
    sending_queue:
      enabled: false
    retry_on_failure:
      enabled: false
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [otlphttp]
    metrics:
      receivers: [otlp]
      exporters: [otlphttp]
    profiles:
      receivers: [otlp]
      exporters: [otlphttp]
"""

    def __init__(self, program, directory):
        self.receiver = Receiver()
        port = free_port()
        path = os.path.join(directory, "collector.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.CONFIG.format(port=port, to=self.receiver.port))
        self.url = f"http://127.0.0.1:{port}"
        super().__init__([program, "--config", path, "--feature-gates", "service.profilesSupport"], self.url,
                         os.path.join(directory, "collector.log"))

    def got(self, path):
        """The only request of a signal so far."""
        (only,) = self.receiver.got[path]
        return only


class VictoriaMetrics(Backend):
    def __init__(self, program, directory):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.url = self.base + "/opentelemetry"
        super().__init__([program, f"-storageDataPath={directory}/victoria", f"-httpListenAddr=127.0.0.1:{port}",
                          "-opentelemetry.usePrometheusNaming", "-search.latencyOffset=0s", "-retentionPeriod=10y"],
                         self.base + "/health", os.path.join(directory, "victoria.log"))

    def flush(self):
        request(self.base + "/internal/force_flush")

    def query(self, expression, at_s):
        """Values by their labels."""
        url = f"{self.base}/api/v1/query?" + urllib.parse.urlencode({"query": expression, "time": at_s})
        status, body = request(url)
        if status != 200:
            raise RuntimeError(f"{expression}: {status} {body}")
        return [(row["metric"], float(row["value"][1])) for row in json.loads(body)["data"]["result"]]


def attributes(message):
    """Of a message of OTLP's JSON: numbers as numbers."""
    def value(any_value):
        kind, content = next(iter(any_value.items()))
        return int(content) if kind == "intValue" else content
    return {pair["key"]: value(pair["value"]) for pair in message.get("attributes", ())}
