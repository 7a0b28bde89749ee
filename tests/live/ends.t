#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How a trace ends: by signals, -d, -n, COMMAND's end; its status, and all records are there."""
import os
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok


def test_signals(process):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        directory = bad.scratch(f"out{sig}")
        tracer = bad.Tracer("--json", "-t", "25ms", "-o", directory, "-p", process.pid)
        time.sleep(0.5)
        result = tracer.stop(sig, 5)
        with open(f"{directory}/blocks.jsonl", "rb") as file:
            kept = file.read()
        ok(result.status == 0 and len(result.blocks()) >= 5 and result.summary() and kept == result.raw,
           f"{sig.name}: status 0, the summary, everything written", result)
    ok(process.poll() is None, "the traced process goes on")


def test_ignored_hangup(process):
    """As nohup starts it: the end of the terminal is ignored."""
    tracer = bad.Tracer("-p", process.pid, prefix=["nohup"])
    tracer.process.send_signal(signal.SIGHUP)
    ok(not bad.wait_for(lambda: tracer.process.poll() is not None, 2), "nohup: SIGHUP is ignored", tracer.stderr())
    ok(tracer.stop().status == 0, "nohup: Ctrl-C still ends it")


def test_background(process):
    """A shell without job control starts background commands with SIGINT ignored."""
    command = f"{bad.JANK} -p {process.pid} >/dev/null 2>&1 & pid=$!; sleep 0.5; kill -INT $pid; wait $pid"
    run = subprocess.run(["sh", "-c", command], timeout=10, check=False)
    ok(run.returncode == 0, "kill -INT ends a tracer that a script started in the background", run)


def test_limits(process):
    result = bad.trace("--json", "-t", "25ms", "-d", "700ms", "-p", process.pid)
    ok(result.status == 0 and result.blocks() and 0.6 < result.summary()["elapsed_ns"] / 1e9 < 1.2,
       "-d 700ms", result)
    result = bad.trace("--json", "-t", "25ms", "-n", "3", "-p", process.pid)
    ok(result.status == 0 and len(result.blocks()) == 3 == result.summary()["blocks"], "-n 3", result)
    result = bad.trace("--json", "-t", "25ms", "-n", "1", "-d", "500ms", "--", bad.SIMJANK, "--quiet", "--duration", "1h",
                       "--scenario", "short")
    ok(result.status == 0 and not result.blocks() and result.seconds < 5, "-d ends a trace without blocks", result)


def command(name, status, words, *args, options=(), **popen):
    result = bad.trace(*options, "--", *args, seconds=10, **popen)
    ok(result.status == status and words in result.err, name, result)
    return result


def test_command():
    command("COMMAND's status 0", 0, "", "true")
    command("COMMAND's status 7", 7, "", "sh", "-c", "exit 7")
    command("COMMAND killed by SIGTERM", 143, "", "sh", "-c", "kill $$")
    command("COMMAND killed by SIGKILL", 137, "", "sh", "-c", "kill -9 $$")
    command("COMMAND not found", 1, "cannot run 'no-such-command'", "no-such-command")
    command("COMMAND without a file", 1, "cannot run '/none/such'", "/none/such")
    with open(bad.scratch("plain"), "w", encoding="utf-8") as file:
        file.write("no program\n")
    command("COMMAND not executable", 1, "Permission denied", bad.scratch("plain"))
    command("COMMAND is a directory", 1, "cannot run '/'", "/")
    command("COMMAND with an odd name", 1, "a\\nb\\x1b", "./a\nb\x1b")
    result = command("COMMAND's block", 0, "", bad.SIMJANK, "--quiet", "--scenario", "sleep:60ms", "--count", "2",
                     options=["--json", "-t", "25ms"])
    ok(len(result.blocks()) == 2 and result.blocks()[0]["process"] == "simjank", "from its first dispatch on", result)


def odd_signals():
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGINT])


