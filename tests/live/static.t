#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The static programs: one file each, without dependencies.

jankbpf runs in a root that has only itself, proc and sys, without an environment. Its records of a
static simjank must agree with simjank's truth, with both backends.
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import live  # noqa: E402
from live import ROOT, Tap, functions, modules, need  # noqa: E402

MACHINES = {62: "x86_64", 183: "aarch64"}
SIZE_MAX = 5_900_000
PT_DYNAMIC, PT_INTERP = 2, 3
SHT_SYMTAB = 2

# Inside the root, the machine's files are visible only through a traced process in proc. {tmp} has
# the test's own files; the other two are for a simjank outside.
BARE = """#!/bin/sh
exec unshare -m sh -ec '
	mount -t proc proc {root}/proc
	mount --rbind /sys {root}/sys
	mount --bind {tmp} {root}{tmp}
	[ ! -e {root}/dev ] || mount --bind /dev/zero {root}/dev/zero
	[ ! -e {root}/dev ] || mount --bind /var/tmp {root}/var/tmp
	exec env -i "$(command -v chroot)" {root} /jankbpf "$@"' sh "$@"
"""


def truth_t():
    """Does for the static programs what truth.t does for each build."""
    loader = importlib.machinery.SourceFileLoader("truth", os.path.join(HERE, "truth.t"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    return module


class Elf:
    """The header fields of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no such ELF file")
        self.machine = MACHINES.get(struct.unpack_from("<H", self.data, 18)[0])
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", self.data, 54)
        self.segments = {struct.unpack_from("<I", self.data, phoff + i * phentsize)[0] for i in range(phnum)}
        self.sections = {struct.unpack_from("<I", self.data, shoff + i * shentsize + 4)[0]
                         for i in range(shnum)}


def folder_of(machine):
    return os.path.join(ROOT, ".output", *([] if machine == os.uname().machine else ["arm64"]), "static")


def check_files(tap, machine):
    folder = folder_of(machine)
    for name in ("jankbpf", "simjank", "veristat"):
        elf = Elf(os.path.join(folder, name))
        tap.check(elf.machine == machine, f"{machine}: {name} is for it", elf.machine)
        linked = {PT_INTERP} if name == "jankbpf" else {PT_DYNAMIC, PT_INTERP}  # jankbpf: static-pie
        tap.check(not elf.segments & linked, f"{machine}: {name} is static", elf.segments)
        tap.check(len(elf.data) < SIZE_MAX, f"{machine}: {name} has {len(elf.data) / 1e6:.2f} MB")
        tap.check((SHT_SYMTAB in elf.sections) == (name == "simjank"),
                  f"{machine}: only traced programs have symbols: {name}", elf.sections)
    link = os.path.join(ROOT, f"jankbpf-{machine}")
    tap.check(os.path.realpath(link) == os.path.join(folder, "jankbpf"), f"{link[len(ROOT) + 1:]} is a link to it")


def bare_root(folder, *beside):
    """A root with the static jankbpf and the named files, and a command that runs jankbpf in it."""
    root, tmp = os.path.join(folder, "root"), tempfile.gettempdir()
    for name in ("proc", "sys", tmp[1:]):
        os.makedirs(os.path.join(root, name))
    for name in ("jankbpf", *beside):
        shutil.copy(os.path.join(folder_of(os.uname().machine), name), root)
    if beside:
        for name in ("dev", "var/tmp"):
            os.makedirs(os.path.join(root, name), exist_ok=True)
        with open(os.path.join(root, "dev", "zero"), "wb"):
            pass
    command = os.path.join(folder, "bare")
    with open(command, "w", encoding="utf-8") as file:
        file.write(BARE.format(root=root, tmp=tmp))
    os.chmod(command, 0o755)
    return command


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, re.sub(r"\d+ kB|MemAvailable.*", "", done.stdout + done.stderr)


# It has no libmicrohttpd, so that by default it serves no metrics.
LISTEN, NO_LISTEN = "(default 127.0.0.1:9435)", "(default off)"


def check_alike(tap, command):
    """It prints what the dynamic one prints, but for one default."""
    for options in (["--version"], ["--help"], ["doctor"], ["--schema"], ["-p", "999999999"], ["--no-such"]):
        ours, theirs = run(command, *options), run(live.JANKBPF, *options)
        theirs = tuple(part.replace(LISTEN, NO_LISTEN) if isinstance(part, str) else part for part in theirs)
        tap.check(ours == theirs, f"{' '.join(options)}: as the dynamic one", ours, theirs)


def check_names(tap, what, path):
    """The symbolizer works without other files."""
    blocks = [b for b in live.json.loads("[" + ",".join(open(path, encoding="utf-8")) + "]")
              if b["type"] == "block"]
    named = [b for b in blocks if functions(b) and "simjank" in modules(b)]
    kernel = [b for b in blocks if any(f.get("kernel") and "function" in f for f in live.frames(b))]
    tap.check(len(named) * 2 > len(blocks), f"{what}: functions have names", len(named), len(blocks))
    tap.check(kernel, f"{what}: the kernel's too", len(blocks))


def check_truth(tap, truth, backend, runner, beside):
    what = f"static, {backend}, {runner.__name__}"
    options = [*truth.WORK, "--duration", "5s"]
    with tempfile.TemporaryDirectory() as folder:
        truth.JANKBPF = live.JANKBPF = bare_root(folder, *beside)
        try:
            path, blocks = runner(folder, "simjank", backend, options)
        except (RuntimeError, subprocess.SubprocessError) as error:
            tap.check(False, what, error)
            return
        truth.judge(tap, what, path, blocks, ["--loop", "epoll"])
        check_names(tap, what, blocks)


def check_top(tap, machine):
    """The static program draws by escape sequences: the test of the other one's screen, with it."""
    if not shutil.which("tmux"):
        tap.skip("static: jankbpf top", "tmux is not installed")
        return
    done = subprocess.run([sys.executable, os.path.join(live.ROOT, "tests", "live", "top.t")], capture_output=True,
                          text=True, timeout=300, check=False,
                          env={**os.environ, "JANKBPF": os.path.join(folder_of(machine), "jankbpf")})
    wrong = [line for line in done.stdout.splitlines() if not line.startswith(("ok", "1.."))]
    tap.check(not done.returncode and not wrong, "static: jankbpf top", *wrong, done.stderr)


def main():
    machine = os.uname().machine
    if not os.path.exists(os.path.join(folder_of(machine), "jankbpf")):
        print("Bail out! not built: make static")
        sys.exit(1)
    need("unshare")
    tap = Tap()
    check_files(tap, machine)
    if machine != "aarch64" and not os.path.exists(os.path.join(folder_of("aarch64"), "jankbpf")):
        tap.skip("aarch64", "not built: the cross compiler or its libraries are not installed (make deps-cross)")
    elif machine != "aarch64":
        check_files(tap, "aarch64")
    with tempfile.TemporaryDirectory() as folder:
        check_alike(tap, bare_root(folder))
    truth = truth_t()
    truth.simjank = lambda _: "/simjank"
    check_truth(tap, truth, "kernel", truth.run_command, ["simjank"])
    truth.simjank = lambda name: os.path.join(folder_of(machine), name)
    check_truth(tap, truth, "uprobe", truth.run_pid, [])
    check_top(tap, machine)
    tap.end()


if __name__ == "__main__":
    main()
