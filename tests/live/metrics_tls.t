#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The metrics of jankbpf agent with TLS and a password: clients that may read them and those that may not, idle and hostile
ones, wrong files, and a server that is killed. It traces only a cgroup of its own."""
import base64
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, free_port
from bad import ok
from certificate import Certificate
from exposition import Exposition
from group import Group

PASSWORD = "not 4 logs: \\ \" ä"
# What the server has for each connection, idle or not, is small.
GROWTH_MAX_KB = 4096


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


GOOD = basic("prometheus", PASSWORD)


class Scrape:
    def __init__(self, port, certificate, authorization=GOOD, path="/metrics", method="GET"):
        context = ssl.create_default_context(cafile=certificate.path)
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        connection.request(method, path, headers={"Authorization": authorization} if authorization else {})
        answer = connection.getresponse()
        self.status, self.challenge, self.text = answer.status, answer.getheader("WWW-Authenticate"), answer.read().decode()
        self.version = connection.sock.version() if connection.sock else None
        connection.close()


def write(name, text, mode=0o600):
    path = bad.scratch(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def refused(what, expected, *options):
    result = bad.trace("agent", "--check-config", "-a", *options)
    ok(result.status == 2 and expected in result.err and not result.out, what, result)


def test_files(certificate):
    both = ("--metrics-cert-file", certificate.path, "--metrics-key-file")
    other, text = Certificate("other"), write("text", "no PEM\n")
    locked = bad.scratch("locked.pem")
    subprocess.run(["openssl", "rsa", "-in", certificate.key, "-aes128", "-passout", "pass:xyzw", "-out", locked], check=True,
                   capture_output=True)
    os.chmod(locked, 0o600)
    done = bad.trace("agent", "--check-config", "-a", *both, certificate.key)
    ok(not done.status and f"key-file = {certificate.key}\n" in done.out, "a certificate and its key: the configuration is valid", done)
    ok("PRIVATE" not in done.out + done.err, "the key is not printed")
    refused("another key", "not the key of the first certificate", *both, other.key)
    refused("a key that is none", "no private key in PEM form", *both, text)
    refused("a key with a passphrase", "no private key in PEM form, or one with a passphrase", *both, locked)
    refused("a certificate that is none", "no certificate in PEM form", "--metrics-cert-file", text, "--metrics-key-file", certificate.key)
    refused("no key", "needs both", *both[:2])
    refused("no file", "cannot read it: No such file", *both, bad.scratch("absent"))
    refused("an endless file", "not a file", *both, "/dev/zero")
    refused("a key that all can read", "every user can read it: chmod 600", *both, write("open.pem", "x", 0o644))
    refused("a large file", "it is too long", *both, write("large", "x" * (1 << 20)))
    refused("an empty file", "it is empty or binary", *both, write("empty", ""))
    user = ("--metrics-user", "prometheus", "--metrics-password-file")
    refused("a user without a password", "needs a password", *user[:2])
    refused("a password that all can read", "every user can read it", *user, write("open", "x", 0o644))
    refused("a password of control bytes", "empty or has control bytes", *user, write("control", "a\033b\n"))
    refused("a user with a colon", "a user has no colon", "--metrics-user", "a:b", *user[2:], text)
    refused("a password in clear text for the network", "would cross the network in clear text", *user, text, "--metrics-listen", "0.0.0.0:9435")
    old = Certificate("old", expired=True)
    warned = bad.trace("agent", "--check-config", "-a", "--metrics-cert-file", old.path, "--metrics-key-file", old.key)
    ok(not warned.status and "has expired" in warned.err, "a certificate that has expired is said", warned)


def check_clients(port, certificate):
    scrape = Scrape(port, certificate)
    ok(scrape.status == 200 and Exposition(scrape.text).of("jankbpf_build_info") == 1, "a client with the password reads the metrics")
    ok(scrape.version == "TLSv1.3", "by TLS 1.3", scrape.version)
    without = Scrape(port, certificate, None)
    ok(without.status == 401 and without.challenge.startswith("Basic realm=") and "jankbpf_" not in without.text,
       "without a password: 401, and how to give it", (without.status, without.challenge))
    wrong = [basic("prometheus", "wrong"), basic("other", PASSWORD), basic("prometheus", PASSWORD[:-1]), basic("prometheus", PASSWORD + "x"),
             basic("", ""), basic("prometheus", ""), "Basic", "Basic !", "Basic " + "A" * 20000, "Bearer x", GOOD[:-4]]
    answers = [Scrape(port, certificate, one).status for one in wrong]
    ok(all(status == 401 for status in answers), "with a wrong one as well", answers)
    ok(Scrape(port, certificate, None, "/other").status == 401 and Scrape(port, certificate, GOOD, "/other").status == 404,
       "another path: 401, and 404 with the password")
    ok(Scrape(port, certificate, GOOD, method="HEAD").status == 200, "HEAD is answered")
    try:
        Scrape(port, Certificate("stranger"))
        ok(False, "a client that trusts another certificate does not talk to it")
    except ssl.SSLCertVerificationError as error:
        ok(True, "a client that trusts another certificate does not talk to it", error)


def plain(port):
    """What a client without TLS gets: nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        try:
            sock.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: {GOOD}\r\n\r\n".encode())
            return sock.recv(4096)
        except ConnectionError:
            return b""


