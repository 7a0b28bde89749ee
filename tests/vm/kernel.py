#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf on another kernel, in a virtual machine: kernel.py ARCH/SERIES. Its results also go to a
JSON file in OUT/vm, from which tools/vm/table makes the table of docs/kernels.md.

Times in an emulator are not exact. Three things must hold: the probes load with the features that
the kernel has or is told to lack, each dispatch is reported once and none is invented, and each
account sums up.
"""
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
import qemu  # noqa: E402
from live import Tap, skip_all  # noqa: E402

PROGRAMS = ("jankbpf", "simjank", "veristat")
CLEAN = "busy,kernel,sleep,mutex,cond,pipe,socket,tcp,userfault,runnable,poll,select,epoll,stopped,mixed,mixed_cpu"
HANG = "--scenario hang:600ms,sleep:40ms --count 2 --start-delay 500ms"
# Twice as long as in features.t: a guest loses time now and then.
WORK = "--scenario busy:60ms,sleep:60ms,epoll:60ms --count 3 --gap 5ms --start-delay 20ms"
# whole: all. probes: each set of features once, and no unit tests that the host runs, too. ci: nor each program alone.
FORM = os.environ.get("JANK_VM_FORM", "whole")
if FORM not in ("whole", "probes", "ci"):
    sys.exit(f"JANK_VM_FORM={FORM}: whole, probes or ci")
QUICK = FORM != "whole"
TIMEOUT_S = 1500
LIMITS = {
    # Waits for a CPU decide the worst of 48 dispatches: 25 ms on an idle machine.
    **dict.fromkeys(("duration_p99", "running_max", "runnable_max", "cpu_max"), "none"),
    **dict.fromkeys(("duration_p50", "running_p50", "runnable_p50", "cpu_p50"), "3ms"),
    "kind_rate": "0.8", # four of 48 were others: a wait for a CPU, or few samples in the kernel
}
# Options of truth.py. jankbpf's own start takes seconds here, and so the traced program waits for a CPU.
JUDGED = ["--threshold", "25ms", "--guard", "14ms", "--starved",
          "--debugging", # as guest.sh: how long a stop takes here is chance
          *(word for limit in LIMITS.items() for word in ("--tolerance", "=".join(limit)))]
# Of two dispatches the median is the shorter one's.
HANGS = ["--hang", "200ms", "--hang-guard", "350ms", "--tolerance", "kind_rate=0.5",
         "--tolerance", "runnable_p50=none",
         *(f"--tolerance={name}_p50=25ms" for name in ("duration", "running", "cpu"))]
TRUTHS = {"kernel": [], "uprobe": [], "plain": [], "hang": HANGS, "hang-plain": HANGS}
# truth.py's checks with these prefixes; the others check counts
ACCOUNT = ("running + runnable", "duration error", "|", "cause.kind")
MISSED = "every dispatch over" # a dispatch whose probe the kernel skipped, as from 7.0 on
# They run python3 on their output, which a guest does not have.
HOST_TESTS = {"test_export_blockcanary", "test_export_dir", "test_export_full", "test_export_json"}
QUICK_TESTS = {"test_btf_load", "test_counts"}
TIMED_TESTS = {"test_descriptor", "test_fdtarget"} # these limit how long something may take
LOG_LINES = 12 # the verifier's reason is at the end


def load(path):
    """Loads a test as a module, for its checks."""
    name = os.path.basename(path).partition(".")[0]
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FEATURES = load(os.path.join(ROOT, "tests", "live", "features.t"))


def feature_needs():
    """{name: REQUIRED or OPTIONAL}, from features.h."""
    with open(os.path.join(ROOT, "user/probes/features.h"), encoding="utf-8") as file:
        return dict(re.findall(r"X\([A-Z_0-9]+,\s+([a-z_0-9]+),\s+(REQUIRED|OPTIONAL),", file.read()))


def doctor_rows(left):
    """(verdict, name, text) of each row."""
    return re.findall(r"^  (ok|degraded|missing) +(\S+) +(.*)", left.text("doctor.out"), re.M)


def planned(kernel, left):
    """The names of all steps of guest.sh, in its order."""
    tests = sorted(map(os.path.basename, tests_of(guests.static(kernel.arch, ""))))
    lacks = {name for verdict, name, _ in doctor_rows(left) if QUICK and verdict != "ok"}
    return ["doctor", *([] if FORM == "ci" else ["veristat"]), *TRUTHS,
            *("without-" + name for name in feature_needs() if name not in lacks), "embedded", *tests]


class Left:
    """The files that a guest left."""

    def __init__(self, folder):
        self.folder = folder
        self.statuses = {os.path.basename(path).rpartition(".")[0]: int(guests.text(path) or -1)
                         for path in glob.glob(os.path.join(folder, "*.status"))}

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        return guests.text(self.path(name))

    def records(self, name):
        return [json.loads(line) for line in self.text(name).splitlines() if line.startswith("{")]

    def said(self, name):
        return "\n".join(self.text(name + ".err").splitlines()[-LOG_LINES:])


def settings(folder):
    """Writes the settings that guest.sh reads."""
    path = os.path.join(folder, "settings")
    words = {"features": " ".join(feature_needs()), "hang": HANG, "clean": CLEAN,
             "work": WORK, "form": FORM}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name}='{value}'\n" for name, value in words.items())
    return path


def boot(kernel, folder):
    files = [(guests.static(kernel.arch, name), "/usr/bin/" + name) for name in PROGRAMS]
    guests.need_built([path for path, _ in files], "deps-cross static")
    files += [(path, "/tests/" + os.path.basename(path)) for path in tests_of(guests.static(kernel.arch, ""))]
    files.append((settings(folder), "/settings"))
    guest = qemu.Guest(kernel, os.path.join(HERE, "guest.sh"), files, scratch=True, timeout_s=TIMEOUT_S)
    return qemu.run(guest, folder)


def tests_of(static):
    paths = {os.path.basename(path): path for path in sorted(glob.glob(os.path.join(static, "tests", "*", "test_*")))}
    return [path for name, path in paths.items()
            if "." not in name and (name in QUICK_TESTS if QUICK else name not in HOST_TESTS | TIMED_TESTS)]


def check_doctor(tap, left, found):
    rows = doctor_rows(left)
    needs = feature_needs()
    found["lacks"] = {name: text for verdict, name, text in rows if verdict != "ok" and name in needs}
    found["probes"] = next((text.split(":")[0] for _, name, text in rows if name == "probes"), "")
    tap.check(left.statuses.get("doctor") == 0, "doctor: ready", left.text("doctor.out"), left.said("doctor"))
    tap.note(f"{found['probes']} probes; lacks {', '.join(found['lacks']) or 'nothing'}")


def check_verifier(tap, left, found):
    found["loads"] = tap.check(left.statuses.get("veristat") == 0, "every program loads in every set of features",
                               left.said("veristat"))
    tap.note(left.text("veristat.out"))


def skipped_runs(left, name):
    """The probe runs that the kernel skipped, by the summary."""
    return sum(record["lost"].get("probes_skipped", 0) for record in left.records(name + ".out")
               if record["type"] == "summary" and record.get("lost"))


def excuse(tap, what, skipped):
    tap.skip(what, f"a dispatch is missing, and the kernel skipped {skipped} runs of probes")


def check_counts(tap, left, name, found, wrong, said):
    """Are all dispatches reported once, and none invented? Skips when one is missing, and the kernel skipped
    probes."""
    what, skipped = f"{name}: each dispatch is reported once, none is invented", skipped_runs(left, name)
    if skipped and wrong and all(text.startswith(MISSED) for text in wrong):
        found["counts"] = True
        excuse(tap, what, skipped)
        return
    found["counts"] = tap.check(not wrong, what, *said)


def check_truth(tap, left, name, options, found):
    """Reports truth.py's checks as two of our own; stores the results in `found`."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "lib", "truth.py"), left.path(name + ".truth"),
                           guests.without_end(left.folder, name), *JUDGED, *options],
                          capture_output=True, text=True, timeout=60, check=False)
    checks = re.findall(r"^(ok|not ok) \d+ - (.*)", done.stdout, re.M)
    well = left.statuses.get(name) == 0 and done.returncode < 2
    wrong = [text for ok, text in checks if ok != "ok" and not text.startswith(ACCOUNT)]
    wrong += [] if well else [f"status {left.statuses.get(name)}, truth.py's {done.returncode}"]
    found["account"] = well and all(ok == "ok" for ok, text in checks if text.startswith(ACCOUNT))
    details = "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("ok", "1..")))
    check_counts(tap, left, name, found, wrong, (details, done.stderr, left.said(name)))
    tap.measured(found["account"], f"{name}: accounts and causes are right", details)
    for line in re.findall(r"^# (?:duration error|\||cause\.kind|dispatches).*", done.stdout, re.M):
        tap.note(line[2:])


