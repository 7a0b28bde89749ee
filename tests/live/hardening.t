#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The built programs have the compiler's and the linker's protections, by readelf."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import ROOT, Tap, need  # noqa: E402

NOTES = {"x86_64": ("IBT", "SHSTK"), "aarch64": ("BTI", "PAC")}


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def first_object(path):
    """crt1.o of the C library: without its note the linker leaves the program's out."""
    return subprocess.run([path, "-print-file-name=crt1.o"], capture_output=True, text=True, check=True).stdout.strip()


def check_file(tap, what, path, static):
    header, segments, dynamic = (readelf(option, path) for option in ("-h", "-l", "-d"))
    tap.check("DYN (Position-Independent Executable" in header or "DYN (" in header and static, f"{what}: position-independent",
              header)
    tap.check(("INTERP" in segments) != static and ("(NEEDED)" in dynamic) != static,
              f"{what}: {'needs no other file' if static else 'linked dynamically'}", segments, dynamic)
    tap.check("GNU_RELRO" in segments, f"{what}: RELRO", segments)
    tap.check(re.search(r"\((FLAGS_1|FLAGS)\).*NOW|\(BIND_NOW\)", dynamic),
              f"{what}: all symbols are bound at the start", dynamic)
    stack = re.search(r"GNU_STACK.*", segments)
    tap.check(stack and " RW " in stack.group() and "RWE" not in segments, f"{what}: nothing is writable and executable",
              segments)
    if not static:
        symbols = readelf("--dyn-syms", path)
        tap.check("__stack_chk_fail" in symbols, f"{what}: checks its stack", symbols)
        tap.check(re.search(r"__(memcpy|snprintf|vsnprintf|read|fprintf|vfprintf)_chk", symbols),
                  f"{what}: checks sizes of buffers", symbols)


def check_objects(tap, what, folder, machine):
    """Each of our objects: the program's own note depends on the C library's objects, too."""
    notes = readelf("-n", os.path.join(folder, "libjank.a")).split("\nFile: ")[1:]
    bare = [note.splitlines()[0] for note in notes if not all(word in note for word in NOTES[machine])]
    tap.check(notes and not bare, f"{what}: {len(notes)} objects have {' and '.join(NOTES[machine])}", bare[:5])
    symbols = readelf("-s", os.path.join(folder, "libjank.a"))
    tap.check("__stack_chk_fail" in symbols, f"{what}: they check their stack")
    return not bare


def check_note(tap, what, path, machine, compiler):
    first = first_object(compiler)
    if not all(word in readelf("-n", first) for word in NOTES[machine]):
        return tap.skip(f"{what}: its note", f"the C library's {os.path.basename(first)} has none")
    return tap.check(all(word in readelf("-n", path) for word in NOTES[machine]), f"{what}: its note", readelf("-n", path))


def main():
    need("readelf")
    tap = Tap()
    here = os.uname().machine
    output = os.path.join(ROOT, ".output")
    for what, folder, machine, static, compiler in (
            ("jankbpf", "rel", here, False, "cc"), ("static", "static", here, True, "cc"),
            ("arm64, static", "arm64/static", "aarch64", True, "aarch64-linux-gnu-gcc")):
        folder = os.path.join(output, folder)
        path = os.path.join(folder, "jankbpf")
        if not os.path.exists(path) or not shutil.which(compiler):
            tap.skip(what, "not built: make static")
            continue
        check_file(tap, what, path, static)
        check_objects(tap, what, folder, machine)
        check_note(tap, what, path, machine, compiler)
    tap.end()


if __name__ == "__main__":
    main()
