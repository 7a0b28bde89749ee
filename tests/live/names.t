#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of threads, programs and functions with quotes, newlines, control bytes and broken
UTF-8."""
import hashlib
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

# At most 15 bytes, as a comm.
HOSTILE = {
    "quotes": b'a"b\'c`d\\e',
    "a newline": b"x\ny\r\nz",
    "control bytes": b"\x1b[31m\x07\x08\x7f\x01",
    "broken UTF-8": b"\xff\xfe\xc3(\xe2\x82\xf0",
    "C1 controls": b"\xc2\x9b31m\xc2\x85q",
    "a surrogate": b"\xed\xa0\x80\xed\xbf\xbf",
    "15 bytes": b"abcdefghijklmno",
    "a cut character": b"abcdefghijklm\xe2\x82",
    "a right-to-left mark": b"ab\xe2\x80\xaecd",
    "BlockCanary's separator": b"a = b",
    "a white-listed name": b"org.chromium",
    "braces": b"{}[](),:",
    "a format": b"%s%n%5$x",
    "blanks": b"  a  b ",
}
BUILD_ID = re.compile(rb"(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}", re.DOTALL)
NEVER = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]")


def name_of(what):
    return HOSTILE[what].replace(b"/", b"_")


def clean(raw):
    """UTF-8 without control bytes except newlines, so that the text cannot control a terminal."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not NEVER.search(raw)


def patched(name, *functions):
    """A copy of the target with another name of the same length for the handler's symbol, and a build id
    of its own: files with the same one share their names."""
    path = os.path.join(os.fsencode(bad.SCRATCH), name)
    with open(bad.TARGET, "rb") as file:
        code = file.read()
    for old, new in functions:
        new = new[:len(old)].ljust(len(old), b"_")
        assert old + b"\0" in code
        code = code.replace(old + b"\0", new + b"\0")
    code = BUILD_ID.sub(lambda note: note[1] + hashlib.sha1(name).digest(), code)
    with open(path, "wb") as file:
        file.write(code)
    os.chmod(path, 0o755)
    return path


def start_named(what):
    """A program of that name, with a thread and a handler of that name. It is busy for a tenth of the
    time: there are many."""
    name = name_of(what)
    exe = patched(name, (b"handle_busy", name))
    process = bad.target("storm", 1, 40000, 360, exe=exe, env={b"TARGET_COMM": name})
    os.unlink(exe)
    return process


def blocks_of(records, process):
    return [r for r in records if r["type"] == "block" and r["pid"] == process.pid]


def has_enough(records, process):
    """Two blocks, and a stack: the first ones come before the probes that take stacks."""
    blocks = blocks_of(records, process)
    return len(blocks) >= 2 and any(block["samples"] for block in blocks)


def whole_records(tracer):
    return [json.loads(line) for line in tracer.stdout().splitlines(keepends=True) if line.endswith(b"\n")]


def check_one(what, process, result, replayed):
    name = name_of(what)
    blocks = blocks_of(result.records(), process)
    names = {(b["process"], b["thread"]) for b in blocks}
    expected = name.decode("utf-8", "replace")
    ascii_only = all(32 < byte < 127 for byte in name)
    ok(len(names) == 1 and (not ascii_only or names == {(expected, expected)}), f"{what}: the same name everywhere", names)
    frames = [f["function"] for b in blocks for s in b["samples"] for f in s["stack"]
              if "function" in f and "module" in f and not f.get("kernel")]
    ok(not ascii_only or any(f.startswith(expected.split("(")[0][:11]) for f in frames), f"{what}: the symbol", frames)
    ok(len(blocks) == len(blocks_of(replayed.records(), process)) >= 2, f"{what}: journal and replay", replayed)


def test_names():
    """All at once: a tracer takes longer to start than to see them."""
    processes = {what: start_named(what) for what in HOSTILE}
    args = ["-t", "25ms", *(word for process in processes.values() for word in ("-p", process.pid))]
    text = bad.trace(*args, "-n", 4 * len(HOSTILE))
    ok(text.status == 0 and clean(text.raw) and clean(text.err.encode()), "text", text)
    unseen = [what for what, process in processes.items() if f"pid {process.pid}" not in text.out]
    ok(not unseen, "the text has all of them", f"{unseen} {text}")
    directory, journal = bad.scratch("dir"), bad.scratch("journal")
    tracer = bad.Tracer(*args, "--json", "-o", directory, "--journal", journal)
    bad.wait_for(lambda: all(has_enough(whole_records(tracer), each) for each in processes.values()))
    result = tracer.stop()
    bad.end(*processes.values())
    replayed = bad.trace("replay", "--json", journal)
    ok(result.status == 0 and replayed.status == 0, "--json, -o and --journal", f"{result}\n{replayed}")
    bad.valid(result, "JSON")
    for what, process in processes.items():
        check_one(what, process, result, replayed)
    logs = [f"{directory}/{entry}" for entry in os.listdir(directory) if entry.endswith(".log")]
    run = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(len(logs) == len(result.of("block")) and run.returncode == 0, f"BlockCanary's {len(logs)} logs", run.stdout + run.stderr)


def test_cmdline():
    """A program's command line gives no names."""
    process = bad.start([b"\x1b]0;owned\x07\n\xff", b"loop", b"40\n\xff"], executable=bad.TARGET,
                        stdout=subprocess.PIPE)
    process.stdout.readline()
    result = bad.trace("-t", "25ms", "-n", "2", "-v", "-p", process.pid)
    ok(result.status == 0 and clean(result.raw) and clean(result.err.encode()), "a hostile command line", result)
    bad.end(process)


def test_long():
    """Names as long as the kernel allows."""
    name = b"n" * 255
    exe = patched(name)
    process = bad.target("loop", 40, exe=exe)
    result = bad.trace("--json", "-t", "25ms", "-n", "1", "-p", process.pid)
    ok(result.status == 0 and result.blocks()[0]["process"] == name.decode(), "a name of 255 bytes, in full", result)
    text = bad.trace("-t", "25ms", "-n", "1", "-p", process.pid)
    ok(max(len(line) for line in text.out.splitlines()) <= 110, "text cuts it", text)
    bad.end(process)


bad.need_tracing()
test_names()
test_cmdline()
test_long()
bad.done()
