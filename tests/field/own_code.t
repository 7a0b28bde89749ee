#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program's own code is blamed before a library's, though it has no name and the library has: a
stripped program of libevent, with a library of its own; openvpn and transmission-daemon of Debian.
"""
import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from field import Field, SHORT  # noqa: E402
from live import Trace, end, headline, need, start, wait_for  # noqa: E402
from real import free_port  # noqa: E402

TIMES = 8 if SHORT else 20


def compile_package(folder):
    """The program and its library, stripped, in a tree of their own; returns the program's path."""
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "lib"))
    program, library = os.path.join(folder, "bin", "handler"), os.path.join(folder, "lib", "libpackage.so")
    source = os.path.join(HERE, "own_code")
    subprocess.run(["cc", "-O2", "-s", "-fPIC", "-shared", "-o", library, os.path.join(source, "package.c"), "-lz"], check=True)
    subprocess.run(["cc", "-O2", "-s", "-o", program, os.path.join(source, "handler.c"), library, "-levent", "-lz",
                    "-Wl,-rpath,$ORIGIN/../lib"], check=True)
    return program


def module_of(block):
    """Of the largest cause that is the program's own: a busy machine keeps a thread off the CPU anywhere."""
    parts = [part for part in block["cause"]["parts"] if part["kind"] != "runnable" and part.get("frame")]
    return os.path.basename(parts[0]["frame"].get("module", "-")) if parts else "-"


def judge(field, text, blocks, module):
    """All blocks blame this module, but for those that only waited for a CPU."""
    blocks = [b for b in blocks if module_of(b) != "-"]
    right = [b for b in blocks if module_of(b) == module]
    wrong = [headline(b) + " | " + b["cause"].get("summary", "") for b in blocks if module_of(b) != module]
    field.cases(f"{text}: {module} is blamed", len(right), len(blocks), share=0.95, details=wrong[:5])


def libevent(field, folder):
    program = compile_package(folder)
    ours, theirs = socket.socketpair()
    process = start([program], stdin=theirs)
    theirs.close()
    for command, module, text in ((b"c", "handler", "a handler that calls zlib"),
                                  (b"s", "handler", "a handler that sleeps in libevent"),
                                  (b"l", "libpackage.so", "a library of the package that calls zlib")):
        with Trace(process.pid, threshold="15ms") as trace:
            for _ in range(TIMES):
                ours.send(command)
                time.sleep(0.3)
        judge(field, f"a stripped program of libevent, {text}", trace.blocks, module)
    ours.close()
    end(process)


def make_keys(folder):
    """A certificate authority and two certificates with keys so long that checking them takes a while."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    bits = "4096"
    openssl("req", "-x509", "-newkey", f"rsa:{bits}", "-nodes", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
    for name in ("server", "client"):
        openssl("req", "-newkey", f"rsa:{bits}", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt")


def openvpn(field, folder):
    if SHORT:
        field.skip("openvpn", "its loop is known after half a minute")
        return
    make_keys(folder)
    port = free_port()
    both = ["openvpn", "--cd", folder, "--dev", "null", "--ca", "ca.crt", "--reneg-sec", "3", "0", "--proto", "udp",
            "--ifconfig-noexec", "--verb", "1", "--auth-nocache"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = start([*both, "--tls-server", "--dh", "none", "--cert", "server.crt", "--key", "server.key", "--lport",
                    str(port), "--local", "127.0.0.1"], **quiet)
    trace = Trace(server.pid, threshold="2ms")
    client = start([*both, "--tls-client", "--cert", "client.crt", "--key", "client.key", "--remote", "127.0.0.1", str(port),
                    "--nobind"], **quiet)
    try:
        time.sleep(60)
    finally:
        trace.stop()
        end(client)
        end(server)
    told = [entry["reason"] for entry in trace.summary["not_watched"] if entry["pid"] == server.pid]
    if told and not trace.blocks:
        field.skip("openvpn", f"its loop was not known within a minute, and the run says so: {told[0]}")
        return
    judge(field, "openvpn checks certificates in libcrypto", trace.blocks, "openvpn")


def torrent(number):
    """A torrent of many pieces, which takes a while to parse."""
    pieces = os.urandom(20) * 200000
    name = f"file{number}".encode()
    return (b"d8:announce18:http://127.0.0.1:14:infod6:lengthi" + str(200000 * 16384).encode() + b"e4:name"
            + str(len(name)).encode() + b":" + name + b"12:piece lengthi16384e6:pieces" + str(len(pieces)).encode()
            + b":" + pieces + b"ee")


class Daemon:
    """transmission-daemon, with its RPC on a free port."""

    def __init__(self, folder):
        self.port, self.session = free_port(), ""
        self.process = start(["transmission-daemon", "-f", "-g", os.path.join(folder, "config"), "-w", folder, "-p", str(self.port),
                              "-T", "--no-portmap", "--no-dht", "--no-lpd", "-M", "--paused", "-P", str(free_port()),
                              "-a", "127.0.0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self._is_there, what="transmission-daemon's RPC")

    def _is_there(self):
        try:
            self.ask("session-get", {})
            return True
        except OSError:
            return False

    def ask(self, method, arguments):
        body = json.dumps({"method": method, "arguments": arguments}).encode()
        for _ in range(2):
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/transmission/rpc", body,
                                             {"X-Transmission-Session-Id": self.session})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                self.session = error.headers.get("X-Transmission-Session-Id", "")
        return None


def transmission(field, folder):
    daemon = Daemon(folder)
    try:
        with Trace(daemon.process.pid, threshold="10ms") as trace:
            for number in range(TIMES):
                daemon.ask("torrent-add", {"metainfo": base64.b64encode(torrent(number)).decode(), "paused": True})
    finally:
        end(daemon.process)
    judge(field, "transmission-daemon adds torrents", trace.blocks, "transmission-daemon")


def main():
    need("cc")
    field = Field("own code before a library's")
    field.programs((libevent, None), (openvpn, "openvpn"), (transmission, "transmission-daemon"))
    field.done()


main()
