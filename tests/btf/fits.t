#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The types in btf/ resolve all that the probes read, on each architecture, and types minimised
here resolve as much as the full ones. Nothing is loaded."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, "tests", "lib")]
sys.dont_write_bytecode = True
import core  # noqa: E402
import live  # noqa: E402

OBJECTS = ("jankbpf", "jankbpf_plain", "calibrate")
OWN = "/sys/kernel/btf/vmlinux"
NATIVE = {"x86_64": "x86", "aarch64": "arm64"}.get(os.uname().machine)

tap = live.Tap()


def objects(arch):
    folder = os.path.join(ROOT, ".output", "" if arch == NATIVE else arch)
    return [os.path.join(folder, name + ".bpf.o") for name in OBJECTS]


def minimised(source, obj, folder):
    path = os.path.join(folder, "min.btf")
    subprocess.run([core.BPFTOOL, "gen", "min_core_btf", source, path, obj], check=True)
    return core.Types(path)


def check_kernel(path, arch):
    name = os.path.relpath(path, ROOT)
    kernel = core.Types(path)
    for obj in objects(arch):
        if not os.path.exists(obj):
            tap.skip(f"{name}: {os.path.basename(obj)}", f"not built for {arch}")
            continue
        missing = core.unanswered(obj, kernel)
        tap.check(not missing, f"{name} has all types that {os.path.basename(obj)} reads", ", ".join(missing))


def check_seeded(path):
    """A kernel's types lack fields if they were not minimised for these probes."""
    probes, small = objects(NATIVE)[1], objects(NATIVE)[2]
    with tempfile.TemporaryDirectory() as folder:
        missing = core.unanswered(probes, minimised(path, small, folder))
    tap.check({"task_struct.comm", "task_struct___old_state.state"} <= set(missing),
              f"missing fields are noticed: {len(missing)} of them", missing)
    read, _ = core.paths(probes)
    tap.check(len(read) > 20, f"the probes read {len(read)} fields and types")


def check_helper():
    """tools/btf's helper keeps everything that a probe reads."""
    if not os.access(OWN, os.R_OK):
        tap.skip("the helper reads all that the probes read", f"no {OWN}")
        return
    whole = core.Types(OWN)
    with tempfile.TemporaryDirectory() as folder:
        small = minimised(OWN, os.path.join(ROOT, ".output", "btf_helper.bpf.o"), folder)
    for obj in objects(NATIVE):
        tap.check(core.unanswered(obj, small) == core.unanswered(obj, whole) == [],
                  f"the helper reads all that {os.path.basename(obj)} reads", core.unanswered(obj, small))
    tap.check(len(small.by_id) < 200, f"… and keeps {len(small.by_id)} of {len(whole.by_id)} types")


def check_table():
    """The table has a file's own release and its patterns, with the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("5.4-a.btf", "\x01\x02"), ("5.10-b.btf", "\x03"),
                           ("5.10-b.match", "# GKI\n\n5.10.*-android12-*\n5.10-c\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([os.path.join(ROOT, "tools", "btf", "table"), folder], stdout=subprocess.PIPE, text=True,
                              check=True)
    rows = re.findall(r'{ "(.*)", (btf_\d), sizeof\((btf_\d)\) }', done.stdout)
    tap.check(rows == [("5.10-b", "btf_0", "btf_0"), ("5.10.*-android12-*", "btf_0", "btf_0"),
                       ("5.10-c", "btf_0", "btf_0"), ("5.4-a", "btf_1", "btf_1")], "patterns make rows too", done.stdout)
    tap.check(re.findall(r"0x\w\w,", done.stdout) == ["0x03,", "0x01,", "0x02,"], "… with the files' bytes", done.stdout)


def main():
    if not NATIVE:
        live.skip_all(f"no probes for {os.uname().machine}")
    if not shutil.which("llvm-objcopy"):
        live.skip_all("no llvm-objcopy")
    kernels = {arch: sorted(glob.glob(os.path.join(ROOT, "btf", arch, "*.btf"))) for arch in ("x86", "arm64")}
    for arch, paths in kernels.items():
        tap.check(len(paths) >= 2, f"there are kernels for {arch}")
        for path in paths:
            check_kernel(path, arch)
    check_seeded(kernels[NATIVE][0])
    check_helper()
    check_table()
    tap.end()


if __name__ == "__main__":
    main()