def check_without(tap, left, feature, need, lacks, run=None):
    """Does it work without the feature? If the feature is required: is the refusal right? Returns
    the result."""
    name = run or "without-" + feature
    if need == "REQUIRED":
        good = left.statuses.get(name) == 77 and f"feature '{feature}' is switched off" in left.said(name)
        return tap.check(good, f"without {feature}: status 77, with the reason", left.said(name))
    what, wrong = f"without {feature}" + (f", {run}" if run else ""), f"status {left.statuses.get(name)}"
    records, truth = left.records(name + ".out"), left.records(name + ".truth")
    if left.statuses.get(name) == 0:
        wrong = FEATURES.wrong_with({feature, *lacks}, records, truth)
        skipped = skipped_runs(left, name)
        if wrong and skipped and {len(blocks) for blocks in FEATURES.blocks_of(records, truth)} == {0, 1}:
            excuse(tap, what, skipped)
            return True
    return tap.check(not wrong, what, wrong, left.said(name))


def check_embedded(tap, left, kernel, lacks):
    """Without the kernel's own types: uses the embedded types of its release, or refuses and names
    --btf."""
    folder = {"x86_64": "x86"}.get(kernel.arch, kernel.arch)
    if not os.path.exists(os.path.join(ROOT, "btf", folder, kernel.release + ".btf")):
        return tap.check(left.statuses.get("embedded") == 77 and "--btf" in left.said("embedded"),
                         "no types, and none embedded: status 77, with the remedy", left.said("embedded"))
    return check_without(tap, left, "btf", "OPTIONAL", lacks, "embedded")


