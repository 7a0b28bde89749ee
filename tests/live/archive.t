#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A library that is mapped straight out of an APK, as on Android: stacks go through it, and its functions have names."""
import os
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, need  # noqa: E402

PAGE = 4096
ENTRY = "lib/x86_64/libarchived.so"


def source(name):
    return os.path.join(HERE, "programs", name)


def store(archive, name, path):
    """Uncompressed, and page-aligned by the extra field, as zipalign does it. Where its content begins."""
    info = zipfile.ZipInfo(name)
    begin = archive.fp.tell() + 30 + len(name)
    pad = -begin % PAGE
    if pad:
        pad += PAGE if pad < 4 else 0
        info.extra = b"\x35\xd9" + (pad - 4).to_bytes(2, "little") + bytes(pad - 4)
    with open(path, "rb") as file:
        archive.writestr(info, file.read(), zipfile.ZIP_STORED)
    return begin + pad


def build(folder):
    program, library, other = (os.path.join(folder, name) for name in ("archived", "libarchived.so", "libother.so"))
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-o", program, source("archived.c")], check=True)
    command = ["g++", "-O2", "-g", "-fno-rtti", "-fomit-frame-pointer", "-shared", "-fPIC", "-nostdlib",
               "-Wl,--build-id", "-o"]
    subprocess.run([*command, library, source("archived_lib.cc")], check=True)
    subprocess.run([*command, other, "-Wl,--build-id=md5", source("archived_lib.cc")], check=True)
    path = os.path.join(folder, "base.apk")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("AndroidManifest.xml", "x" * 3000, zipfile.ZIP_DEFLATED)
        store(archive, "lib/x86_64/libother.so", other)
        begin = store(archive, ENTRY, library)
        archive.writestr("resources.arsc", "y" * 100)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with open(path, "rb") as file:
        assert file.read()[begin:begin + 4] == b"\x7fELF" and begin % PAGE == 0
    return program, path, begin, library


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(tap, program, path, begin, library):
    at = next(line.split()[0] for line in output_of("nm", library).splitlines() if line.endswith("archived_handle"))
    build_id = output_of("readelf", "-n", library).split("Build ID: ")[1].split()[0]
    process = subprocess.Popen([program, path, str(begin), at, "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while process.stdout.readline().strip() != b"ready":
        pass
    with Trace(process.pid) as trace:
        time.sleep(2)
    process.stdin.close()
    process.wait(10)
    stacks = [sample["stack"] for block in trace.blocks for sample in block["samples"]
              if sample.get("stack") and any(f.get("function") == "busy" for f in sample["stack"])]
    tap.check(len(trace.blocks) > 5 and len(stacks) > 20, "blocks with stacks", len(trace.blocks), len(stacks))
    want = ["busy", "archived_inner", "archived_handle"]
    chains = [[frame.get("function") for frame in stack] for stack in stacks]
    whole = [chain for chain in chains if want == chain[chain.index("busy"):][:3] and "main" in chain]
    tap.check(len(whole) == len(chains), "each stack goes through the library to main",
              *[chain for chain in chains if chain not in whole][:3])
    of_it = [frame for stack in stacks for frame in stack if (frame.get("function") or "").startswith("archived_")]
    tap.check({frame.get("module") for frame in of_it} == {f"{path}!/{ENTRY}"}, "the module says where it is",
              {frame.get("module") for frame in of_it})
    tap.check({frame.get("build_id") for frame in of_it} == {build_id}, "and has the library's build id")
    tap.check({os.path.basename(frame.get("file", "")) for frame in of_it} == {"archived_lib.cc"}, "and lines")


def main():
    need("gcc", "g++", "nm", "readelf")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-archive-", dir="/var/tmp") as folder:
        check(tap, *build(folder))
    tap.end()


if __name__ == "__main__":
    main()
