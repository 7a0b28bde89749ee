#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A slow function is one fault: 58 requests to four handlers of a server in Node, and in Java, are four faults,
whatever compiles the handlers and moves their functions meanwhile."""
import collections
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from java import Server, compile_program  # noqa: E402
from live import Moment, Tap, Trace, blamed, end, need, start  # noqa: E402

SHOP = os.path.join(HERE, "..", "languages", "shop.js")
PATHS = ("/price", "/parse", "/check", "/sort")
LETTERS = "smoc"
REQUESTS = 58
WARM = 12
ENOUGH = 0.9


class Shop:
    def __init__(self, node):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process = start([node, SHOP, str(self.port)], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def do(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path)
        connection.getresponse().read()
        connection.close()

    def end(self):
        end(self.process)
        self.process.stdout.close()


def serve(server, handlers):
    """The trace, and the moments of each handler."""
    moments = collections.defaultdict(list)
    try:
        for nr in range(WARM):
            server.do(handlers[nr % len(handlers)])
        with Trace(server.pid) as trace:
            time.sleep(1)
            for nr in range(REQUESTS):
                with Moment() as moment:
                    server.do(handlers[nr % len(handlers)])
                moments[handlers[nr % len(handlers)]].append(moment)
                time.sleep(0.02)
    finally:
        server.end()
    return trace, moments


def check(tap, what, server, handlers):
    """Only of blocks in which the handler had the CPU: who waits for one, or for a collector's threads, has another
    fault."""
    trace, moments = serve(server, handlers)
    faults = {}
    for handler, each in moments.items():
        blocks = [block for moment in each if (block := moment.block(trace.blocks)) and blamed(block) == "cpu"]
        found = collections.Counter((b["cause"]["signature"], (b["cause"].get("frame") or {}).get("function")) for b in blocks)
        signatures = collections.Counter(b["cause"]["signature"] for b in blocks)
        most = signatures.most_common(1)[0] if blocks else (None, 0)
        faults[most[0]] = handler
        tap.check(most[1] >= ENOUGH * len(blocks) > 0, f"{what}: {most[1]} of {len(blocks)} blocks of {handler} are one fault",
                  dict(found))
    tap.check(len(faults) == len(handlers), f"{what}: each of {len(handlers)} handlers has its own fault", faults)
    tap.note(f"{what}: {len(trace.blocks)} blocks, {len({b['cause']['signature'] for b in trace.blocks})} faults")


def main():
    need("node", "java", "javac")
    tap = Tap()
    check(tap, "node", Shop(os.environ.get("NODE", "node")), PATHS)
    with tempfile.TemporaryDirectory(prefix="jank-faults-", dir="/var/tmp") as folder:
        compile_program(folder, "Names.java")
        check(tap, "java", Server(folder, "shop.Names"), LETTERS)
    tap.end()


if __name__ == "__main__":
    main()
