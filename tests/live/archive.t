#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A library that is mapped out of an APK, as on Android: stacks go through it, its functions have
names (from the library or from an APK with symbols), and probes can be placed in it."""
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import JANKBPF, Tap, Trace, need  # noqa: E402

PAGE = 4096
ENTRY = "lib/x86_64/libarchived.so"
LOOP_FILE = """
[archived]
about = a library in an archive
library = libarchived.so
wait = epoll
mark = archived_handle
	what = arg1
"""


def source(name):
    return os.path.join(HERE, "programs", name)


def store(archive, name, path):
    """Stores an entry uncompressed, page-aligned by the extra field as zipalign does it. Returns
    where its content begins."""
    info = zipfile.ZipInfo(name)
    begin = archive.fp.tell() + 30 + len(name)
    pad = -begin % PAGE
    if pad:
        pad += PAGE if pad < 4 else 0
        info.extra = b"\x35\xd9" + (pad - 4).to_bytes(2, "little") + bytes(pad - 4)
    with open(path, "rb") as file:
        archive.writestr(info, file.read(), zipfile.ZIP_STORED)
    return begin + pad


def pack(path, library, other, compressed=False):
    """An APK with the library in it. Returns where its content begins."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("AndroidManifest.xml", "x" * 3000, zipfile.ZIP_DEFLATED)
        store(archive, "lib/x86_64/libother.so", other)
        if compressed:
            archive.write(library, ENTRY, zipfile.ZIP_DEFLATED)
            begin = None
        else:
            begin = store(archive, ENTRY, library)
        archive.writestr("resources.arsc", "y" * 100)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    return begin


def build(folder):
    program, library, other = (os.path.join(folder, name) for name in ("archived", "libarchived.so", "libother.so"))
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-o", program, source("archived.c")], check=True)
    command = ["g++", "-O2", "-g", "-fno-rtti", "-fomit-frame-pointer", "-shared", "-fPIC", "-nostdlib",
               "-Wl,--build-id", "-o"]
    subprocess.run([*command, library, source("archived_lib.cc")], check=True)
    subprocess.run([*command, other, "-Wl,--build-id=md5", source("archived_lib.cc")], check=True)
    path = os.path.join(folder, "base.apk")
    begin = pack(path, library, other)
    with open(path, "rb") as file:
        assert file.read()[begin:begin + 4] == b"\x7fELF" and begin % PAGE == 0
    return program, path, begin, library


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def address_of(library, function):
    return next(line.split()[0] for line in output_of("nm", library).splitlines() if line.endswith(function))


