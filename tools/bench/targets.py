# SPDX-License-Identifier: GPL-2.0-or-later
"""The traced processes: started here, ended by their id, with a private libc, so that a peer's
probe on libc is in no other process."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time


class Scratch:
    """A directory for sockets and the private libc, removed with its content."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="jankbpf-bench-")
        self.libs = os.path.join(self.path, "lib")
        os.mkdir(self.libs)
        found = glob.glob("/lib/*-linux-gnu/libc.so.6") + ["/lib64/libc.so.6", "/lib/libc.so.6"]
        self.libc = shutil.copy(next(path for path in found if os.path.exists(path)), self.libs)
        self.headers = self.kernel_headers()

    def kernel_headers(self):
        """The headers of some kernel as one tree, as bcc needs them; Debian has them in two. ""
        without."""
        tree = os.path.join(self.path, "kernel")
        built = sorted(glob.glob("/usr/src/linux-headers-*/include/generated"))
        if not built:
            return ""
        arch = os.path.dirname(os.path.dirname(built[-1]))
        for part in (re.sub("-[^-]*$", "-common", arch), arch):
            for path in glob.glob(part + "/include") + glob.glob(part + "/arch/*/include"):
                inside = os.path.join(tree, os.path.relpath(path, part))
                os.makedirs(inside, exist_ok=True)
                subprocess.run(["cp", "-rs", path + "/.", inside], check=True)
        return tree

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def cpus():
    return sorted(os.sched_getaffinity(0))


def schedstat_ns(pid):
    """CPU time and run delay of all living threads, as the scheduler counts them."""
    ran = waited = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as stat:
                fields = stat.read().split()
        except FileNotFoundError:
            continue
        ran, waited = ran + int(fields[0]), waited + int(fields[1])
    return ran, waited


def status_kb(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0


def pss_kb(pid):
    """Its memory, where a page that several processes share counts in parts."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()


class Target:
    """A process with the private libc, on one CPU or on any."""

    def __init__(self, scratch, argv, cpu=None, **popen):
        self.libc, self.headers = scratch.libc, scratch.headers
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.DEVNULL)
        popen.setdefault("stderr", subprocess.DEVNULL)
        self.proc = subprocess.Popen(argv, env={**os.environ, "LD_LIBRARY_PATH": scratch.libs},
                                     **popen)
        self.pid = self.proc.pid

    def stop(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(10)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()


class Micro(Target):
    """bench_epoll, which returns one figure after the other."""

    def __init__(self, scratch, cpu):
        super().__init__(scratch, [os.environ.get("BENCH_EPOLL", ".output/rel/bench_epoll"),
                                   str(cpu)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True)

    def measure(self, mode, ms):
        self.proc.stdin.write(f"{mode} {ms}\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError("bench_epoll ended")
        return float(line.split()[0])


class Redis(Target):
    """A redis-server of our own on a unix socket: without port, disk and the machine's
    configuration."""

    def __init__(self, scratch, cpu):
        self.socket = os.path.join(scratch.path, "redis.sock")
        super().__init__(scratch, ["redis-server", "--port", "0", "--unixsocket", self.socket,
                                   "--save", "", "--appendonly", "no", "--daemonize", "no",
                                   "--dir", scratch.path], cpu=cpu)
        self.wait_up()

    def wait_up(self):
        for _ in range(200):
            if os.path.exists(self.socket) and self.client(["-c", "1", "-n", "1", "-t", "ping"]):
                return
            if self.proc.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("redis-server did not come up")

    def client(self, options, cpu=None):
        argv = ["redis-benchmark", "-s", self.socket, "-q", *options]
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def warm(self, tests, clients, seconds, cpu):
        """After this time, a tracer has adapted to a busy program."""
        try:
            subprocess.run(["taskset", "-c", str(cpu), "redis-benchmark", "-s", self.socket, "-q", "-t", tests, "-c",
                            str(clients), "-l"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            pass

    def load(self, tests, clients, requests, cpu):
        """Runs the requests; returns the server's CPU time a request (ns) and requests/s."""
        ran, _ = schedstat_ns(self.pid)
        begin = time.monotonic()
        if not self.client(["-t", tests, "-c", str(clients), "-n", str(requests)], cpu):
            raise RuntimeError("redis-benchmark failed")
        elapsed = time.monotonic() - begin
        total = requests * len(tests.split(","))
        return (schedstat_ns(self.pid)[0] - ran) / total, total / elapsed
