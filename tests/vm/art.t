#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compiled code of Android's runtime on arm64: the stand-ins of tests/live/art.t and art_method.t in a guest. The walk
leaves methods by the tables of ART's list, or by the ArtMethod on each frame, and names them. JANK_VM names another
kernel."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import art  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
from live import Tap, skip_all  # noqa: E402

KERNEL = os.environ.get("JANK_VM", "arm64/6.12")
COMPILER = "aarch64-linux-gnu-gcc"
LIBRARIES = ("ld-linux-aarch64.so.1", "libc.so.6")
PLACES = ("/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib", "/lib")
TIMEOUT_S = 240
TURNS = 20
SCRIPT = """
for way in typed plain; do
	[ $way = typed ] && without= || without='--disable-feature tp_btf'
	/jankbpf --json -t 25ms -F 99 -d 25s $without -- /lib/ld-linux-aarch64.so.1 --library-path /lib:/app /app/app 900 /out/$way.turns \\
		>/out/$way.out 2>/out/$way.err
done
/jankbpf --json -t 25ms -F 99 -d 40s -- /lib/ld-linux-aarch64.so.1 --library-path /lib:/methods /methods/app /methods/classes.dex \
	/methods/base.odex 700 /out/methods.turns >/out/methods.out 2>/out/methods.err
exit 0
"""


def library(name):
    found = [path for path in (os.path.join(place, name) for place in PLACES) if os.path.exists(path)]
    if not found:
        raise apt.Unavailable(f"no {name} of arm64 (make deps-cross)")
    return os.path.realpath(found[0])


def main():
    tap = Tap()
    if not shutil.which(COMPILER):
        skip_all(f"no {COMPILER} (make deps-cross)")
    with tempfile.TemporaryDirectory(prefix="jank-art-") as folder, tempfile.TemporaryDirectory(prefix="jank-art-") as built, \
            tempfile.TemporaryDirectory(prefix="jank-art-") as methods:
        try:
            program = guests.static("arm64", "jankbpf")
            guests.need_built([program], "deps-cross static")
            art.build(built, "art_app", COMPILER, ["art_runtime.c"])
            files = [(program, "/jankbpf"), (os.path.join(built, "app"), "/app/app"), (os.path.join(built, "libart.so"), "/app/libart.so")]
            if shutil.which("smali"):
                art.build_compiled(methods, COMPILER)
                files += [(os.path.join(methods, name), f"/methods/{name}") for name in ("app", "libart.so", "classes.dex", "base.odex")]
            kernel = kernels.get(KERNEL)
            result = guests.boot(kernel, SCRIPT, folder, files + [(library(name), f"/lib/{name}") for name in LIBRARIES],
                                 timeout_s=TIMEOUT_S)
        except apt.Unavailable as reason:
            skip_all(f"{KERNEL}: {reason}")
        tap.note(f"{KERNEL}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, f"{KERNEL} boots and ends well", result.why, result.last_lines())
        for way in ("typed", "plain"):
            err = guests.text(os.path.join(folder, way + ".err"))
            tap.note(way + ": " + err[-400:])
            art.check_names(tap, art.turns_of(os.path.join(folder, way + ".turns")), guests.blocks(folder, way + ".out"),
                            TURNS // 2, "stack_copies_shed" in err)
        if shutil.which("smali"):
            err = guests.text(os.path.join(folder, "methods.err"))
            tap.note("methods: " + err[-400:])
            art.check_compiled(tap, art.turns_of(os.path.join(folder, "methods.turns")), guests.blocks(folder, "methods.out"),
                               TURNS // 4, "stack_copies_shed" in err)
        else:
            tap.skip(4, "no smali")
    tap.end()


if __name__ == "__main__":
    main()
