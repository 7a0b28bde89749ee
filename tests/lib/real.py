# SPDX-License-Identifier: GPL-2.0
"""Real programs, as the live tests start them."""
import os
import select
import socket
import subprocess

from live import ROOT, build, end, start, wait_for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def http_get(family, address, path):
    """The whole response."""
    with socket.socket(family) as client:
        client.settimeout(60)
        client.connect(address)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while chunk := client.recv(1 << 20):
            answer += chunk
        return answer


def build_looper(folder):
    """tests/live/programs/looper.cc with the real android::Looper: its path, or None where that is
    not installed."""
    include = "/usr/include/android"
    if not os.path.exists(f"{include}/utils/Looper.h"):
        return None
    triplet = subprocess.run(["cc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout.strip()
    libraries = f"/usr/lib/{triplet}/android"
    return build(folder, "looper.cc", "-isystem", include, f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lutils", "-pthread")


class Redis:
    def __init__(self, folder, *options, program="redis-server", uid=None):
        self.folder, self.socket = folder, os.path.join(folder, "socket")
        self.process = start(
            [program, "--port", "0", "--unixsocket", self.socket, "--dir", folder, "--save", "",
             "--enable-debug-command", "yes", "--daemonize", "no", "--lua-time-limit", "60000", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, uid=uid)
        wait_for(lambda: os.path.exists(self.socket), what="redis-server's socket")

    def do(self, *command):
        done = subprocess.run(["redis-cli", "-s", self.socket, *command], capture_output=True, text=True,
                              timeout=120)
        if done.returncode or done.stdout.startswith("ERR"):
            raise RuntimeError(f"redis-cli {command}: {done.stdout} {done.stderr}")
        return done.stdout

    def load(self, requests, clients):
        """Runs redis-benchmark until the caller ends it."""
        return subprocess.Popen(["redis-benchmark", "-s", self.socket, "-t", requests, "-c",
                                 str(clients), "-q", "-l"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)


class NodeServer:
    """tests/live/programs/server.js, HTTP over a Unix socket."""

    def __init__(self, folder, cold, *options):
        self.path = os.path.join(folder, "socket")
        self.process = start(["node", *options, os.path.join(ROOT, "tests", "live", "programs", "server.js"), self.path,
                              cold], cwd=folder)
        wait_for(self.answers, what="node's answer")

    def get(self, path):
        return http_get(socket.AF_UNIX, self.path, path)

    def answers(self):
        try:
            return self.get("/quick").startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def end(self):
        end(self.process)
        for leftover in (self.path, f"/tmp/perf-{self.process.pid}.map"):
            if os.path.exists(leftover):
                os.unlink(leftover)


class Screen:
    """An X server without a display."""

    def __init__(self, size="320x240x24"):
        reader, writer = os.pipe()
        self.process = start(["Xvfb", "-displayfd", str(writer), "-screen", "0", size, "-nolisten", "tcp"],
                             pass_fds=[writer], stderr=subprocess.DEVNULL)
        os.close(writer)
        ready = select.select([reader], [], [], 30)[0]
        with os.fdopen(reader) as file:
            number = file.readline().strip() if ready else ""
        self.env = {"DISPLAY": f":{number}", "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory",
                    "GIO_USE_VFS": "local"} if number else None

    def end(self):
        self.process.terminate()
        self.process.wait()


class Terminal:
    """A terminal of tmux, which answers a program's questions about it. The program writes its pid
    into a file first."""

    def __init__(self, folder, command, env):
        self.name = os.path.join(folder, "tmux")
        self.pid_file = os.path.join(folder, "pid")
        script = os.path.join(folder, "run")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho $$ > {self.pid_file}\nexec {command}\n")
        os.chmod(script, 0o755)
        subprocess.run(["tmux", "-S", self.name, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", script],
                       env=env, check=True)
        wait_for(self.read_pid, 60, "the program of the terminal")
        self.pid = int(self.read_pid())

    def read_pid(self):
        try:
            with open(self.pid_file, encoding="ascii") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def type(self, *keys):
        subprocess.run(["tmux", "-S", self.name, "send-keys", *keys], check=True)

    def end(self):
        subprocess.run(["tmux", "-S", self.name, "kill-server"], stderr=subprocess.DEVNULL, check=False)
