#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The example of each command, as `jankbpf help COMMAND` prints it, works."""
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import JANKBPF, ROOT, Tap, end, need, start  # noqa: E402

PRINTS = {"trace": "━━ ", "replay": '"type":"block"', "loops": "readQueryFromClient", "doctor": "Tracing is possible",
          "help": "Usage: jankbpf replay", "serve": "http://127.0.0.1:7390/#token="}
# A server runs until it is told to end.
STOP = "{} > url & until grep -q token url; do sleep 0.1; done; cat url; kill $!; wait $!"


class Empty(http.server.BaseHTTPRequestHandler):
    """A ClickHouse without rows: tests/fleet asks a real one."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


def script(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def prepare(folder, pid):
    """The files that the examples name, and a redis-server to trace: simjank."""
    os.makedirs(f"{folder}/bin")
    os.makedirs(f"{folder}/symbols")
    os.symlink(os.path.abspath(JANKBPF), f"{folder}/bin/jankbpf")
    script(f"{folder}/bin/pgrep", f"echo {pid}\n")
    output(JANKBPF, "-q", "-t", "25ms", "-n", "3", "--journal", f"{folder}/run.jnl", "-p", str(pid))
    shutil.copy(os.path.join(ROOT, "deploy", "jankbpf.conf"), folder)
    for directory in ("blocks", "before", "after"):
        output(JANKBPF, "replay", "-q", "-o", f"{folder}/{directory}", f"{folder}/run.jnl")
    output(JANKBPF, "replay", "-q", "--spool", f"{folder}/spool", f"{folder}/run.jnl")
    with open(f"{folder}/blocks.jsonl", "w", encoding="utf-8") as file:
        file.write(output(JANKBPF, "replay", "--json", f"{folder}/run.jnl"))


def run(folder, line):
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False)


def check(tap, folder, command, port):
    line = re.search(r"(?m)^Example: .*\n  (.+)$", output(JANKBPF, "help", command))[1]
    line = line.replace("127.0.0.1:8123", f"127.0.0.1:{port}")
    if command == "completion":
        line += "; complete -p jankbpf"
    if command == "serve":
        line = STOP.format(line)
    done = run(folder, line)
    tap.check(done.returncode == 0 and PRINTS.get(command, "") in done.stdout, f"{command}: {line}", done.stderr[-500:],
              done.stdout[-500:])


def main():
    need()
    tap = Tap()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tempfile.mkdtemp(prefix="jank-examples-")
    simjank = start([os.path.join(ROOT, "simjank"), "--quiet", "--scenario", "busy:60ms,sleep:60ms", "--duration", "120s"])
    try:
        prepare(folder, simjank.pid)
        for command in re.findall(r"(?m)^  ([a-z]+) +\S", output(JANKBPF, "--help")):
            check(tap, folder, command, server.server_address[1])
        with open(f"{folder}/named.jsonl", encoding="utf-8") as file:
            tap.check(file.read().count('"type":"block"') >= 2, "symbolize wrote the blocks")
    finally:
        end(simjank)
        shutil.rmtree(folder)
    tap.end()


main()
