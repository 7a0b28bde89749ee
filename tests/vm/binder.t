#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Android's binder: a call names its server process and its code. A program calls two servers, of
which one is slow. Debian's kernel for PCs has the driver as a module."""
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

TIMEOUT_S = 150
COUNT = 12
SLOW_NS = 30e6  # the slow calls take 60 ms at least; of the quick ones some, in an emulated machine
QUICK = 1
SERVERS = {"one": "answers-1", "two": "answers-2"}
WAYS = {"typed": "", "plain": "--disable-feature tp_btf", "without": "--disable-feature binder"}
SCRIPT = f"""
insmod /binder.ko devices={",".join(SERVERS)} || exit 1
{"".join(f'/binder serve {name} {device} >/out/{device}.ready 2>/out/{device}.err & echo $! >/out/{device}.pid' + chr(10) for device, name in SERVERS.items())}
for device in {" ".join(SERVERS)}; do
	tries=0
	while ! grep -q ready /out/$device.ready && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
done
way() {{ # NAME OPTION...
	name=$1
	shift
	/jankbpf --json --journal /out/$name.journal -t 25ms --hang 40ms "$@" -- /binder call {COUNT} {" ".join(SERVERS)} \\
		>/out/$name.out 2>/out/$name.err || exit 1
	/jankbpf --json replay /out/$name.journal >/out/$name.replay 2>>/out/$name.err || exit 1
}}
{"".join(f"way {name} {options}{chr(10)}" for name, options in WAYS.items())}
/jankbpf doctor >/out/doctor
exit 0
"""


def build(folder):
    path = os.path.join(folder, "binder")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-static", "-o", path, os.path.join(HERE, "binder.c")], check=True)
    return path


def module(kernel):
    return kernel.path("modules", kernels.BINDER[0] + ".ko")


def number(folder, name):
    return int(guests.text(os.path.join(folder, name)).strip() or 0)


def waits(record):
    """What its binder waits were for: (pid, name of the server, code)."""
    found = set()
    for sample in record["samples"]:
        if sample["state"] == "binder" and (sample.get("ns", 0) >= SLOW_NS or sample.get("open")):
            waited = sample.get("waited_for", {})
            server = waited.get("peer_task", {})
            found.add((server.get("pid"), server.get("comm"), waited.get("binder_code")))
    return found


def check(tap, folder, way, pids):
    """The calls come in turn, so the code tells which server the program called."""
    calls = [tuple(line.split()) for line in guests.text(os.path.join(folder, way + ".out")).splitlines() if line[:1] not in "{"]
    want = {(pids[device], SERVERS[device], int(code)) for device, code in calls}
    blocks = [r for r in guests.records(folder, way + ".out") if r["type"] == "block" and waits(r)]
    hangs = [r for r in guests.records(folder, way + ".out") if r["type"] == "hang" and waits(r)]
    made = want | {(pids[device], SERVERS[device], QUICK) for device in SERVERS}
    slow = [{call for call in waits(record) if call[2] != QUICK} for record in blocks]
    err = guests.text(os.path.join(folder, way + ".err"))
    tap.check(len(calls) == COUNT and len(blocks) >= COUNT and set().union(*slow) == want,
              f"{way}: each of {len(want)} slow calls has its server and its code in a block", slow, want, err)
    wrong = [waits(record) - made for record in blocks + hangs if waits(record) - made]
    tap.check(hangs and not wrong, f"{way}: no other call is told, in {len(blocks)} blocks and {len(hangs)} hangs", wrong, err)
    sentences = [record["cause"]["summary"] for record in blocks]
    said = [call for call in want if any("a reply of {1} (pid {0}) to binder call {2}".format(*call) in each for each in sentences)]
    tap.check(len(said) >= COUNT - 1, f"{way}: the sentences say it", *sentences)
    tap.note("\n".join(sentences[:2]))
    again = [waits(r) for r in guests.records(folder, way + ".replay") if r["type"] == "block" and waits(r)]
    tap.check(again == [waits(record) for record in blocks], f"{way}: also in a replay", again)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-binder-") as folder:
        try:
            program = guests.static("x86_64", "jankbpf")
            guests.need_built([program], "static")
            kernel = kernels.get_with_display()
            if not os.path.exists(module(kernel)):
                kernel = kernels.get_with_display(anew=True)  # fetched before this test existed
            files = [(program, "/jankbpf"), (build(folder), "/binder"), (module(kernel), "/binder.ko")]
            result = guests.boot(kernel, SCRIPT, folder, files, timeout_s=TIMEOUT_S)
        except apt.Unavailable as reason:
            skip_all(str(reason))
        tap.note(f"{kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, "the kernel boots and ends well", result.why, result.last_lines(),
                  *[guests.text(os.path.join(folder, way + ".err")) for way in WAYS])
        pids = {device: number(folder, device + ".pid") for device in SERVERS}
        for way in ("typed", "plain"):
            check(tap, folder, way, pids)
        without = guests.blocks(folder, "without.out")
        tap.check(without and not any(code for record in without for _, _, code in waits(record)),
                  "without the feature there are no codes", without)
        tap.check("binder" in guests.text(os.path.join(folder, "doctor")), "doctor has a row for it")
    tap.end()


if __name__ == "__main__":
    main()
