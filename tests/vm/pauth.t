#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Signed return addresses (arm64's pointer authentication): a walk of the user stack still reaches
main. simjank for arm64 is built with signed returns. JANK_VM names another kernel."""
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
from live import Tap, skip_all  # noqa: E402

KERNEL = os.environ.get("JANK_VM", "arm64/6.12")
# Use QEMU's own signature algorithm: the architecture's takes a third of the emulator's time.
CPU = "max,pauth-impdef=on"
TIMEOUT_S = 150
COUNT = 8
SCRIPT = f"""
grep -m 1 -o paca /proc/cpuinfo >/out/cpu
for way in typed plain; do
	[ $way = typed ] && without= || without='--disable-feature tp_btf'
	/jankbpf --json -t 25ms -F 199 $without -- /simjank --quiet --scenario busy:80ms --count {COUNT} --gap 20ms \\
		--start-delay 1s >/out/$way.out 2>/out/$way.err || exit 1
done
exit 0
"""
SIGN = "paciasp"


def signs(program):
    """Does its own code sign return addresses, not only the C library's?"""
    for objdump in ("aarch64-linux-gnu-objdump", "objdump"):
        try:
            code = subprocess.run([objdump, "-d", "--disassemble=handle_busy", program], capture_output=True,
                                  text=True, check=False).stdout
        except OSError:
            continue
        if SIGN in code:
            return True
    return False


def check_stacks(tap, folder, way):
    stacks = [sample["stack"] for block in guests.blocks(folder, way + ".out") for sample in block["samples"]
              if sample["state"] == "running"]
    user = [stack for stack in stacks if any(frame.get("function") == "handle_busy" for frame in stack)]
    whole = [stack for stack in user if any(frame.get("function") == "main" for frame in stack)]
    tap.check(len(user) >= COUNT and len(whole) == len(user),
              f"{way}: {len(whole)} of {len(user)} samples of the handler reach main",
              *[[frame.get("function") for frame in stack] for stack in user if stack not in whole][:3],
              guests.text(os.path.join(folder, way + ".err")))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-pauth-") as folder:
        try:
            programs = {"/" + name: guests.static("arm64", name) for name in ("jankbpf", "simjank")}
            guests.need_built(programs.values(), "deps-cross static")
            kernel = kernels.get(KERNEL)
            result = guests.boot(kernel, SCRIPT, folder, [(path, to) for to, path in programs.items()],
                                 timeout_s=TIMEOUT_S, cpu=CPU)
        except apt.Unavailable as reason:
            skip_all(f"{KERNEL}: {reason}")
        tap.note(f"{KERNEL}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, f"{KERNEL} boots and ends well", result.why, result.last_lines())
        tap.check(guests.text(os.path.join(folder, "cpu")).strip() == "paca", "its CPU signs addresses")
        tap.check(signs(programs["/simjank"]), "and the program's return addresses are signed")
        for way in ("typed", "plain"):
            check_stacks(tap, folder, way)
    tap.end()


if __name__ == "__main__":
    main()
