# SPDX-License-Identifier: GPL-2.0-or-later
"""jankbpf and its peers: how to start each on a process, how to see that it is at work, how to end
it."""

import os
import re
import select
import shutil
import signal
import subprocess
import threading
import time

READY_LIMIT_S = 20
STOP_LIMIT_S = 20
TAIL_BYTES = 1 << 16
THRESHOLD = "100ms"

# The closest bpftrace script: each dispatch in a histogram, a stack for those over 16 ms.
DISPATCH = """
{end} {{ @end[tid] = nsecs; }}
{begin} /@end[tid]/ {{
    $ns = nsecs - @end[tid];
    @dispatch_ns = hist($ns);
    if ($ns > 16000000) {{ @slow[ustack] = count(); }}
}}
"""


def bpftrace_uprobes(target):
    return DISPATCH.format(begin=f"uprobe:{target.libc}:epoll_wait",
                           end=f"uretprobe:{target.libc}:epoll_wait")


def bpftrace_tracepoints(target):
    pid = f"/pid == {target.pid}/"
    script = DISPATCH.format(begin="tracepoint:syscalls:sys_enter_epoll_wait",
                             end=f"tracepoint:syscalls:sys_exit_epoll_wait {pid}")
    return script.replace("/@end[tid]/", f"/pid == {target.pid} && @end[tid]/")


class Tracer:
    """`argv(target)` starts it; a line that matches `ready` says that it is at work."""

    def __init__(self, name, argv, ready, peer=True, stdin=b"", env=None, quiet_ns=0):
        self.name, self.argv, self.peer = name, argv, peer
        self.ready, self.stdin, self.env = re.compile(ready), stdin, env or (lambda target: {})
        self.settle_s = quiet_ns / 1e9

    def start(self, target):
        return Running(self, target)


class Running:
    """A tracer at work. Its output is read all the time, so that it never waits for us."""

    def __init__(self, tracer, target):
        self.tracer, self.lines, self.tail, self.drainer = tracer, [], b"", None
        self.began = time.monotonic()
        self.proc = subprocess.Popen(tracer.argv(target), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env={**os.environ, **tracer.env(target)})
        try:
            self.proc.stdin.write(tracer.stdin)
            self.proc.stdin.flush()
            self.start_s = self.wait_line(tracer.ready, READY_LIMIT_S)
        except (OSError, RuntimeError):
            self.stop()
            raise
        self.drainer = threading.Thread(target=self.drain, daemon=True)
        self.drainer.start()
        time.sleep(tracer.settle_s)

    def wait_line(self, pattern, limit_s):
        """Seconds from the start until a line matched; reads the pipe itself, unbuffered."""
        fd, rest = self.proc.stdout.fileno(), b""
        while True:
            left = self.began + limit_s - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise RuntimeError(f"not at work after {limit_s} s")
            data = os.read(fd, 65536)
            now = time.monotonic()
            if not data:
                raise RuntimeError(self.lines[-1] if self.lines else "ended without a word")
            *lines, rest = (rest + data).split(b"\n")
            self.lines += [line.decode(errors="replace").strip() for line in lines if line.strip()]
            if any(pattern.search(line.decode(errors="replace")) for line in lines + [rest]):
                return now - self.began

    def drain(self):
        while data := os.read(self.proc.stdout.fileno(), 65536):
            self.tail = (self.tail + data)[-TAIL_BYTES:]

    def stop(self):
        """Ends it as a user would; returns how long that took."""
        begin = time.monotonic()
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
        try:
            self.proc.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        took = time.monotonic() - begin
        if self.drainer:
            self.drainer.join(STOP_LIMIT_S)
        self.proc.stdin.close()
        self.proc.stdout.close()
        return took


def jankbpf(name, *options, program=os.environ.get("JANKBPF", "./jankbpf")):
    return Tracer(name, lambda target: [program, "-v", "-t", THRESHOLD, *options, "-p",
                                        str(target.pid)], r"tracing;", peer=False)


def bpftrace(name, script):
    # It prints "Attaching" for each probe, for the last one just before it is attached.
    return Tracer(name, lambda target: ["bpftrace", "-e", "BEGIN { printf(\"begun\\n\"); } " +
                                        script(target)], r"^begun", quiet_ns=300e6)


def bpftrace_first(name, script):
    """At work with the first event that it sees: its word of the begin comes before it attaches the others."""
    seen = "{ @end[tid] = nsecs; if (@seen == 0) { @seen = 1; printf(\"begun\\n\"); } }"
    return Tracer(name, lambda target: ["bpftrace", "-B", "line", "-e",
                                        script(target).replace("{ @end[tid] = nsecs; }", seen)], r"^begun")


def perf(name, *options):
    argv = ["perf", "record", *options, "-o", "/dev/null", "-D", "-1", "--control", "fd:0,1", "-p"]
    return Tracer(name, lambda target: argv + [str(target.pid)], r"^ack", stdin=b"enable\n")


def bcc(name, *options):
    def env(target):
        return {"PYTHONUNBUFFERED": "1", "BCC_KERNEL_SOURCE": target.headers}
    return Tracer(name, lambda target: ["funcslower-bpfcc", "-p", str(target.pid), *options,
                                        f"{target.libc}:epoll_wait"], r"^Tracing", env=env)


def strace(name, *options):
    return Tracer(name, lambda target: ["strace", *options, "-p", str(target.pid)],
                  r"attached")


ALL_ON = jankbpf("jankbpf, all on (-F 99)")
NO_SAMPLES = jankbpf("jankbpf -F 0", "-F", "0")
MARKS = jankbpf("jankbpf --marks always", "--marks", "always")
UPROBES = jankbpf("jankbpf --backend uprobe", "--backend", "uprobe")
BEFORE = [jankbpf(f"{path} (BEFORE)", program=path) for path in [os.environ.get("BEFORE")] if path]
RAW = jankbpf("jankbpf by tp_btf (no syscall tracepoints)", "--disable-feature",
              "syscall_tracepoints")
BPFTRACE_UPROBES = bpftrace("bpftrace, uprobe + uretprobe", bpftrace_uprobes)
BPFTRACE_TRACEPOINTS = bpftrace("bpftrace, tracepoints", bpftrace_tracepoints)
BPFTRACE_FIRST = bpftrace_first(BPFTRACE_TRACEPOINTS.name, bpftrace_tracepoints)
PERF_99 = perf("perf record -F 99", "-F", "99", "-g")
EMPTY = Tracer("empty programs at the same hooks", lambda target: [os.environ.get("BENCH_EMPTY", "bench_empty")],
               r"^begun")
FUNCSLOWER = bcc("bcc funcslower -U", "-U", "-m", "16")
STRACE = strace("strace -c -f", "-c", "-f")


def all_missing(tracers):
    """The tracers that are not available, by name, with the reason."""
    target = type("Target", (), {"pid": 0, "libc": "", "headers": ""})
    return {tracer.name: f"{tracer.argv(target)[0]}: not installed" for tracer in tracers
            if not shutil.which(tracer.argv(target)[0])}