class Program:
    """Runs the library's function in a loop until the end of the block."""

    def __init__(self, program, path, begin, *functions, busy_ms=60):
        handle, *wait = functions
        self.process = subprocess.Popen([program, path, str(begin), handle, str(busy_ms), *wait], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        while self.process.stdout.readline().strip() != b"ready":
            pass
        return self.process

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


def check(tap, program, path, begin, library):
    at = address_of(library, "archived_handle")
    build_id = output_of("readelf", "-n", library).split("Build ID: ")[1].split()[0]
    with Program(program, path, begin, at) as process:
        with Trace(process.pid) as trace:
            time.sleep(2)
    stacks = [sample["stack"] for block in trace.blocks for sample in block["samples"]
              if sample.get("stack") and any(f.get("function") == "busy" for f in sample["stack"])]
    tap.check(len(trace.blocks) > 5 and len(stacks) > 20, "blocks with stacks", len(trace.blocks), len(stacks))
    want = ["busy", "archived_inner", "archived_handle"]
    chains = [[frame.get("function") for frame in stack] for stack in stacks]
    whole = [chain for chain in chains if want == chain[chain.index("busy"):][:3] and "main" in chain]
    tap.check(len(whole) == len(chains), "each stack goes through the library to main",
              *[chain for chain in chains if chain not in whole][:3])
    of_it = [frame for stack in stacks for frame in stack if (frame.get("function") or "").startswith("archived_")]
    tap.check({frame.get("module") for frame in of_it} == {f"{path}!/{ENTRY}"}, "the module names the archive and the entry",
              {frame.get("module") for frame in of_it})
    tap.check({frame.get("build_id") for frame in of_it} == {build_id}, "the frames have the library's build id")
    tap.check({os.path.basename(frame.get("file", "")) for frame in of_it} == {"archived_lib.cc"}, "and lines")


def functions_of(text, module):
    """The module's function names: in stacks, and in causes."""
    for record in map(json.loads, text.splitlines()):
        stacks = [sample["stack"] for sample in record.get("samples", ())] + [[record.get("cause", {}).get("frame") or {}]]
        yield from (frame.get("function") for stack in stacks for frame in stack if frame.get("module") == module)


def symbolize(records, *dirs):
    options = [word for each in dirs for word in ("--debug-dir", each)]
    return subprocess.run([JANKBPF, "symbolize", *options, records], capture_output=True, text=True, check=True)


def check_offline(tap, folder, program, path, library):
    """Records of a stripped library, and archives with the unstripped one: in a --debug-dir, or at
    the record's own path."""
    at, other = address_of(library, "archived_handle"), os.path.join(folder, "libother.so")
    stripped, whole = os.path.join(folder, "stripped.so"), os.path.join(folder, "whole.apk")
    records, none = os.path.join(folder, "records"), os.path.join(folder, "none")
    subprocess.run(["strip", "-o", stripped, library], check=True)
    begin = pack(path, stripped, other)
    with Program(program, path, begin, at) as process:
        with Trace(process.pid) as trace:
            time.sleep(1)
    trace.keep(records)
    module = f"{path}!/{ENTRY}"
    before = list(functions_of(trace.lines, module))
    tap.check(None in before and "archived_inner" not in before, "a stripped library's frames have no name", set(before))
    os.mkdir(none)
    got = symbolize(records, none)
    tap.check(got.stdout == trace.lines and module in got.stderr, "an archive without the name gives none", got.stderr)
    for name, compressed in (("stored", False), ("compressed", True)):
        where = os.path.join(folder, name)
        os.mkdir(where)
        pack(os.path.join(where, "other-name.apk"), library, other, compressed)
        got = symbolize(records, where)
        tap.check(None not in list(functions_of(got.stdout, module)) and "archived_inner" in got.stdout,
                  f"{name} in an archive of a --debug-dir: each frame has a name", got.stderr, set(functions_of(got.stdout, module)))
        tap.check("archived_lib.cc" in got.stdout, f"{name}: and a line")
        done = subprocess.run([JANKBPF, "replay", "--json", "--debug-dir", where, trace.journal], capture_output=True,
                              text=True, check=True)
        tap.check(None not in list(functions_of(done.stdout, module)), f"{name}: so it is in a replay", done.stderr)
    with open(os.path.join(folder, "compressed", "other-name.apk"), "r+b") as file:
        with zipfile.ZipFile(file) as archive:
            member = archive.getinfo(ENTRY)
        file.seek(member.header_offset + 30 + len(ENTRY) + member.compress_size - 40)
        file.write(bytes(40))
    got = symbolize(records, os.path.join(folder, "compressed"))
    tap.check(got.stdout == trace.lines and f"{ENTRY} cannot be unpacked" in got.stderr, "a damaged library is reported", got.stderr,
              got.stdout == trace.lines)
    pack(whole, library, other)
    os.rename(whole, path)
    got = symbolize(records)
    tap.check(None not in list(functions_of(got.stdout, module)), "names come from the archive that the record names", got.stderr)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 1)
    got = symbolize(records)
    tap.check(got.stdout == trace.lines, "a damaged archive gives no names", got.stderr)


def check_probed(tap, folder, program, path, begin, library):
    """The kernel accepts a probe inside the archive, and the found loops name the archive."""
    loop_file = os.path.join(folder, "archived.loop")
    with open(loop_file, "w", encoding="utf-8") as file:
        file.write(LOOP_FILE)
    functions = [address_of(library, name) for name in ("archived_handle", "archived_wait")]
    with Program(program, path, begin, *functions, busy_ms=1) as process:
        found = output_of(JANKBPF, "loops", "-v", "-p", str(process.pid), "-d", "1s", "--loop-file", loop_file)
    with Program(program, path, begin, *functions) as process:
        with Trace(process.pid, options=["--loop-file", loop_file, "--marks", "always"]) as trace:
            time.sleep(1.5)
    tap.check(f"in {path}!/{ENTRY}" in found and "1 of 1 functions" in found, "the function is found in the archive", found)
    whats = [block.get("message", {}).get("what") for block in trace.blocks]
    tap.check({block["loop"] for block in trace.blocks} == {"archived"}, "the archived library identifies the loop",
              {block["loop"] for block in trace.blocks})
    probed = whats[whats.index("60"):] if "60" in whats else [] # the first blocks are older than the probes
    tap.check(len(probed) > 5 and probed.count("60") >= len(probed) - 2, "and is probed: its argument names the messages", whats,
              trace.messages)


def main():
    need("gcc", "g++", "nm", "readelf", "strip")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-archive-", dir="/var/tmp") as folder:
        program, path, begin, library = build(folder)
        check(tap, program, path, begin, library)
        check_probed(tap, folder, program, path, begin, library)
        check_offline(tap, folder, program, path, library)
    tap.end()


if __name__ == "__main__":
    main()
