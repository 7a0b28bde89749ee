#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Programs of another user with 65,000 mappings of a file with a path of 4 KiB: 250 MB of
/proc/PID/maps each, which take the kernel 3 s. Blocks of another program are reported meanwhile, and
Ctrl-C ends the trace. Without the kernel's probes the programs' own loops cannot be found."""
import os
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

NOBODY = 65534
ATTACKERS = 3
MAPPINGS = 65000
MAPS_BYTES = 64 << 20
END_S = 2
START_S = 30
COMM = "longmaps"
BLOCKS = 5


def attackers():
    os.chmod(bad.SCRATCH, 0o755)
    program = shutil.copy(bad.TARGET, bad.scratch("target"))
    work = bad.scratch("deep")
    os.mkdir(work)
    os.chown(work, NOBODY, NOBODY)
    return [bad.target("--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", program, "longmaps", work, MAPPINGS,
                       exe="setpriv", env={"TARGET_COMM": COMM}) for _ in range(ATTACKERS)]


def maps_bytes(process):
    """Of its maps, counted until they are enough: all of them take seconds."""
    with open(f"/proc/{process.pid}/maps", "rb", 0) as file:
        total = 0
        while total <= MAPS_BYTES and (piece := file.read(1 << 20)):
            total += len(piece)
    return total


def trace(what, honest, hostile, *args):
    """Both start at the same time. The attackers' own blocks come too."""
    begin = time.monotonic()
    tracer = bad.Tracer("--json", "-v", "-t", "10ms", *args, wait=False)
    ok(bad.wait_for(tracer.attached, START_S),
       f"{what}: traced after {time.monotonic() - begin:.1f} s", tracer.stderr())
    ok(bad.wait_for(lambda: tracer.written(honest) >= BLOCKS, START_S), f"{what}: another user's blocks are reported meanwhile",
       tracer.stderr())
    if "uprobe" not in args:
        ok(bad.wait_for(lambda: min(map(tracer.written, hostile)) > 1, START_S), f"{what}: so are the attackers' own",
           tracer.stderr())
    begin = time.monotonic()
    result = tracer.stop(signal.SIGINT, seconds=10 * END_S)
    took = time.monotonic() - begin
    ok(result.status == 0 and took < END_S and bad.exact(result.blocks()), f"{what}: Ctrl-C ends it within {END_S} s: {took:.2f} s",
       result)
    ok((result.summary() or {}).get("lost", {}).get("files_unread") and "maps': not read to its end" in result.err,
       f"{what}: the mappings that were not read are counted, and a message says so", result)


bad.need_tracing()
HOSTILE = attackers()
SIZE = maps_bytes(HOSTILE[0])
ok(SIZE > MAPS_BYTES, f"an attacker's maps have more than {MAPS_BYTES >> 20} MiB")
HONEST = bad.target("loop", 40, env={"TARGET_COMM": COMM})
PIDS = ",".join(str(p.pid) for p in [*HOSTILE, HONEST])
for backend in ("kernel", "uprobe"):
    trace(f"-p, {backend}", HONEST, HOSTILE, "--backend", backend, "-p", PIDS)
trace("-a", HONEST, HOSTILE, "-a", "-c", COMM)
bad.end(*HOSTILE, HONEST)
bad.done()
