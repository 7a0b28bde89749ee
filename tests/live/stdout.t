#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A stdout that is closed, full, blocked or never existed; the same for stderr."""
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

MEMORY_MAX_KB = 60 * 1024


def test_head(process, options):
    left = bad.scratch("left")
    command = f"{bad.JANK} {options} -p {process.pid} | {{ head -1; echo $EPOCHREALTIME >{left}; }}"
    run = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60,
                         check=False)
    with open(left, encoding="ascii") as file:
        seconds = time.time() - float(file.read())
    complaints = bad.Result(run.returncode, run.stdout, run.stderr, seconds).complaints()
    ok(run.returncode == 0 and run.stdout.count("\n") == 1 and not complaints and seconds < 3,
       f"{options} | head -1 ends by itself", f"{seconds} {run}")


def test_reader_leaves():
    """It notices that the reader left even if it has no block to write."""
    process = bad.target("loop", 1)
    for what in ("pipe", "socket"):
        reader, writer = os.pipe() if what == "pipe" else [s.detach() for s in socket.socketpair()]
        tracer = bad.Tracer("-p", process.pid, stdout=writer)
        os.close(writer)
        begin = time.monotonic()
        os.close(reader)
        result = tracer.finish(5)
        ok(result.status == 0 and time.monotonic() - begin < 1.5, f"the {what}'s reader leaves: it ends within a second",
           result)
    bad.end(process)


def test_terminal_leaves():
    process = bad.target("loop", 40)
    leader, follower = pty.openpty()
    tracer = bad.Tracer("-t", "25ms", "-p", process.pid, stdout=follower)
    os.close(follower)
    wait_readable(leader)
    os.close(leader)
    result = tracer.finish(5)
    ok(result.status == 1, "a closed terminal ends it", result)
    bad.end(process)


def wait_readable(fd, seconds=5):
    return select.select([fd], [], [], seconds)[0]


def on_terminal(*options):
    """Runs with a terminal as stdout. Returns what the terminal shows, and the result."""
    leader, follower = pty.openpty()
    shown = []

    def show():
        try:
            while data := os.read(leader, 65536):
                shown.append(data)
        except OSError:  # EIO: the other side is closed
            pass

    tracer = bad.Tracer(*options, wait=False, stdout=follower)
    os.close(follower)
    reader = threading.Thread(target=show)
    reader.start()
    result = tracer.finish()
    reader.join()
    os.close(leader)
    return b"".join(shown), result


def messages(stream):
    """The number of messages in a stream, each after its length as a varint; -1: the last one is
    torn."""
    at = count = 0
    while at < len(stream):
        size = shift = 0
        while at < len(stream):
            byte = stream[at]
            size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
            if not byte & 128:
                break
        at, count = at + size, count + 1
    return count if at == len(stream) else -1


def test_binary(process):
    """Protobuf messages are for files and programs. On a terminal they are refused, or text is
    shown instead."""
    options = ("-t", "25ms", "-n", "3", "--format", "proto", "-p", process.pid)
    result = bad.trace(*options)
    ok(result.status == 0 and messages(result.raw) == 4, "--format proto: three blocks and a summary in a file",
       f"{messages(result.raw)} messages, {result.err}")
    shown, result = on_terminal(*options)
    ok(result.status == 2 and not shown and result.err.count("\n") == 1 and "or give -o DIR" in result.err,
       "on a terminal it is refused, with the remedy", f"{shown} {result}")
    directory = bad.scratch("proto")
    shown, result = on_terminal(*options, "-o", directory)
    with open(f"{directory}/blocks.pb", "rb") as file:
        kept = messages(file.read())
    ok(result.status == 0 and b"\0" not in shown and shown.count(b"handle_sleep") >= 3 and b"3 blocks" in shown,
       "with -o the terminal shows text", f"{shown} {result}")
    ok(kept == 4 and not os.path.exists(f"{directory}/blocks.jsonl"), "and DIR has the messages, no JSON",
       f"{kept} messages, {os.listdir(directory)}")


