#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""32-bit programs on other kernels, in virtual machines: i386 on x86-64, arm on arm64, by typed and
by plain probes. kernel.py says what times in an emulator are worth. JANK_VM names other kernels."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
import qemu  # noqa: E402
from live import EXIT_CANNOT, Tap, frame_of, judge_truth, main_syscall  # noqa: E402

KERNELS = os.environ.get("JANK_VM", "x86_64/5.10 x86_64/newest arm64/5.10 arm64/6.12 arm64/newest").split()
COMPAT = {"x86_64": "i686", "arm64": "arm"} # architecture of the 32-bit simjank
# Options and the program. A 64-bit program that becomes a 32-bit one, and the programs of -a, are
# traced from their exec on.
WAYS = {"best": ("", "/simjank"), "plain": ("--disable-feature tp_btf", "/simjank"),
        "exec": ("", "/bin/sh -c 'exec /simjank \"$@\"' sh")}
SECONDS = 5
TIMEOUT_S = 150
JUDGED = ["--threshold", "25ms", "--guard", "12ms", "--starved", "--loop", "epoll", "--tolerance", "duration_p99=60ms",
          "--tolerance", "running_max=25ms", "--tolerance", "cpu_max=25ms", "--tolerance", "runnable_max=none",
          "--tolerance", "runnable_p50=3ms", "--tolerance", "kind_rate=0.9"]
SLEEPS = {"nanosleep", "clock_nanosleep", "clock_nanosleep_time64"}
# The guest judges nothing: the test below checks what each trace printed and left.
SCRIPT = """
work="--quiet --length 40ms-70ms --gap 20ms --short-rate 50/s"
did() { # NAME COMMAND...
	name=$1
	shift
	"$@" >/out/$name.out 2>/out/$name.err
	status=$?
	hand-over
	echo $status >/out/$name.status
	hand-over
}
did alone /simjank $work --count 1
"""
TRACE = """
did {name} /jankbpf --json -t 25ms {options} -- \\
	{program} $work --duration {seconds}s --start-delay 1s --truth /out/{name}.truth
"""
ALL = """
/jankbpf -v --json -t 25ms -a -c simjank >/out/all.out 2>/out/all.err &
tracer=$!
until grep -q 'tracing;' /out/all.err; do sleep 0.1; done
/simjank $work --duration {seconds}s --start-delay 1s --truth /out/all.truth
kill -INT $tracer
wait $tracer
echo $? >/out/all.status
"""
UPROBE = "did uprobe /jankbpf --backend uprobe -- /simjank $work\nexit 0\n"


class Left:
    """The files that one trace left."""

    def __init__(self, folder, name):
        self.base = os.path.join(folder, name)
        self.err = self.text("err")
        self.status = int(self.text("status") or -1)

    def path(self, suffix):
        return f"{self.base}.{suffix}"

    def text(self, suffix):
        return guests.text(self.path(suffix))

    def blocks(self):
        records = [json.loads(line) for line in self.text("out").splitlines() if line.startswith("{")]
        return [r for r in records if r["type"] == "block"]


def boot(kernel, folder):
    programs = {"/jankbpf": guests.static(kernel.arch, "jankbpf"),
                "/simjank": guests.static(COMPAT[kernel.arch], "simjank")}
    guests.need_built(programs.values(), "deps-cross static compat32")
    script = os.path.join(folder, "script")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
        file.writelines(TRACE.format(name=name, options=options, program=program, seconds=SECONDS)
                        for name, (options, program) in WAYS.items())
        file.write(ALL.format(seconds=SECONDS))
        file.write(UPROBE)
    files = [(path, to) for to, path in programs.items()]
    return qemu.run(qemu.Guest(kernel, script, files, timeout_s=TIMEOUT_S), os.path.join(folder, "out"))


def check_truth(tap, what, left):
    judged = guests.without_end(*os.path.split(left.base))
    judge_truth(tap, what, left.path("truth"), judged, JUDGED, left.err)


def check_names(tap, what, blocks):
    """Checks the names of functions and of system calls. In an emulator a stack costs so much that some are
    left out, which the record says."""
    slept = {main_syscall(b) for b in blocks if (b["cause"] or {}).get("kind") == "sleep"
             and (b["samples"] or not (b.get("lost") or {}).get("samples_capped"))}
    tap.check(slept and slept <= SLEEPS, f"{what}: system calls have the names of their own numbers", slept)
    busy = {frame_of(b) for b in blocks if (b["cause"] or {}).get("kind") == "cpu"}
    tap.measured("handle_busy" in busy, f"{what}: functions have names", busy)


def check(tap, kernel, folder, ended=True):
    """Checks how far a guest came that ran out of time."""
    for name in (*WAYS, "all"):
        left = Left(folder, name)
        if not ended and not left.text("status"):
            return tap.note(f"{kernel.name} ran out of time in {name}")
        what = f"{kernel.name}, {name}"
        tap.check(left.status == 0 and "s a 32-bit program" in left.err and "raw_syscalls" in left.err,
                  f"{what}: a message says how waits are seen", left.status, left.err)
        check_truth(tap, what, left)
        check_names(tap, what, left.blocks())
    left = Left(folder, "uprobe")
    if not ended:
        return tap.note(f"{kernel.name} ran out of time in uprobe")
    return tap.check(left.status == EXIT_CANNOT and "--backend kernel" in left.err,
                     f"{kernel.name}: refuses --backend uprobe, with the remedy", left.status, left.err)


def run(tap, name):
    with tempfile.TemporaryDirectory(prefix="jank-compat32-") as folder:
        try:
            kernel = kernels.get(name)
            result = boot(kernel, folder)
        except apt.Unavailable as reason:
            tap.skip(name, reason)
            return
        tap.note(f"{name}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s, "
                 f"{result.waited_s:.1f} s of which it waited for a CPU")
        tap.starved = guests.starved(result)
        ended = tap.check(result.status == 0, f"{name} boots and ends well", result.why, result.last_lines())
        out = os.path.join(folder, "out")
        if not ended:
            check(tap, kernel, out, False)
        elif Left(out, "alone").status:
            tap.skip(name, f"the CPU runs no 32-bit programs: {Left(out, 'alone').err.strip()}")
        else:
            check(tap, kernel, out)


def main():
    tap = Tap()
    for name in KERNELS:
        run(tap, name)
    tap.end()


if __name__ == "__main__":
    main()