def test_command_streams():
    """COMMAND gets our stdin, stdout and stderr, no other descriptor, and unchanged signals and
    limits."""
    ask = "ulimit -Sn; cat; ls -l /proc/self/fd | grep -c -- '->'; grep -E 'Sig(Blk|Ign)' /proc/self/status; echo said >&2"
    args = ["sh", "-c", ask]
    options = {"input": "read\n", "capture_output": True, "text": True, "timeout": 10, "check": False,
               "restore_signals": False, "preexec_fn": odd_signals}
    plain = subprocess.run(args, **options)
    traced = subprocess.run([bad.JANK, "-q", "--json", "-o", bad.scratch("streams"), "--", *args], **options)
    said = [line for line in traced.stdout.splitlines() if not line.startswith("{")]
    ok(said == plain.stdout.splitlines() and traced.stderr == plain.stderr,
       "COMMAND's descriptors, signals and limits are as without jankbpf", f"{plain}\n{traced}")


def test_ignored_sigchld():
    """As a careless daemon starts it."""
    run = subprocess.run([bad.JANK, "--", "sh", "-c", "sleep 0.2; exit 5"], capture_output=True, timeout=10,
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), check=False)
    ok(run.returncode == 5, "COMMAND's status, with SIGCHLD ignored", run)


def test_command_forks():
    """A process that COMMAND leaves running is not ours: no wait for it, no kill."""
    child = bad.scratch("child")
    result = bad.trace("--", "sh", "-c", f"sleep 30 >/dev/null 2>&1 & echo $! >{child}; exit 3", seconds=10)
    with open(child, encoding="utf-8") as file:
        pid = int(file.read())
    lives = os.path.exists(f"/proc/{pid}")
    ok(result.status == 3 and result.seconds < 5 and lives, "COMMAND's child outlives it", result)
    if lives:
        os.kill(pid, signal.SIGKILL)


def test_command_stopped_by_us():
    """Ctrl-C for jankbpf alone, -d, -n: COMMAND is ended, and the status is jankbpf's."""
    for name, options, sig in (("-d", ["-d", "500ms"], None), ("-n", ["-n", "1"], None), ("SIGINT", [], signal.SIGINT)):
        tracer = bad.Tracer("-t", "25ms", *options, "--", bad.SIMJANK, "--quiet", "--duration", "1h", "--scenario",
                            "sleep:40ms")
        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        if sig:
            time.sleep(0.3)
        result = tracer.stop(sig) if sig else tracer.finish()
        left = [pid for pid in children if os.path.exists(f"/proc/{pid}")]
        ok(result.status == 0 and children and not left, f"{name} ends COMMAND too", f"{children} {left} {result}")


def test_command_ignores_sigterm():
    tracer = bad.Tracer("-d", "300ms", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    result = tracer.finish(10)
    ok(result.status == 0 and result.seconds < 6, "COMMAND that ignores SIGTERM is killed", result)

IDLE = """import select, threading
def wait(): select.epoll().poll()
[threading.Thread(target=wait).start() for _ in range(8)]
wait()"""


def test_killed_in_waits(backend):
    """A wait that the end of the process cuts short returns nowhere: no dispatch."""
    process = bad.start([sys.executable, "-c", IDLE])
    time.sleep(0.5)
    tracer = bad.Tracer("--json", "-t", "1us", "--backend", backend, "-p", process.pid)
    bad.end(process)
    result = tracer.finish()
    ok(result.status == 0 and not result.blocks() and result.summary()["dispatches"] == 0,
       f"{backend}: nine threads killed in their waits", result)


bad.need_tracing()
looping = bad.target("loop", 40)
test_signals(looping)
test_ignored_hangup(looping)
test_background(looping)
test_limits(looping)
test_killed_in_waits("kernel")
test_killed_in_waits("uprobe")
test_command()
test_command_streams()
test_ignored_sigchld()
test_command_forks()
test_command_stopped_by_us()
test_command_ignores_sigterm()
bad.done()
