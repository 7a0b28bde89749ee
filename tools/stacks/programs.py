# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose stacks are taken, each with a load that stalls its loop: Debian's own, and small
ones over its libraries, built as Debian builds (without frame pointers; make stack-programs)."""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from live import end, start, wait_for  # noqa: E402
from real import Redis, Screen, http_get  # noqa: E402

BUILT = os.path.join(ROOT, ".output", "stacks")
LUA = "local n = 0; for i = 1, 2000000 do n = n + i % 7 end; return n"
PYTHON = "/usr/bin/python3"  # the distribution's


def keep_on(seconds, *actions):
    """Runs each in turn, until the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for action in actions:
            action()
            time.sleep(0.01)


class Program:
    """pid: the process to trace once it is there; options: jankbpf's; load(seconds) stalls it."""
    needs = ()
    options = ()
    all_threads = False  # stacks of its other threads count as well

    def __init__(self, folder):
        self.folder = folder
        self.pid = None

    @property
    def tid(self):
        """The thread of its loop."""
        return self.pid

    def end(self):
        pass

    def load(self, seconds):
        time.sleep(seconds)


class RedisServer(Program):
    needs = ("redis-server",)

    def __init__(self, folder):
        super().__init__(folder)
        self.redis = Redis(folder)
        self.pid = self.redis.process.pid
        self.redis.do("DEBUG", "POPULATE", "400000", "key", "64")
        self.redis.do("EVAL", "for i = 1, 60000 do redis.call('RPUSH', 'list', (i * 7919) % 60013) end", "0")

    def load(self, seconds):
        do = self.redis.do
        keep_on(seconds, lambda: do("KEYS", "no-such-*-key"), lambda: do("EVAL", LUA, "0"),
                lambda: do("DEBUG", "SLEEP", "0.04"), lambda: do("SORT", "list", "LIMIT", "0", "1"))

    def nap(self, seconds):
        keep_on(seconds, lambda: self.redis.do("DEBUG", "SLEEP", "0.05"))

    def end(self):
        end(self.redis.process)


NGINX = """
worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/error.log; user root;
events {{ worker_connections 64; use epoll; }}
http {{
    access_log off; root {dir}/www; sendfile off; default_type text/html; open_file_cache off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{ listen unix:{dir}/socket;
        location /list/ {{ autoindex on; }}
        location /zip/ {{ gzip on; gzip_comp_level 9; gzip_min_length 1; gzip_types *; gzip_buffers 64 1m;
                          output_buffers 1 8m; postpone_output 0; }} }}
}}
"""


