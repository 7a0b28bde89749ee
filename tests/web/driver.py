# SPDX-License-Identifier: GPL-2.0
"""Headless Chromium through chromedriver's WebDriver protocol. The browser is offline: a proxy that does not exist, its own
empty profile, and no background traffic."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--force-device-scale-factor=1", "--proxy-server=127.0.0.1:9")
ENTER, ESCAPE = "\ue007", "\ue00c"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self, width=1280, height=800, dark=False):
        self.profile = tempfile.mkdtemp(prefix="jankbpf-web-")
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "HOME": self.profile})
        self.url = "http://127.0.0.1:" + self.port()
        words = [*ARGUMENTS, f"--user-data-dir={self.profile}/data", f"--window-size={width},{height}"]
        self.session = None
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": words}, "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        # The inside of the window has the size, whatever its frame takes.
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.set_dark(dark)

    def port(self):
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return found[1]
        raise RuntimeError("chromedriver does not start")

    def call(self, method, path, content=None):
        if self.session:
            path = f"/session/{self.session}{path}"
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:500]) from error

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def set_dark(self, dark):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, address=""):
        self.visit("file://" + os.path.abspath(path) + address)

    def visit(self, url):
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": url})

    def run(self, script, *args):
        """The value of a JavaScript expression."""
        return self.call("POST", "/execute/sync", {"script": "return " + script, "args": list(args)})

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.call("POST", f"/element/{self.find(css)}/click", {})

    def type(self, css, text):
        self.call("POST", f"/element/{self.find(css)}/value", {"text": text})

    def keys(self, text):
        """Presses keys, wherever the focus is."""
        actions = [{"type": kind, "value": char} for char in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def move(self, x, y):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "x": x, "y": y}]}]})

    def drag(self, x, y, to_x, to_y):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "x": x, "y": y}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 50, "x": to_x, "y": to_y}, {"type": "pointerUp", "button": 0}]}]})

    def log(self):
        """Messages of the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()
            self.process.stdout.close()
            shutil.rmtree(self.profile, ignore_errors=True)
