#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Frames of a display that a block missed. QEMU's display shows frames while simjank stalls. The
record must have the count that a program gets by waiting for each frame."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
from tap import Tap, skip_all  # noqa: E402

TIMEOUT_S = 200
COUNT = 12
NEAR = 1  # the probe reads a frame's time a little later than the kernel
RATE_NEAR = 0.1
SCRIPT = f"""
for feature in typed plain; do
	[ $feature = typed ] && without= || without='--disable-feature tp_btf'
	/display >/out/$feature.frames 2>/out/$feature.why &
	sleep 1
	/jankbpf --json --journal /out/$feature.journal -t 25ms $without -- /simjank --quiet --scenario sleep \\
		--length 60ms-300ms --count {COUNT} --gap 30ms --start-delay 500ms >/out/$feature.out 2>/out/$feature.err || exit 1
	/jankbpf --json replay /out/$feature.journal >/out/$feature.replay 2>>/out/$feature.err || exit 1
	kill $!
done
/jankbpf --json -t 25ms --disable-feature vblank -- /simjank --quiet --scenario sleep --length 60ms --count 2 \\
	--start-delay 500ms >/out/without.out
/jankbpf doctor >/out/doctor
exit 0
"""


def build(folder):
    path = os.path.join(folder, "display")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-static", "-o", path, os.path.join(HERE, "display.c")], check=True)
    return path


def boot(kernel, programs, folder):
    files = [(path, to) for to, path in programs.items()]
    return guests.boot(kernel, SCRIPT, folder, files, modules=list(kernels.DISPLAY), timeout_s=TIMEOUT_S,
                       devices=["bochs-display"])


def frame_at(shown, t_ns):
    """The number of the last frame until then. A program that waits for each may sleep through
    one."""
    return max((number for number, at_ns in shown if at_ns <= t_ns), default=0)


def check(tap, folder, way):
    shown = [tuple(map(int, line.split())) for line in guests.text(os.path.join(folder, way + ".frames")).splitlines()]
    blocks = guests.blocks(folder, way + ".out")
    rate_hz = (len(shown) - 1) / (shown[-1][1] - shown[0][1]) * 1e9 if len(shown) > 1 else 0
    wrong, seen = [], []
    for block in blocks:
        end_ns = block["start_ns"] + block["duration_ns"]
        want = frame_at(shown, end_ns) - frame_at(shown, block["start_ns"])
        got = block.get("frames", {})
        seen.append((got.get("missed"), want))
        rate_wrong = abs(got.get("refresh_hz", 0) - rate_hz) > RATE_NEAR * rate_hz
        if abs(got.get("missed", 0) - want) > NEAR or not want or rate_wrong or got.get("crtc") != 0:
            wrong.append((got, want, block["duration_ns"]))
    tap.check(len(blocks) >= COUNT and not wrong, f"{way}: each of {len(blocks)} blocks has the number of frames that were shown",
              wrong, seen, guests.text(os.path.join(folder, way + ".err")), guests.text(os.path.join(folder, way + ".why")))
    tap.note(f"{way}: {rate_hz:.1f} Hz; counted, shown: {seen}")
    again = [block.get("frames") for block in guests.blocks(folder, way + ".replay")]
    tap.check(again == [block.get("frames") for block in blocks], f"{way}: also in a replay", again)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-display-") as folder:
        try:
            programs = {"/" + name: guests.static("x86_64", name) for name in ("jankbpf", "simjank")}
            guests.need_built(programs.values(), "static")
            kernel = kernels.get_with_display()
            result = boot(kernel, {**programs, "/display": build(folder)}, folder)
        except apt.Unavailable as reason:
            skip_all(str(reason))
        tap.note(f"{kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, "the kernel boots and ends well", result.why, result.last_lines())
        for way in ("typed", "plain"):
            check(tap, folder, way)
        without = guests.blocks(folder, "without.out")
        tap.check(without and not any("frames" in block for block in without), "without the feature there are none", without)
        tap.check("vblank" in guests.text(os.path.join(folder, "doctor")), "doctor has a row for it")
    tap.end()


if __name__ == "__main__":
    main()
