#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A page's synchronous XMLHttpRequests in Firefox, which handles events in an inner loop meanwhile. Where
libxul has names, each is a block; else not_watched counts them, with their time."""
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, Trace, end, need, start, wait_for  # noqa: E402
from real import Screen  # noqa: E402

REQUESTS = 3 if SHORT else 10
SLOW_S = 0.4
PAGE = b"""<!DOCTYPE html><script>
const pause = ms => new Promise(done => setTimeout(done, ms));
const now = () => performance.timeOrigin + performance.now();
async function run() {
	const rounds = +(await (await fetch("/go")).text());
	for (let i = 0; i < 20; i++) /* turns, so that the loop is known */
		await pause(50);
	for (let i = 0; i < rounds; i++) {
		await pause(500);
		const request = new XMLHttpRequest(), begin = now();
		request.open("GET", "/slow", false);
		request.send();
		navigator.sendBeacon("/stall", String(now() - begin));
	}
	await pause(500);
	navigator.sendBeacon("/done", "");
}
run();
</script>"""


class Page(http.server.ThreadingHTTPServer):
    """Serves the page; `loaded`: it asks for /go, which is answered once `go` is set."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.loaded, self.go, self.ended, self.stalls_ms = (*(threading.Event() for _ in range(3)), [])
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/go":
            self.server.loaded.set()
            self.server.go.wait(120)
        if self.path == "/slow":
            threading.Event().wait(SLOW_S)
        self.answer(PAGE if self.path == "/" else str(REQUESTS).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/stall":
            self.server.stalls_ms.append(float(body))
        else:
            self.server.ended.set()
        self.answer(b"")

    def log_message(self, *_):
        pass


def run(field, page, trace):
    page.go.set()
    wait_for(page.ended.is_set, 120, what="the page's end")
    trace.stop()
    entries = [entry for entry in trace.summary["not_watched"] if entry["reason"] == "nested"]
    blocks = [b for b in trace.blocks if b["cause"].get("what") == "job"]
    told = sum(entry["handlers"] for entry in entries) + len(blocks)
    told_ns = sum(entry["handlers_ns"] for entry in entries) + sum(b["duration_ns"] for b in blocks)
    field.cases("synchronous XMLHttpRequest: found, or counted as nested", min(told, len(page.stalls_ms)),
                len(page.stalls_ms), details=(trace.summary["not_watched"],))
    want_ns = sum(page.stalls_ms) * MS
    field.case("and their time, within 10 %", abs(told_ns - want_ns) < want_ns / 10, told_ns, want_ns)


def main():
    need("firefox-esr", "Xvfb")
    field = Field("nested turns")
    folder = tempfile.mkdtemp(prefix="jank-firefox-")
    page, screen = Page(), Screen("800x600x24")
    firefox = start(["firefox-esr", "--no-remote", "--profile", folder, f"http://127.0.0.1:{page.server_port}/"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env={**os.environ, **screen.env, "HOME": folder, "MOZ_DISABLE_CONTENT_SANDBOX": "1"})
    try:
        wait_for(page.loaded.is_set, 120, what="the page")
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(firefox.pid)], capture_output=True, text=True,
                                  check=True).stdout.split()
        with Trace(firefox.pid, *children, threshold="200ms", options=["-f"]) as trace:
            run(field, page, trace)
    finally:
        end(firefox)
        screen.end()
        shutil.rmtree(folder, ignore_errors=True)
    field.done()


main()
