#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A kernel without type information of its own: the types come from a file. Minimised types of this
kernel give right records. Those of another kernel are refused before tracing starts. Without any
types, the message says what to do."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import EXIT_CANNOT, JANKBPF, ROOT, Tap, need, skip_all  # noqa: E402

OWN = "/sys/kernel/btf/vmlinux"
HELPER = os.path.join(ROOT, ".output", "btf_helper.bpf.o")
BPFTOOL = shutil.which("bpftool") or "/usr/sbin/bpftool"
JUDGE = os.path.join(ROOT, "tests", "lib", "truth.py")
JUDGED = ["--threshold", "25ms", "--guard", "8ms", "--tolerance", "duration_p99=5ms", "--tolerance", "running_max=20ms",
          "--tolerance", "runnable_max=none", "--tolerance", "runnable_p50=2ms", "--tolerance", "cpu_max=20ms",
          "--tolerance", "kind_rate=0.95"]
WORK = ["--quiet", "--length", "40ms-70ms", "--gap", "20ms", "--order", "random", "--count", "60"]
HIDDEN = ["--disable-feature", "btf"]  # as on a kernel built without CONFIG_DEBUG_INFO_BTF

tap = Tap()


def jankbpf(*options):
    return subprocess.run([JANKBPF, *options], capture_output=True, text=True, timeout=60, check=False)


def refused(what, status, words, *options):
    run = jankbpf("-q", *options, "--", "true")
    tap.check(run.returncode == status and not run.stdout and words in run.stderr,
              f"{what}: status {status}, with the reason", run.returncode, run.stderr, run.stdout)


def check_truth(folder, types):
    """A run with the file's types alone, judged as any other."""
    truth, blocks = os.path.join(folder, "truth"), os.path.join(folder, "blocks")
    with open(blocks, "wb") as out:
        run = subprocess.run([JANKBPF, "--json", "-t", "25ms", *HIDDEN, "--btf", types, "--",
                              os.path.join(ROOT, "simjank"), "--truth", truth, "--start-delay", "300ms", *WORK],
                             stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    if not tap.check(run.returncode == 0, "simjank is traced by minimised types from a file", run.stderr):
        return
    done = subprocess.run([sys.executable, JUDGE, truth, blocks, *JUDGED], capture_output=True, text=True,
                          timeout=60, check=False)
    tap.check(done.returncode == 0 and done.stdout.startswith("ok"), "… and its blocks are right",
              *(line for line in done.stdout.splitlines() if not line.startswith("ok")), done.stderr)


def check_doctor(types):
    run = jankbpf("doctor", *HIDDEN, "--btf", types)
    tap.check(run.returncode == 0 and f"from '{types}'" in run.stdout, "doctor names the file", run.stdout, run.stderr)
    run = jankbpf("doctor", *HIDDEN)
    tap.check(run.returncode == EXIT_CANNOT and "--btf FILE" in run.stdout, "… or says that it knows none, with status 77",
              run.stdout, run.stderr)


def check_others():
    """The repository's types of other kernels are refused."""
    arch = {"x86_64": "x86", "aarch64": "arm64"}[os.uname().machine]
    for path in sorted(glob.glob(os.path.join(ROOT, "btf", arch, "*.btf"))):
        name = os.path.basename(path)
        if name == os.uname().release + ".btf":
            tap.skip(f"{name} is refused", "it is this kernel's")
        else:
            refused(f"{name}, of another kernel", EXIT_CANNOT, "are another kernel's", *HIDDEN, "--btf", path)


def main():
    need()
    if not os.access(OWN, os.R_OK):
        skip_all(f"no {OWN} to make a file of")
    with tempfile.TemporaryDirectory(prefix="jank-btf-") as folder:
        types = os.path.join(folder, "min.btf")
        subprocess.run([BPFTOOL, "gen", "min_core_btf", OWN, types, HELPER], check=True)
        tap.note(f"{os.path.getsize(types)} bytes of {os.path.getsize(OWN)}")
        check_truth(folder, types)
        run = jankbpf("-q", "--btf", types, "--", "true")
        tap.check(run.returncode == 0, "a file replaces the kernel's own types", run.stderr)
        check_doctor(types)
    check_others()
    refused("no types at all", EXIT_CANNOT, "`pahole -J`", *HIDDEN)
    refused("a file without BTF", 1, "is no BTF", *HIDDEN, "--btf", os.path.join(ROOT, "README.md"))
    refused("a file that does not exist", 1, "cannot be read", "--btf", "/nowhere/types")
    tap.end()


if __name__ == "__main__":
    main()