class Nginx(Program):
    needs = ("nginx",)

    def __init__(self, folder):
        super().__init__(folder)
        self.address = os.path.join(folder, "socket")
        for name in ("list", "zip"):
            os.makedirs(os.path.join(folder, "www", name))
        for number in range(30000):
            os.close(os.open(os.path.join(folder, "www", "list", f"file-{number}"), os.O_CREAT | os.O_WRONLY))
        with open(os.path.join(folder, "www", "zip", "big"), "wb") as file:
            file.write(os.urandom(1 << 16).hex().encode() * 16)
        with open(os.path.join(folder, "conf"), "w", encoding="ascii") as file:
            file.write(NGINX.format(dir=folder))
        self.master = start(["nginx", "-p", folder, "-c", os.path.join(folder, "conf"), "-e", os.path.join(folder, "error.log")])
        wait_for(self.worker, what="nginx's worker")
        wait_for(lambda: os.path.exists(self.address), what="nginx's socket")

    def worker(self):
        with open(f"/proc/{self.master.pid}/task/{self.master.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        self.pid = int(children[0]) if children else None
        return self.pid

    def load(self, seconds):
        keep_on(seconds, *(lambda path=path: http_get(socket.AF_UNIX, self.address, path) for path in ("/list/", "/zip/big")))

    def end(self):
        end(self.master)


class Script(Program):
    """A program that stalls by itself, all the time, and prints a line first; its command is in
    `command`."""
    command = ()

    def __init__(self, folder):
        super().__init__(folder)
        words = [word.format(folder=folder, built=BUILT, here=HERE) for word in self.command]
        self.process = start(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
        if not self.process.stdout.readline():
            raise RuntimeError(f"{words[0]} said nothing")
        self.pid = self.process.pid

    def end(self):
        self.process.stdout.close()
        end(self.process)
        with contextlib.suppress(OSError):
            os.unlink(f"/tmp/perf-{self.pid}.map")


class NodeAddon(Script):
    needs = ("node",)
    command = ("node", "{here}/stalls.js", "addon", "{built}/addon.node")


class NodeScript(Script):
    needs = ("node",)
    command = ("node", "{here}/stalls.js", "script")


class NodeMapped(Script):
    needs = ("node",)
    command = ("node", "--perf-basic-prof", "--interpreted-frames-native-stack", "{here}/stalls.js", "script")


class Python(Script):
    needs = (PYTHON,)
    command = (PYTHON, "{here}/stalls.py")


class NodeAsleep(Script):
    needs = ("node",)
    command = ("node", "{here}/stalls.js", "sleep")


class PythonAsleep(Script):
    needs = (PYTHON,)
    command = (PYTHON, "{here}/stalls.py", "sleep")


class Simjank(Program):
    """All of its scenarios, except those that take the CPU from others or change the machine."""
    program = os.path.join(BUILT, "simjank")
    scenarios = "busy,kernel,sleep,mutex,cond,pipe,socket,poll,select,epoll,mixed,mixed_cpu,semaphore,eventfd,child"

    def __init__(self, folder):
        super().__init__(folder)
        self.truth = os.path.join(folder, "truth")
        self.process = start([self.program, "--quiet", "--scenario", self.scenarios, "--length", "30ms-80ms", "--gap", "10ms",
                              "--duration", "120s", "--truth", self.truth, "--truth-max", "100000"])
        self.pid = self.process.pid
        time.sleep(0.5)

    def end(self):
        end(self.process)


class Looper(Simjank):
    program = os.path.join(BUILT, "simjank-looper")


class Staller(Program):
    """A program of tests/loops: it reports that it is ready, and stalls after a byte on stdin."""
    name, arguments, env, x11 = "", (), {}, False

    def __init__(self, folder):
        super().__init__(folder)
        self.screen = Screen() if self.x11 else None
        env = {**os.environ, **self.env, **(self.screen.env if self.screen else {})}
        self.process = start([os.path.join(BUILT, "loops", self.name), *self.arguments], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        if not self.process.stdout.readline():
            raise RuntimeError(f"{self.name} said nothing")
        self.pid = self.process.pid
        self.reader = None

    def load(self, seconds):
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(b"\n")
                self.process.stdin.flush()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.1)

    def end(self):
        end(self.process)
        self.process.stdout.close()
        if self.screen:
            self.screen.end()


class Gtk(Staller):
    needs, name, x11 = ("Xvfb",), "gtk", True


class Qt5(Staller):
    name, env = "qt5gui", {"QT_QPA_PLATFORM": "offscreen"}


class Musl(Staller):
    name, arguments = "raw-musl", ("epoll",)


class Go(Staller):
    name, options, all_threads = "netpoll", ("-l", "go"), True


class Rust(Staller):
    name, arguments, all_threads = "tokio-stall", ("0",), True


class Postgres(Program):
    needs = ("/usr/lib/postgresql",)
    queries = ("select sum(hashtext(g::text)) from generate_series(1, 150000) g",
               "select count(*) from (select g from generate_series(1, 60000) g order by md5(g::text)) s",
               "do $$ declare n bigint := 0; begin for i in 1..300000 loop n := n + i % 7; end loop; end $$",
               "select count(*) from pg_class a, pg_class b where a.relname < b.relname")

    def __init__(self, folder):
        super().__init__(folder)
        versions = "/usr/lib/postgresql"
        self.bin = os.path.join(versions, max(os.listdir(versions), key=float), "bin")
        data = os.path.join(folder, "data")
        shutil.chown(folder, "postgres")
        self.run("initdb", "-D", data, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        self.run("pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", f"-k {folder} -h ''", "start")
        self.client = subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                                        os.path.join(self.bin, "psql"), "-h", folder, "-qAt", "postgres"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
        self.pid = int(self.ask("select pg_backend_pid()"))

    def run(self, name, *words):
        subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", os.path.join(self.bin, name), *words],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    def ask(self, query):
        self.client.stdin.write(query + ";\n" + ("select 1;\n" if query.startswith("do") else ""))
        self.client.stdin.flush()
        return self.client.stdout.readline()

    def load(self, seconds):
        keep_on(seconds, *(lambda query=query: self.ask(query) for query in self.queries))

    def end(self):
        self.client.stdin.close()
        self.client.wait()
        self.client.stdout.close()
        self.run("pg_ctl", "-D", os.path.join(self.folder, "data"), "-m", "immediate", "stop")


class Java(Program):
    """Debian's JVM, with the handlers of tests/live/java.t."""
    needs = ("java", "javac", "jcmd")
    flags, warm = (), 4000

    def __init__(self, folder):
        super().__init__(folder)
        subprocess.run(["javac", "-d", folder, os.path.join(ROOT, "tests", "live", "programs", "Handlers.java")], check=True)
        self.address = os.path.join(folder, "socket")
        self.process = start(["java", *self.flags, "-cp", folder, "Handlers", self.address], stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.client = socket.socket(socket.AF_UNIX)
        wait_for(self.connects, what="the server's socket")
        for letter in self.warm * "w" + "cjnplf" * 3:
            self.do(letter)
        subprocess.run(["jcmd", str(self.pid), "Compiler.perfmap"], stdout=subprocess.DEVNULL, check=True)

    def connects(self):
        try:
            self.client.connect(self.address)
        except OSError:
            return False
        return True

    @property
    def tid(self):
        """Its first thread only waits for the thread of `main`."""
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/comm", encoding="ascii") as file:
                if file.read() == "java\n" and int(tid) != self.pid:
                    return int(tid)
        raise RuntimeError("no thread of Java's main")

    def do(self, letter):
        self.client.sendall(letter.encode())
        self.client.recv(1)

    def load(self, seconds):
        keep_on(seconds, *(lambda letter=letter: self.do(letter) for letter in "cjcjnplf"))

    def end(self):
        end(self.process)
        self.client.close()
        with contextlib.suppress(OSError):
            os.unlink(f"/tmp/perf-{self.pid}.map")


class JavaFramePointers(Java):
    flags = ("-XX:+PreserveFramePointer",)


class JavaInterpreted(Java):
    flags, warm = ("-Xint",), 20


PROGRAMS = {
    "redis-server": RedisServer, "nginx": Nginx, "node, an add-on in C++": NodeAddon, "node, a loop in JavaScript": NodeScript,
    "node --perf-basic-prof, the same": NodeMapped, "python3": Python, "GTK 3": Gtk, "Qt 5": Qt5, "postgres": Postgres,
    "android::Looper": Looper, "Go": Go, "Rust (tokio)": Rust, "musl, static": Musl, "simjank": Simjank, "Java": Java,
    "Java -XX:+PreserveFramePointer": JavaFramePointers, "Java -Xint": JavaInterpreted,
}
ASLEEP = {"node, asleep": NodeAsleep, "python3, asleep": PythonAsleep}


@contextlib.contextmanager
def running(name):
    """The program, in its loop."""
    program = None
    with tempfile.TemporaryDirectory(prefix="stacks-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        try:
            program = (PROGRAMS | ASLEEP)[name](folder)
            yield program
        finally:
            if program:
                program.end()


def has(need):
    return os.path.exists(need) if need.startswith("/") else shutil.which(need) is not None