def check_hostile(agent, port, certificate, pid):
    ok(b"HTTP/" not in plain(port) and Scrape(port, certificate).status == 200, "plain HTTP gets no answer, and it still serves")
    before, context = bad.rss_kb(pid), ssl.create_default_context(cafile=certificate.path)
    idle = []
    for i in range(20):  # more than it takes at once
        sock = socket.create_connection(("localhost", port), timeout=2)
        idle.append(sock)
        if i < 6:
            idle.append(context.wrap_socket(sock, server_hostname="localhost"))
    begin = time.monotonic()
    status = status_or_none(port, certificate)
    took = time.monotonic() - begin
    ok(status == 200 and took < 8, "20 idle connections, some after their handshake: it answers before one has used up its 10 s", (status, took))
    ok(bad.rss_kb(pid) - before < GROWTH_MAX_KB, "and does not grow", (before, bad.rss_kb(pid)))
    for sock in idle:
        sock.close()
    ok(agent.process.poll() is None and not agent.said("it is started again"), "nothing has ended")


def drip(sock):
    """A request that never ends."""
    try:
        for byte in b"GET /metrics HTTP/1.1\r\nX-Slow: " + b"x" * 1000:
            sock.sendall(bytes([byte]))
            time.sleep(0.5)
    except OSError:
        pass


def check_slow(port, certificate):
    context, slow = ssl.create_default_context(cafile=certificate.path), []
    for _ in range(8):  # as many as it takes
        sock = context.wrap_socket(socket.create_connection(("localhost", port), timeout=20), server_hostname="localhost")
        slow.append(sock)
        threading.Thread(target=drip, args=(sock,), daemon=True).start()
    begin = time.monotonic()
    answered = bad.wait_for(lambda: status_or_none(port, certificate) == 200, 60)
    took = time.monotonic() - begin
    ok(answered and took < 8, f"8 connections that send two bytes a second make room: a scrape waits {took:.1f} s")
    for sock in slow:
        sock.close()


def status_or_none(port, certificate):
    try:
        return Scrape(port, certificate).status
    except OSError:
        return None


def server_pid(agent):
    return [pid for pid in bad.own_pids(agent.pid) if bad.status_of(pid)["Name"].startswith("jankbpf-deliv")][0]


def check_restart(agent, port, certificate):
    """The next process gets its certificate from the tracer, not from a file."""
    bad.check_powerless(bad.status_of(server_pid(agent)), "the server", True)
    for path in (certificate.path, certificate.key):
        os.rename(path, path + ".away")
    os.kill(server_pid(agent), signal.SIGKILL)
    ok(bad.wait_for(lambda: agent.said("it is started again")), "the server is killed and started again")
    os.rename(certificate.path + ".away", certificate.path)
    ok(bad.wait_for(lambda: status_or_none(port, certificate) == 200), "and answers as before, without its files")
    os.rename(certificate.key + ".away", certificate.key)


def check_reload(agent, config, other):
    config["metrics"].update({"cert-file": other.path, "key-file": other.key, "user": "someone"})
    agent.configure(config)
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("reload: done") or agent.said("user cannot change")), "SIGHUP")
    for key in ("cert-file", "key-file", "user"):
        ok(bad.wait_for(lambda k=key: agent.said(f"reload: [metrics] {k} cannot change in a run: restart the agent")), f"{key} needs a restart",
           agent.tracer.stderr())


def check_secrets(agent, journal):
    """They are in no file, no message, and no command line or environment of a process."""
    seen = [agent.tracer.stderr().encode()]
    for pid in [agent.pid, *bad.own_pids(agent.pid)]:
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                seen.append(file.read())
    for directory in (agent.dir, os.path.dirname(journal)):
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.isfile(path) and not name.endswith((".pem", ".password")):
                with open(path, "rb") as file:
                    seen.append(file.read())
    ok(not any(PASSWORD.encode() in text or b"PRIVATE KEY" in text for text in seen), "the secrets are in nothing that it wrote")


def main():
    if not shutil.which("openssl"):
        bad.skip_all("no openssl: make deps")
    if "listen = off" in bad.trace("agent", "--check-config", "-a").out:
        bad.skip_all("this build has no libmicrohttpd")
    certificate = Certificate("server")
    test_files(certificate)
    bad.need_tracing()
    group = Group("jankbpf-metrics-tls-test")
    process = group.start(bad.SIMJANK, "--quiet", "--scenario", "busy:30ms,sleep:40ms", "--count", "100000")
    bad.STARTED.append(process)
    port, journal = free_port(), bad.scratch("run.jnl")
    config = {"block": {"threshold": "15ms"}, "store": {"interval": "200ms", "journal": journal},
              "metrics": {"listen": f"127.0.0.1:{port}", "cert-file": certificate.path, "key-file": certificate.key,
                          "user": "prometheus", "password-file": write("a.password", PASSWORD + "\n")}}
    agent = Agent("tls", group, config)
    ok(bad.wait_for(lambda: agent.records("interval")), "an agent with TLS and a password runs", agent.tracer.stderr())
    check_clients(port, certificate)
    check_hostile(agent, port, certificate, server_pid(agent))
    check_slow(port, certificate)
    check_restart(agent, port, certificate)
    check_reload(agent, config, Certificate("renewed"))
    check_secrets(agent, journal)
    agent.tracer.stop(signal.SIGTERM)
    bad.end(process)
    group.remove()
    bad.done()


main()
