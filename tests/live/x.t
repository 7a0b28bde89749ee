#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A handler waits for an X server that is stopped, or that another client has grabbed."""
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

PROGRAM = os.path.join(bad.ROOT, "tests", "live", "programs", "x_client.py")


def start_server():
    """The server, and the path of its socket."""
    server = bad.start(["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-ac"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return server, f"/tmp/.X11-unix/X{server.stdout.readline().strip()}"


def start(what, path):
    client = bad.start([sys.executable, PROGRAM, what, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdout.readline()
    return client


def tell(client):
    client.stdin.write("\n")
    client.stdin.flush()


def links(record):
    return [(link.get("pid"), link.get("state")) for link in record.get("chain", [])]


def trace(client, give):
    """The hang and the block of a request that lasts until give()."""
    tracer = bad.Tracer("--json", "-t", "200ms", "--hang", "500ms", "-p", client.pid)
    tell(client)
    bad.wait_for(lambda: b'"type":"hang"' in tracer.stdout(), 20)
    give()
    bad.wait_for(lambda: b'"type":"block"' in tracer.stdout(), 20)
    result = tracer.stop()
    bad.valid(result, "valid records")
    return next(iter(result.of("hang")), {}), next(iter(result.blocks()), {}), result


def test_stopped(server, path):
    client = start("loop", path)
    server.send_signal(signal.SIGSTOP)
    hang, _, result = trace(client, lambda: server.send_signal(signal.SIGCONT))
    ok(links(hang) == [(server.pid, "stopped")], "a hang shows the server, which is stopped", result)
    ok(f"(Xvfb, pid {server.pid})" in hang.get("cause", {}).get("summary", ""), "in words, too", result)
    bad.end(client)


def test_grabbed(server, path):
    """A block may lack its wake-up, which is then counted as lost: up to three rounds."""
    for _ in range(3):
        client, rival = start("loop", path), start("grab", path)
        tell(rival)
        rival.stdout.readline()
        hang, block, result = trace(client, lambda rival=rival: tell(rival))
        bad.end(client, rival)
        ok(links(hang)[:2] == [(server.pid, "poll"), (rival.pid, "pipe")], "a hang shows the server, which waits for the client that has grabbed it",
           result)
        if links(block) or not result.summary()["lost"].get("wakeup_missed"):
            break
    ok([pid for pid, _ in links(block)][:2] == [server.pid, rival.pid], "the block shows the client that had grabbed it",
       [block.get("cause"), links(block), result.err])


bad.need_tracing()
if not shutil.which("Xvfb"):
    bad.skip("an X server", "not installed: xvfb")
else:
    x_server, socket_path = start_server()
    test_stopped(x_server, socket_path)
    test_grabbed(x_server, socket_path)
    bad.end(x_server)
bad.done()
