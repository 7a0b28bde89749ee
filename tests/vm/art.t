#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Android's runtime on arm64: the stand-ins of tests/live/art.t, art_method.t, art_interpreted.t and java_message.t in a
guest. The walk leaves compiled methods by the tables of ART's list, or by the ArtMethod on each frame. The unwind table of
an interpreter leads to the bytecode. JANK_VM names another kernel."""
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
import art_interpreted  # noqa: E402
import art_message  # noqa: E402
import device  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
from live import Tap, skip_all  # noqa: E402

KERNEL = os.environ.get("JANK_VM", "arm64/6.12")
PREFIX = "aarch64-linux-gnu-"
LOOPER = device.LIBRARY_FOLDERS[0]
COMPILER_32 = "arm-linux-gnueabihf-gcc"
LIBRARIES_32 = [f"/usr/arm-linux-gnueabihf/lib/{name}" for name in ("ld-linux-armhf.so.3", "libc.so.6", "libgcc_s.so.1")]
TIMEOUT_S = 480
TURNS = 20
SCRIPT = """
run() { # NAME MS OPTION… -- COMMAND: MS between two turns, which it writes to NAME.turns
	name=$1 ms=$2
	shift 2
	ART_MS=$ms ART_TURNS=/out/$name.turns /jankbpf --json -t 25ms -F 99 "$@" >/out/$name.out 2>/out/$name.err
}
run typed 900 -d 25s -- /jit/app
run plain 900 -d 25s --disable-feature tp_btf -- /jit/app
for name in methods methods32; do
	[ ! -d /$name ] || run $name 700 -d 40s -- /$name/app /$name/classes.dex /$name/base.odex
done
[ ! -d /dex ] || run dex 700 -d 40s -- /dex/app %s
[ ! -d /message ] || for layout in 0 1; do
	run message$layout 0 -d 20s --marks always -- /message/app $layout 500 /message/handler0.dex /message/handler1.dex /message/handler2.dex
done
exit 0
"""


class Programs:
    """What is built for the guest: files are pairs of a path here and one there."""

    def __init__(self, folder):
        self.folder, self.files, self.dexes = folder, {guests.static("arm64", "jankbpf"): "/jankbpf"}, []
        art.build(self.place("jit"), "art_app", PREFIX + "gcc")
        self.add("jit")
        self.has_smali = shutil.which("smali") is not None
        self.has_looper = self.has_smali and os.path.exists(os.path.join(LOOPER, "libutils.so"))
        if self.has_smali:
            self.add("methods", *art.build_compiled(self.place("methods"), PREFIX + "gcc")[1:])
            art.build(self.place("dex"), "art_interpreted", PREFIX + "gcc")
            self.dexes = art_interpreted.make_files(self.place("dex"))
            self.add("dex", *(path for path, _ in self.dexes))
        self.has_32 = self.has_smali and shutil.which(COMPILER_32) is not None and all(map(os.path.exists, LIBRARIES_32))
        if self.has_32:
            art.build_compiled(self.place("methods32"), COMPILER_32, LIBRARIES_32[0])
            self.files.update((path, path) for path in LIBRARIES_32)
            self.files.update((os.path.join(self.place("methods32"), name), f"/methods32/{name}")
                              for name in ("app", "libart.so", "classes.dex", "base.odex"))
        if self.has_looper:
            art_message.build_message(self.place("message"), PREFIX, [LOOPER])
            self.add("message", *art_message.make_handlers(self.place("message")))

    def place(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def add(self, name, *files):
        """The app, with its libraries, and the files in the folder of that name."""
        self.files.update(device.program_files(os.path.join(self.place(name), "app"), f"/{name}/app"))
        self.files.update((path, f"/{name}/{os.path.basename(path)}") for path in files)

    def script(self):
        return SCRIPT % " ".join(f"/dex/{os.path.basename(path)} {offset}" for path, offset in self.dexes)


class Left:
    """What a run left in the folder."""

    def __init__(self, tap, folder, name):
        err = guests.text(os.path.join(folder, name + ".err"))
        tap.note(f"{name}: {err[-400:]}")
        self.blocks, self.shed = guests.blocks(folder, name + ".out"), "stack_copies_shed" in err
        path = os.path.join(folder, name + ".turns")
        self.turns = art.turns_of(path) if os.path.exists(path) else []


def judge(tap, folder, programs):
    for way in ("typed", "plain"):
        left = Left(tap, folder, way)
        art.check_names(tap, left.turns, left.blocks, TURNS // 2, left.shed)
    if programs.has_smali:
        left = Left(tap, folder, "methods")
        art.check_compiled(tap, left.turns, left.blocks, TURNS // 4, left.shed)
        left = Left(tap, folder, "dex")
        art_interpreted.check_names(tap, left.turns, left.blocks, TURNS)
    else:
        tap.skip("compiled methods without symbols, interpreted ones", "no smali")
    if programs.has_32:
        left = Left(tap, folder, "methods32")
        art.check_compiled(tap, left.turns, left.blocks, TURNS // 4, left.shed)
    else:
        tap.skip("compiled methods of 32 bits", f"no smali, or no {COMPILER_32} (make deps-cross)")
    if programs.has_looper:
        for number, layout in enumerate(art_message.LAYOUTS):
            art_message.check_messages(tap, layout, Left(tap, folder, f"message{number}").blocks)
    else:
        tap.skip("messages", "no smali, or no android-libutils-dev:arm64")


def main():
    tap = Tap()
    if not shutil.which(PREFIX + "g++"):
        skip_all(f"no {PREFIX}g++ (make deps-cross)")
    with tempfile.TemporaryDirectory(prefix="jank-art-") as folder, tempfile.TemporaryDirectory(prefix="jank-art-") as built:
        try:
            guests.need_built([guests.static("arm64", "jankbpf")], "deps-cross static")
            programs = Programs(built)
            kernel = kernels.get(KERNEL)
            result = guests.boot(kernel, programs.script(), folder, list(programs.files.items()), timeout_s=TIMEOUT_S)
        except apt.Unavailable as reason:
            skip_all(f"{KERNEL}: {reason}")
        tap.note(f"{KERNEL}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, f"{KERNEL} boots and ends well", result.why, result.last_lines())
        judge(tap, folder, programs)
    tap.end()


if __name__ == "__main__":
    main()