def check_tests(tap, left):
    for name in [name for name in left.statuses if name.startswith("test_")]:
        text = left.text(name + ".out")
        failed = [line for line in text.splitlines() if line.startswith("not ok") and "# SKIP" not in line]
        skipped = re.match(r"1\.\.0 # SKIP (.*)", text)
        if skipped:
            tap.skip(name, skipped.group(1))
        else:
            tap.check(not failed and left.statuses[name] == 0 and "\n1.." in "\n" + text, name, "\n".join(failed),
                      left.said(name), text[-600:])


def examine(tap, left, kernel, found, names):
    """Judges the steps in `names`. found["truths"] and found["without"] lack the others."""
    found["lacks"] = {}
    if "doctor" in names:
        check_doctor(tap, left, found)
    if "veristat" in names:
        check_verifier(tap, left, found)
    found["truths"] = {}
    for name in (name for name in TRUTHS if name in names):
        check_truth(tap, left, name, TRUTHS[name], found["truths"].setdefault(name, {}))
    found["without"] = {feature: check_without(tap, left, feature, need, found["lacks"])
                        for feature, need in feature_needs().items() if "without-" + feature in names}
    if "embedded" in names:
        check_embedded(tap, left, kernel, found["lacks"])
    check_tests(tap, left)


def check_end(tap, left, kernel, result, found):
    """Judges the steps that were done, even if the guest died. If it did not, all steps must be
    done."""
    names = planned(kernel, left)
    done = [name for name in names if name in left.statuses]
    found["ended"] = result.status == 0
    found["done"] = f"{len(done)} of {len(names)}"
    if found["ended"]:
        tap.check(True, f"{kernel.release} boots and ends well")
        examine(tap, left, kernel, found, names)
        return
    examine(tap, left, kernel, found, done)
    at = next((name for name in names if name not in left.statuses), "its end")
    what = "ran out of time" if result.status == qemu.HUNG else "died"
    tap.check(False, f"{kernel.release} {what} in {at}, {found['done']} tests done", result.why, result.last_lines())


def keep(name, found):
    folder = os.path.join(guests.out_folder(), "vm")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name.replace("/", "-") + ".json"), "w", encoding="utf-8") as file:
        json.dump({"kernel": name, **found}, file, indent=1)
        file.write("\n")


def left_folder(name):
    """The folder that keeps the guest's files for inspection."""
    folder = os.path.join(guests.out_folder(), "vm", name.replace("/", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def run(name, folder):
    kernel = kernels.get(name)
    return kernel, boot(kernel, folder)


def main(name):
    folder = left_folder(name)
    try:
        kernel, result = run(name, folder)
    except apt.Unavailable as reason:
        keep(name, {"skipped": str(reason)})
        skip_all(f"{name}: {reason}")
    tap, left = Tap(), Left(folder)
    tap.note(f"{name}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s, "
             f"{result.waited_s:.1f} s of which it waited for a CPU")
    tap.starved = guests.starved(result)
    found = {"release": kernel.release, "up_s": round(result.up_s, 1), "run_s": round(result.run_s, 1),
             "waited_s": round(result.waited_s, 1)}
    check_end(tap, left, kernel, result, found)
    found["failed"] = tap.failed
    keep(name, found)
    tap.end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("kernel.py ARCH/SERIES, such as x86_64/5.10")
    main(sys.argv[1])
