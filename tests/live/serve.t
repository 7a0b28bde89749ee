#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`jankbpf serve` beside a trace that writes: live events, unread marks, deletion, shares, hostile requests, users."""
import glob
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import JANKBPF, ROOT, Tap, end, need, skip_all, start  # noqa: E402
from serve import WAIT_S, Events, Serve, find_logs, find_records, until  # noqa: E402

NOBODY = 65534
RSS_MAX_KB = 150 << 10
SIG = "0898dbe8ce74cc0b"


def can_serve():
    done = subprocess.run([JANKBPF, "serve", "/nonexistent"], capture_output=True, text=True, check=False)
    return "libmicrohttpd" not in done.stderr


class Check:
    def __init__(self, folder):
        self.tap, self.folder = Tap(), folder
        self.dir = os.path.join(folder, "kept")

    # --- beside a trace

    def live(self):
        os.mkdir(self.dir, 0o700)
        serve = Serve([JANKBPF], self.dir)
        events = Events(serve)
        state = events.wait(lambda one: True)
        self.tap.check(state and state["blocks"] == 0 and not state["gone"], "an empty directory is waited for", state)
        simjank = start([os.path.join(ROOT, "simjank"), "--quiet", "--scenario", "busy:60ms,sleep:60ms", "--duration", "300s"])
        trace = subprocess.Popen([JANKBPF, "-q", "-t", "25ms", "-o", self.dir, "-p", str(simjank.pid)], stdout=subprocess.DEVNULL)
        try:
            state = events.wait(lambda one: one["blocks"] >= 8)
            self.tap.check(state and state["unread"] == state["blocks"], "blocks of a running trace are events, and unread", state,
                           events.states[-1:])
            self.marks(serve, events)
            self.delete_one(serve)
            self.share(serve)
            self.mute(serve, events)
            self.delete_all(serve, events)
        finally:
            trace.terminate()
            self.tap.check(trace.wait() == 0, "the trace ended well")
            end(simjank)
        summary = events.wait(lambda one: find_records(self.dir, "summary"))
        lost = find_records(self.dir, "summary")[-1].get("lost", {}) if summary else None
        self.tap.check(lost is not None and "sink_failed" not in lost and "records_unwritten" not in lost,
                       "and lost no record to the deletions", lost)
        self.check_files("after the trace", serve)
        status, said = serve.stop()
        self.tap.check(status == 0 and until(lambda: events.ended), "SIGTERM ends it, and its streams", status, said)

    def check_files(self, what, serve):
        """The files, the logs and the index agree."""
        known = {one for _, one, _ in serve.blocks()}
        kept = {record["id"] for record in find_records(self.dir)}
        logged = set()
        for name in find_logs(self.dir):
            with open(os.path.join(self.dir, name), encoding="utf-8") as file:
                logged.add(next(line.split(" = ")[1].strip() for line in file if line.startswith("x-id = ")))
        self.tap.check(kept == logged and kept <= known | {record["id"] for record in find_records(self.dir)},
                       f"{what}: each record has its log, each log its record", kept ^ logged)

    def marks(self, serve, events):
        seq, block, read = serve.blocks()[0]
        self.tap.check(not read and serve.post(f"/read?seq={seq}") == 200, "a block is marked as read")
        self.tap.check((seq, block, True) in serve.blocks(), "and the mark is known")
        path = os.path.join(self.dir, "serve.marks")
        self.tap.check(until(lambda: os.path.exists(path) and "read " in open(path, encoding="ascii").read()),
                       "and kept in the directory")
        serve.post(f"/read?upto={events.states[-1]['next'] - 1}")
        self.tap.check(events.wait(lambda one: one["unread"] < one["blocks"] - 3), "all are marked as read", events.states[-1:])
        other = Serve([JANKBPF], self.dir)
        self.tap.check((seq, block, True) in other.blocks(), "another server knows it")
        other.stop()

    def delete_one(self, serve):
        for seq, block, _ in serve.blocks()[:3]:
            status = serve.post(f"/delete?seq={seq}")
            self.tap.check(status == 200 and block not in {record["id"] for record in find_records(self.dir)},
                           "a block is deleted from the records while a trace appends", status)
            self.tap.check(not any(block in open(path, encoding="utf-8").read() for path in glob.glob(self.dir + "/looper-*")),
                           "with its log")
            self.tap.check(block not in {one for _, one, _ in serve.blocks()} and serve.post(f"/delete?seq={seq}") == 404,
                           "and it is gone")
        before = len(find_records(self.dir))
        self.tap.check(until(lambda: len(find_records(self.dir)) > before + 1), "the trace goes on in the same directory")

    def share(self, serve):
        seq, block, _ = serve.blocks()[-1]
        status, headers, body = serve.ask(f"/share?seq={seq}&as=json")
        self.tap.check(status == 200 and json.loads(body) in find_records(self.dir) and "attachment" in headers["Content-Disposition"],
                       "a block is shared as its record", headers)
        _, _, log = serve.ask(f"/share?seq={seq}&as=log")
        # The trace writes a log after its record.
        self.tap.check(until(lambda: log in [open(path, "rb").read() for path in glob.glob(self.dir + "/looper-*.log")]),
                       "as its log, the same as in the directory", *self.log_difference(log))
        status, _, zipped = serve.ask(f"/share?seq={seq}&as=zip")
        if status == 501:
            self.tap.skip("a zip of both", "no libarchive")
            return
        with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
            parts = [archive.read(name) for name in archive.namelist()]
            self.tap.check(archive.testzip() is None and parts == [body, log], "and as a zip of both", archive.namelist())
        self.tap.check(serve.ask(f"/share?seq={seq}&as=exe")[0] == 400 and serve.ask("/share?seq=999999&as=json")[0] == 404,
                       "anything else is refused")

    def log_difference(self, log):
        """Lines of the log of the same block that differ."""
        line = next((one for one in log.split(b"\r\n") if one.startswith(b"x-id = ")), b"?")
        for path in glob.glob(self.dir + "/looper-*.log"):
            with open(path, "rb") as file:
                text = file.read()
            if line in text:
                return [pair for pair in zip(log.split(b"\r\n"), text.split(b"\r\n")) if pair[0] != pair[1]][:5]
        return ["no log of", line]

    def mute(self, serve, events):
        sig = find_records(self.dir)[-1]["cause"]["signature"]
        self.tap.check(serve.post(f"/mute?sig={sig}&on=1") == 200, "a fault is muted")
        state = events.wait(lambda one: one["muted"] and one["muted"][0]["blocks"])
        self.tap.check(state and state["muted"][0]["signature"] == sig and state["hidden"] > 0, "its blocks are counted as hidden", state)
        serve.post(f"/mute?sig={sig}&on=0")
        self.tap.check(events.wait(lambda one: not one["muted"] and not one["hidden"]), "muting is undone")
        self.tap.check([serve.post(f"/mute?sig={bad}&on=1") for bad in ("", "xyz", "%3Cb%3E", "a" * 65)] == [400] * 4,
                       "what is no signature is refused")

    def delete_all(self, serve, events):
        before = {record["id"] for record in find_records(self.dir)}
        status = serve.post(f"/delete?upto={events.states[-1]['next'] - 1}")
        left = {record["id"] for record in find_records(self.dir)}
        self.tap.check(status == 200 and len(left & before) < len(before) / 2, "all are deleted", status, len(before), len(left & before))
        self.tap.check(until(lambda: len(find_records(self.dir)) >= 3), "the trace goes on")

    # --- the directory

    def rotation(self):
        os.rename(self.dir + "/blocks.jsonl", self.folder + "/all.jsonl")
        with open(self.folder + "/all.jsonl", encoding="utf-8") as file:
            line = next(text for text in file if '"type":"block"' in text[:20])
        serve = Serve([JANKBPF], self.dir)
        events = Events(serve)
        path = self.dir + "/blocks.jsonl"
        for name in ("a", "b"):
            self.append(path, self.renamed(line, name))
        self.tap.check(events.wait(lambda one: one["blocks"] == 2), "a file that appears is read", events.states[-1:])
        os.rename(path, self.dir + "/blocks.1.jsonl")
        self.append(path, self.renamed(line, "c"))
        self.tap.check(events.wait(lambda one: one["blocks"] == 3), "a rotation keeps all", events.states[-1:])
        os.rename(path, self.dir + "/blocks.1.jsonl")
        self.append(path, self.renamed(line, "d"))
        self.tap.check(events.wait(lambda one: one["blocks"] == 2), "the next one drops the oldest", events.states[-1:])
        self.append(path, "nonsense\n" + self.renamed(line, "e") + '{"type":"block"')
        state = events.wait(lambda one: one["blocks"] == 3 and one.get("odd"))
        self.tap.check(state and "blocks.jsonl: no record of jankbpf at byte" in state["damage"], "damage is reported with its place",
                       events.states[-1:])
        shutil.rmtree(self.dir)
        self.tap.check(events.wait(lambda one: one["gone"] and not one["blocks"]), "a removed directory is waited for", events.states[-1:])
        os.mkdir(self.dir, 0o700)
        self.append(path, self.renamed(line, "f"))
        self.tap.check(events.wait(lambda one: not one["gone"] and one["blocks"] == 1), "and found when it is made again",
                       events.states[-1:])
        self.tap.check([one for _, one, _ in serve.blocks()] == ["f"], "with its blocks")
        serve.stop()

    @staticmethod
    def renamed(line, name):
        return json.dumps({**json.loads(line), "id": name}, separators=(",", ":")) + "\n"

    @staticmethod
    def append(path, text):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)

    def polling(self):
        """Without inotify, as on some file systems and beyond its limits."""
        library = f"{self.folder}/none.so"
        source = "#include <errno.h>\nint inotify_init1(int flags) { errno = EMFILE; return -1; }\n"
        done = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-"], input=source, text=True, capture_output=True, check=False)
        if done.returncode:
            self.tap.skip("without inotify", "no compiler")
            return
        serve = Serve([JANKBPF], self.dir, env={**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "verify_asan_link_order=0"})
        events = Events(serve)
        with open(self.dir + "/blocks.jsonl", encoding="utf-8") as file:
            line = file.readline()
        before = events.wait(lambda one: one["blocks"])["blocks"]
        self.append(self.dir + "/blocks.jsonl", self.renamed(line, "g"))
        self.tap.check(events.wait(lambda one: one["blocks"] == before + 1), "without inotify a new block is found", events.states[-1:])
        serve.post(f"/delete?seq={events.states[-1]['next'] - 1}")
        serve.stop()

    # --- requests that are not ours

    def hostile(self):
        serve = Serve([JANKBPF], self.dir)
        seq = serve.blocks()[-1][0]
        self.tap.check(serve.url == f"http://127.0.0.1:{serve.port}/#token={serve.token}" and len(serve.token) == 32,
                       "the token is in the part of the address that no browser sends", serve.url)
        status, headers, body = serve.ask("/", own=False)
        self.tap.check(status == 200 and "default-src 'none'" in headers["Content-Security-Policy"] and b"jankbpf" in body
                       and "frame-ancestors 'none'" in headers["Content-Security-Policy"]
                       and headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
                       and headers["Cache-Control"] == "no-store", "the page has a strict policy", headers)
        self.tap.check("Set-Cookie" not in headers and serve.token.encode() not in body and self.dir.encode() not in body,
                       "it has no secret, and no data", headers)
        cookies = "; ".join(f"{name}={serve.token}" for name in ("token", f"jankbpf-{serve.port}", "X-Jankbpf-Token"))
        for path in ("/data", "/events", f"/share?seq={seq}&as=json", "/nothing", f"/data?token={serve.token}"):
            answers = [serve.ask(path, own=False, **how) for how in (
                {}, {"Cookie": cookies}, {"X_Jankbpf_Token": "0" * 32}, {"X_Jankbpf_Token": serve.token + "0"}, {"X_Jankbpf_Token": ""},
                {"Authorization": "Bearer " + serve.token})]
            self.tap.check(all(status == 403 and b"token" in said for status, _, said in answers), f"{path}: 403 without the token in its header",
                           answers)
            refused = [serve.ask(path, **how)[0] for how in ({"Sec_Fetch_Site": "same-site"}, {"Origin": f"http://127.0.0.1:{serve.port + 1}"})]
            self.tap.check(refused == [403] * 2, f"{path}: 403 for other sites", refused)
        for path in (f"/delete?seq={seq}", "/read?upto=99", f"/mute?sig={SIG}&on=1"):
            self.tap.check(serve.ask(path, "POST", own=False, Cookie=cookies)[0] == 403, f"POST {path}: likewise")
            refused = [serve.ask(path, "POST", **how)[0] for how in (
                {"own": False}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
                {"Sec_Fetch_Site": "same-site"}, {"Origin": f"http://127.0.0.1:{serve.port + 1}"})]
            self.tap.check(refused == [403] * 6, f"POST {path}: 403 for other sites", refused)
            self.tap.check(serve.ask(path)[0] == 404, f"GET {path}: changes nothing")
        hosts = [serve.ask("/", Host=host)[0] for host in ("evil.example", f"evil.example:{serve.port}", "127.0.0.1.evil.example", "")]
        self.tap.check(hosts == [403] * 4, "another Host is refused (DNS rebinding)", hosts)
        paths = ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%00", "//data", "/data/", "/DATA", "/blocks.jsonl", "/serve.marks",
                 "/da%74a", "/share/../data", "/?x=/..", "/data?before=x", "/data?before=1&after=1", "/data?after=-1", "/share?seq=%31"]
        answers = {path: serve.ask(path)[0] for path in paths}
        self.tap.check(all(status in (400, 403, 404) for path, status in answers.items() if path != "/?x=/.."), "other paths are errors",
                       answers)
        methods = [serve.ask("/", method)[0] for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "NONSENSE")]
        self.tap.check(methods == [405] * 6, "other methods are refused", methods)
        self.tap.check(len(serve.blocks()) == 1, "and nothing has changed")
        self.raw(serve)
        self.idle(serve)
        self.crowd(serve)
        status, _ = serve.stop()
        self.tap.check(status == 0, "the server has survived all this", status)

    @staticmethod
    def send(serve, data, size=65536):
        """The status of what comes back, 0 for a closed connection."""
        with socket.create_connection((serve.host, serve.port), timeout=30) as sock:
            try:
                sock.sendall(data)
                answer = sock.recv(size)
            except OSError:
                return 0
        return int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 0

    def raw(self, serve):
        head = f"Host: 127.0.0.1\r\nX-Jankbpf-Token: {serve.token}\r\n".encode()
        cases = {
            "a body": b"POST /read?upto=1 HTTP/1.1\r\n" + head + b"Content-Length: 5\r\n\r\nhello",
            "a body without an end": b"POST /read?upto=1 HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "a body of exabytes": b"POST /read?upto=1 HTTP/1.1\r\n" + head + b"Content-Length: 9223372036854775807\r\n\r\n",
            "a long address": b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + head + b"\r\n",
            "long headers": b"GET / HTTP/1.1\r\n" + head + b"X-A: " + b"a" * (1 << 20) + b"\r\n\r\n",
            "many headers": b"GET / HTTP/1.1\r\n" + head + b"".join(b"X-%d: a\r\n" % i for i in range(100000)) + b"\r\n",
            # libmicrohttpd ends the path there.
            "a NUL": b"GET /nothing\0/../data HTTP/1.1\r\n" + head + b"\r\n",
            "no version": b"GET /\r\n\r\n",
            "noise": bytes(range(256)) * 100,
            "TLS": bytes.fromhex("16030100") + b"a" * 200 + b"\r\n\r\n",
        }
        for what, data in cases.items():
            status = self.send(serve, data)
            self.tap.check(status == 0 or 400 <= status < 600, f"{what}: an error", status)
        self.tap.check(serve.ask("/")[0] == 200 and not any(read for _, _, read in serve.blocks()), "then it answers as before")

    def idle(self, serve):
        """More connections than it takes, without a request, as any local user may make them: the oldest of them make room."""
        events = Events(serve)
        sockets = [socket.create_connection((serve.host, serve.port), timeout=WAIT_S) for _ in range(200)]
        begin = time.monotonic()
        answers = [serve.ask("/data")[0] for _ in range(5)]
        took = time.monotonic() - begin
        self.tap.check(answers == [200] * 5 and took < 10, "200 idle connections: it answers before one of them has used up its 20 s", answers, took)
        self.tap.check(events.wait(lambda one: True) and not events.ended, "and ends no stream of one who has the token")
        events.close()
        for sock in sockets:
            sock.close()

    def crowd(self, serve):
        """Many connections, some of which never send a whole request, and readers who do not read."""
        idle = []
        for i in range(300):
            sock = socket.socket()
            sock.settimeout(0.05)
            try:
                sock.connect((serve.host, serve.port))
                sock.send(b"GET / HTTP/1.1\r\nX: " if i % 2 else f"GET /data HTTP/1.1\r\nHost: localhost\r\nX-Jankbpf-Token: {serve.token}\r\n\r\n".encode())
            except OSError:
                pass
            idle.append(sock)
        self.tap.check(serve.rss_kb() < RSS_MAX_KB, "300 connections cost little memory", serve.rss_kb())
        for sock in idle:
            sock.close()
        self.tap.check(until(lambda: serve.ask("/")[0] == 200), "afterwards it answers")

    # --- a client that never ends its request

    def dribble(self):
        """Bytes come often enough for any limit between two of them. Returns what waits for the end."""
        serve = Serve([JANKBPF], self.dir)
        sock = socket.create_connection((serve.host, serve.port), timeout=0.2)
        sock.sendall(b"GET / HTTP/1.1\r\nX: ")
        sent = []

        def is_ended():
            try:
                sock.sendall(b"a")
                sent.append(1)
                return not sock.recv(1)
            except socket.timeout:
                return False
            except OSError:
                return True

        def finish():
            self.tap.check(until(is_ended, 60), "a request that never ends is ended by the server", len(sent))
            sock.close()
            serve.stop()

        return finish

    # --- where and who

    def refused(self):
        for name in ("other", "empty"):
            os.mkdir(f"{self.folder}/{name}", 0o700)
        open(f"{self.folder}/other/file", "w", encoding="ascii").close()
        open(f"{self.folder}/file", "w", encoding="ascii").close()
        taken = Serve([JANKBPF], self.dir)
        for words, status, part in (
                (["/nonexistent"], 1, "No such file"), ([f"{self.folder}/file"], 1, "not a directory"),
                ([f"{self.folder}/other"], 1, "no blocks.jsonl or blocks.pb"), (["/etc"], 1, "give the DIR of -o"),
                (["--listen", f"127.0.0.1:{taken.port}", self.dir], 1, "in use"), (["--listen", "0.0.0.0:7390", self.dir], 2, "only loopback"),
                (["--listen", "example.org:1", self.dir], 2, "give a loopback address"), ([], 2, "serve needs one DIR")):
            done = subprocess.run([JANKBPF, "serve", *words], capture_output=True, text=True, timeout=30, check=False)
            self.tap.check(done.returncode == status and part in done.stderr and not done.stdout, f"{words}: {part}", done)
        taken.stop()

    def user(self):
        """Root becomes the directory's owner. A user without rights serves its own, reads a read-only one, and no other's."""
        program = shutil.copy(JANKBPF, self.folder)
        theirs = f"{self.folder}/theirs"
        shutil.copytree(self.dir, theirs)
        os.chmod(self.folder, 0o711)
        for path in (theirs, *glob.glob(theirs + "/*")):
            os.chown(path, NOBODY, NOBODY)
        env = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
        serve = Serve([program], theirs, env=env)
        with open(f"/proc/{serve.process.pid}/status", encoding="ascii") as file:
            status = file.read()
        self.tap.check(f"Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}" in status and "CapPrm:\t0000000000000000" in status
                       and "CapBnd:\t0000000000000000" in status and "NoNewPrivs:\t1" in status, "root becomes the owner, without privileges", status)
        doctor = subprocess.run([JANKBPF, "doctor"], capture_output=True, text=True, check=False).stdout
        if "libseccomp" not in doctor:
            self.tap.check("Seccomp:\t2" in status, "with a filter of system calls", status)
        self.tap.check(serve.post(f"/delete?seq={serve.blocks()[0][0]}") == 200, "and deletes in the directory")
        _, said = serve.stop()
        self.tap.check(f"serving as user id {NOBODY}" in said, "and says so", said)
        shutil.copy(self.dir + "/blocks.jsonl", theirs)
        os.chown(theirs + "/blocks.jsonl", NOBODY, NOBODY)
        os.chmod(theirs, 0o500)
        serve = Serve(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", program], theirs)
        seq = serve.blocks()[0][0]
        status, _, body = serve.ask(f"/delete?seq={seq}", "POST")
        self.tap.check(status == 409 and b"Permission denied" in body and serve.blocks(), "a read-only directory is shown, and says why not", body)
        serve.post(f"/read?seq={seq}")
        events = Events(serve)
        self.tap.check(events.wait(lambda one: one.get("unsaved") and one.get("readonly")), "marks that cannot be kept are reported")
        serve.stop()
        done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program, "serve", self.dir],
                              capture_output=True, text=True, timeout=30, check=False)
        self.tap.check(done.returncode == 1 and "run serve as that user" in done.stderr, "another user's directory is refused", done)

    def sockets(self):
        if socket.has_ipv6:
            try:
                serve = Serve([JANKBPF], self.dir, listen="[::1]:0")
                self.tap.check(serve.host == "::1" and serve.ask("/")[0] == 200, "IPv6's loopback", serve.url)
                serve.stop()
            except RuntimeError as error:
                self.tap.skip("IPv6", str(error))
        path = f"{self.folder}/sock"
        serve = Serve([JANKBPF], self.dir, listen=f"unix:{path}")
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path, "-H", f"X-Jankbpf-Token: {serve.token}",
                               "http://127.0.0.1/data"], capture_output=True, text=True, check=False) if shutil.which("curl") else None
        self.tap.check(os.stat(path).st_mode & 0o777 == 0o600 and serve.url.startswith("http://127.0.0.1/#token=")
                       and (not done or done.stdout == "200"), "a Unix socket", done, serve.url)
        serve.stop()
        self.tap.check(not os.path.exists(path), "is removed at the end")

    def run(self):
        self.live()
        self.rotation()
        self.polling()
        finish = self.dribble()
        self.hostile()
        self.refused()
        self.user()
        self.sockets()
        finish()
        self.tap.end()


def main():
    need()
    if not can_serve():
        skip_all("a build without libmicrohttpd")
    with tempfile.TemporaryDirectory(prefix="jank-serve-") as folder:
        Check(folder).run()


main()
