#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tools/android.sh with a program for bionic: real linker64, libc and android::Looper of an Android image, in an arm64
guest. BIONIC names the folder of the image that has system/bin/linker64 and system/lib64; no such file is part of this
project. What the program does is known: 80 ms on the CPU, in nanosleep and in a read of a pipe, in turn."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import device  # noqa: E402
from live import ROOT, Tap, account_error, skip_all  # noqa: E402

IMAGE = os.environ.get("BIONIC", "")
STATIC = os.path.join(ROOT, "jankbpf-aarch64")
PROGRAM = "/data/local/tmp/looper"
TURNS = 24
# Kind and the function that waits, by the handler.
# The few ticks of a busy handler may all meet the kernel.
WANTED = {"handle_busy": ({"cpu", "kernel"}, None), "handle_sleep": ({"sleep"}, "nanosleep"), "handle_pipe": ({"pipe"}, "read")}
BUILD = ["clang++", "--target=aarch64-linux-android", "-fuse-ld=lld", "-nostdlib", "-O1", "-g", "-fno-exceptions", "-fno-rtti",
         "-fPIE", "-pie", "-fasynchronous-unwind-tables", "-Wl,--dynamic-linker=/system/bin/linker64,--allow-shlib-undefined",
         "-Wl,--hash-style=sysv"]


def build(folder):
    """The program and the image's files, for the guest. A reason why not: SystemExit."""
    libraries = glob.glob(os.path.join(IMAGE, "system/lib64/*.so"))
    linked = [path for path in libraries if os.path.basename(path) in ("libutils.so", "libc.so")]
    program = os.path.join(folder, "looper")
    if not IMAGE or len(linked) < 2:
        skip_all("no image of Android: BIONIC=DIR, with system/bin/linker64 and system/lib64/libutils.so")
    try:
        done = subprocess.run([*BUILD, "-o", program, os.path.join(HERE, "bionic.cc"), *linked], capture_output=True,
                              text=True, check=False)
    except OSError as reason:
        skip_all(f"{reason}: make deps-vm")
    if done.returncode:
        skip_all(f"the program does not link with this image: {done.stderr[-400:]}")
    return [(program, PROGRAM), (os.path.join(IMAGE, "system/bin/linker64"), "/system/bin/linker64"),
            *((path, "/system/lib64/" + os.path.basename(path)) for path in libraries)]


def user_stack(sample):
    return [frame for frame in sample.get("stack", ()) if not frame.get("kernel")]


def functions(stack):
    return [frame.get("function") or "?" for frame in stack]


def handler_of(block):
    return next((name for sample in block["samples"] for name in functions(user_stack(sample)) if name in WANTED), None)


def is_right(cause, handler, kinds):
    """In an emulator a thread also waits for a CPU: its other part."""
    return any(part["kind"] in kinds and part.get("frame", {}).get("function") == handler for part in cause["parts"])


def check_stacks(tap, blocks):
    # A program that exits loses the memory of its stack before its last samples.
    stacks = [user_stack(sample) for block in blocks for sample in block["samples"]
              if user_stack(sample) and not set(functions(sample["stack"])) & {"exit_mmap", "do_exit"}]
    whole = [stack for stack in stacks if "_start" in functions(stack)[-1:]]
    tap.check(len(stacks) >= TURNS and len(whole) >= 0.99 * len(stacks), f"{len(whole)} of {len(stacks)} stacks reach _start",
              *[functions(stack) for stack in stacks if stack not in whole][:4])
    inner = [functions(stack) for stack in stacks if set(functions(stack)) & set(WANTED)]
    chain = ["on_timer", "android::Looper::pollInner", "android::Looper::pollOnce", "main", "__libc_init", "_start"]
    wrong = [stack for stack in inner if [name for name in stack if name in chain] != chain]
    tap.check(inner and not wrong, f"{len(inner)} stacks of a handler have libutils' and libc's functions", *wrong[:3])


def check_blocks(tap, dev, blocks, err, lost):
    # An emulator is so slow that the program's start is a block, too.
    long = [block for block in blocks if block["duration_ns"] >= 75000000 and block.get("phase") != "startup"]
    tap.check(len(long) >= TURNS - 2 and {block["loop"] for block in long} == {"android-looper"},
              f"{len(long)} of {TURNS} stalls are blocks of android::Looper", [b["loop"] for b in blocks], err[-1500:], dev.console())
    tap.check(not [block for block in blocks if account_error(block)], "each account sums up")
    if lost:
        tap.skip("handlers and stacks", f"the host is busy, the guest lost stacks and says so: {', '.join(lost)}")
        return
    for handler, (kinds, wait) in WANTED.items():
        found = [block["cause"] for block in long if handler_of(block) == handler]
        right = [cause for cause in found if is_right(cause, handler, kinds) and (not wait or wait in cause["summary"])]
        tap.check(len(found) >= TURNS // 3 - 2 and len(right) >= 0.9 * len(found),
                  f"{handler}: {len(right)} of {len(found)} with its kind and function", *found[:4])
    check_stacks(tap, long)


def main():
    tap = Tap()
    missing = device.why_not() or (None if os.path.exists(STATIC) else f"{STATIC} is not built: make deps-cross static")
    if missing:
        skip_all(missing)
    with tempfile.TemporaryDirectory(prefix="jank-bionic-") as folder:
        try:
            dev = device.Device(folder, build(folder))
        except device.Unavailable as reason:
            skip_all(str(reason))
        with dev:
            dev.script("push")
            done = dev.script("run", "-v", "--json", "-t", "40ms", "--", PROGRAM, str(TURNS))
            records = [json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")]
            tap.check(done.returncode == 0 and records[-1:] and records[-1]["type"] == "summary",
                      "the program runs under jankbpf, by adb", done.stdout[-600:], done.stderr[-1500:])
            lost = re.findall("[0-9]+ (?:samples_shed|samples_capped|stack_copies_shed|namer_restarted)", done.stderr)
            check_blocks(tap, dev, [record for record in records if record["type"] == "block"], done.stderr, lost)
        tap.check(dev.result.status == 0, "the guest ends well", dev.result.why)
    tap.end()


if __name__ == "__main__":
    main()
