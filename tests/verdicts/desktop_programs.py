# SPDX-License-Identifier: GPL-2.0
"""Programs with threads that wait for work without epoll, and the stalls that each causes
itself."""
import http.server
import os
import pty
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import fastcgi

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "desktop")
DELAY_S = 9     # from the start of a program to its first stall: the tracer attaches in between
GAP_S = 0.4     # between two stalls


class Page:
    """A web server for desktop/page.html. The page starts when go() is called; the server records
    what the page reports."""

    def __init__(self, port, folder, rounds):
        self.begun, self.rounds, self.path = threading.Event(), rounds, os.path.join(folder, "stalls")
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, text, kind="text/plain"):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                url = urllib.parse.urlparse(self.path)
                if url.path == "/go":
                    page.begun.wait()
                    return self.answer(str(page.rounds).encode())
                if url.path == "/slow":
                    time.sleep(int(urllib.parse.parse_qs(url.query)["ms"][0]) / 1000)
                    return self.answer(b"")
                name = "busy.html" if url.path == "/busy" else "page.html"
                with open(os.path.join(HERE, name), "rb") as file:
                    return self.answer(file.read(), "text/html")

            def do_POST(self):
                with open(page.path, "ab") as file:
                    file.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
                self.answer(b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.handle_error = lambda *_: None  # a page that is closed gets no more answers
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def go(self):
        self.begun.set()


class Client:
    """Requests one stall after the other from a server."""

    def __init__(self, get, kinds):
        self.get, self.kinds = get, kinds

    def __call__(self, port, folder, rounds):
        for _ in range(rounds):
            for kind in self.kinds:
                self.get(port, folder, kind)
                time.sleep(GAP_S)


def http_get(port, _, kind):
    urllib.request.urlopen(f"http://127.0.0.1:{port}/stalls.php?kind={kind}", timeout=10).read()


def fpm_get(port, folder, kind):
    fastcgi.get(port, os.path.join(folder, "stalls.php"), "kind=" + kind)


class Program:
    """command: PORT, DIR, ROUNDS and DELAY_MS are filled in. kinds: of its stalls, each ROUNDS
    times. files: copied from desktop/ into DIR; those named .conf are filled in. options: of the
    tracer. client: it requests the stalls; without it they come by themselves. page: the program
    shows page.html. terminal: it needs one. build: runs before the program starts."""

    def __init__(self, name, command, kinds, files=(), options=("-f",), client=None, page=False, terminal=False, build=None):
        self.name, self.command, self.kinds, self.files, self.options = name, command, kinds, files, options
        self.client, self.page, self.terminal, self.build = client, page, terminal, build

    def fill(self, text, port, folder, rounds):
        for word, value in ("PORT", port), ("DIR", folder), ("ROUNDS", rounds), ("DELAY_MS", DELAY_S * 1000):
            text = text.replace(word, str(value))
        return text

    def prepare(self, port, folder, rounds):
        """Writes its files into the folder, and returns its command's words."""
        for name in self.files:
            with open(os.path.join(HERE, name), encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".conf"):
                text = self.fill(text, port, folder, rounds)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        if self.build:
            subprocess.run(self.fill(self.build, port, folder, rounds).split(), check=True, stdout=subprocess.DEVNULL)
        return self.fill(self.command, port, folder, rounds).split()

    def is_installed(self):
        words = self.command.split()
        return shutil.which(words[0], path=os.environ["PATH"] + ":/usr/sbin") is not None


def start(words, env, folder, terminal):
    """A process in a session of its own, with its output in a file, or on a terminal that is
    read."""
    if not terminal:
        with open(os.path.join(folder, "output"), "ab") as out:
            return subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    master, slave = pty.openpty()
    process = subprocess.Popen(["setsid", "-c", *words], cwd=folder, env=dict(env, TERM="xterm"), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)

    def drain():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass
    threading.Thread(target=drain, daemon=True).start()
    return process


THREE = ("cpu", "sleep", "child")
PYTHON = "/usr/bin/python3 DIR/stalls.py {} DIR/stalls DELAY_MS ROUNDS"
CHROMIUM = "chromium --no-sandbox --no-first-run --disable-gpu --user-data-dir=DIR/profile"
FIREFOX = "firefox-esr --no-remote --profile DIR"

TABLE = [
    Program("chromium", CHROMIUM + " http://127.0.0.1:PORT/", ("script", "layout", "request", "garbage"), page=True),
    Program("firefox", FIREFOX + " http://127.0.0.1:PORT/", ("script", "layout", "request", "garbage"), page=True),
    Program("Swing", "java -cp DIR Stalls DIR/stalls DELAY_MS ROUNDS", ("cpu", "sleep", "futex"), ["Stalls.java"], options=(),
            build="javac -d DIR DIR/Stalls.java"),
    Program("tkinter", PYTHON.format("tk"), THREE, ["stalls.py"], options=()),
    Program("Qt dialog", PYTHON.format("qt"), THREE, ["stalls.py"], options=()),
    Program("GTK dialog", PYTHON.format("gtk"), THREE, ["stalls.py"], options=()),
    Program("emacs", "emacs -nw -Q -l DIR/stalls.el", THREE, ["stalls.el"], options=(), terminal=True),
    Program("ruby", "ruby DIR/stalls.rb PORT", THREE, ["stalls.rb"], options=(), client=Client(http_get, THREE)),
    Program("puma", "puma -t 2:2 -b tcp://127.0.0.1:PORT DIR/config.ru", THREE, ["stalls.rb", "config.ru"], options=("--workers",),
            client=Client(http_get, THREE)),
    Program("Java executor", "java -cp DIR Pool PORT DIR/stalls", ("cpu", "sleep", "futex"), ["Stalls.java", "Pool.java"],
            options=("--workers",), client=Client(http_get, ("cpu", "sleep", "futex")), build="javac -cp DIR -d DIR DIR/Stalls.java DIR/Pool.java"),
    Program("Erlang", "escript DIR/stalls.escript DIR/stalls DELAY_MS ROUNDS cpu", ("cpu",), ["stalls.escript"], options=("--workers",)),
    Program("apache", "apache2 -f DIR/apache.conf -DFOREGROUND", THREE, ["apache.conf", "stalls.php"], client=Client(http_get, THREE)),
    Program("php-fpm", "php-fpm8.2 -y DIR/fpm.conf -O -F", THREE, ["fpm.conf", "stalls.php"], client=Client(fpm_get, THREE)),
]