def test_full(process):
    """/dev/full: tracing goes on, each missing record is counted, and -o has them all."""
    for options in ([], ["--json"]):
        directory = bad.scratch("full" + "".join(options))
        with open("/dev/full", "wb") as full:
            tracer = bad.Tracer("-t", "25ms", "-n", "10", "-o", directory, *options, "-p", process.pid, stdout=full)
            result = tracer.finish()
        with open(f"{directory}/blocks.jsonl", encoding="utf-8") as file:
            kept = len(file.readlines())
        ok(result.status == 1 and kept == 11 and re.search(r"lost: .*\b11 unwritten_records", result.err)
           and result.err.count("No space left") == 1, f"stdout is a full device {options}", result)


def test_closed(process):
    """Records must not go to a descriptor that was closed at the start."""
    for closing in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
        directory = bad.scratch("closed" + str(hash(closing)))
        command = f"exec {bad.JANK} -t 25ms -n 3 -o {directory} -p {process.pid} {closing}"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=20, check=False)
        complaints = bad.validate(f"{directory}/blocks.jsonl")
        ok(run.returncode == 0 and not complaints, f"started with {closing}", f"{complaints} {run}")


def start_blocked(process, *options):
    reader, writer = os.pipe()
    tracer = bad.Tracer("--json", *options, "-p", process.pid, stdout=writer)
    os.close(writer)
    return tracer, reader


def test_blocked():
    """Nobody reads: the queue is bounded, losses are counted, and a second Ctrl-C ends the
    waiting."""
    process = bad.target("storm", 2, 1500)
    tracer, reader = start_blocked(process, "-t", "1ms", "-F", "999")
    time.sleep(8)
    memory = bad.pss_kb(tracer.pid)
    ok(memory < MEMORY_MAX_KB, f"a stdout that nobody reads: {memory} KiB", tracer.stderr())
    tracer.process.send_signal(signal.SIGINT)
    held = bad.held(tracer.pid)
    ok(bad.wait_for(lambda: "Ctrl-C again" in tracer.stderr(), 8), "Ctrl-C: a message says that it waits for the reader", tracer.stderr())
    ok(not bad.left({item for item in held if item[0] == "link"}), "and all probes are detached by then")
    tracer.process.send_signal(signal.SIGINT)
    result = tracer.finish(5)
    ok(result.status == -signal.SIGINT, "a second Ctrl-C ends it", result)
    os.close(reader)
    bad.end(process)


def test_stuck():
    """Nobody reads, and nobody is there for a second Ctrl-C: a run with a duration ends all the same."""
    process = bad.target("storm", 2, 1500)
    tracer, reader = start_blocked(process, "-t", "1ms", "-d", "2s")
    result = tracer.finish(150)
    ok(result.status == 1, "a stuck stdout: -d ends with status 1", result)
    ok("stdout took no record for" in result.err and "given up" in result.err, "with the reason", result.err)
    ok("unwritten_records" in result.err, "what is missing is counted", result.err)
    os.close(reader)
    bad.end(process)


def test_slow():
    """A late reader gets everything that the summary counts."""
    process = bad.target("storm", 2, 1500)
    tracer, reader = start_blocked(process, "-t", "1ms")
    time.sleep(5)
    tracer.process.send_signal(signal.SIGINT)
    bad.wait_for(lambda: "Ctrl-C again" in tracer.stderr(), 8)
    with os.fdopen(reader, "rb") as file:
        raw = file.read()
    result = tracer.finish(5)
    result.raw = raw
    summary = result.summary() or {"lost": {}, "blocks": -1, "loops": []}
    written, lost = len(result.of("block")), summary["lost"].get("queue_full", 0)
    over = sum(bucket["count"] for loop in summary["loops"] for bucket in loop["buckets"] if bucket.get("upper_ns", MS + 1) > MS)
    ok(result.status == 0 and written == summary["blocks"] and over <= written + lost, f"a late reader ({written} blocks, "
       f"{summary['lost']}): every missing record is counted", result.err)
    bad.valid(result, "and the records are whole")
    bad.end(process)


bad.need_tracing()
looping = bad.target("loop", 40)
for words in ("-t 25ms", "-t 25ms --json", "-t 25ms -q", "-t 25ms --backend uprobe"):
    test_head(looping, words)
test_reader_leaves()
test_terminal_leaves()
test_binary(looping)
test_full(looping)
test_closed(looping)
test_blocked()
test_stuck()
test_slow()
bad.done()
