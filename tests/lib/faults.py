# SPDX-License-Identifier: GPL-2.0
"""Runs simjank's kinds of fault under jankbpf and judges the blocks by simjank's truth. run()
returns a truth.Judgement. RuntimeError: simjank or jankbpf failed."""
import os
import subprocess
import tempfile
import types

import truth
from live import JANKBPF, MS, ROOT

NO_VERDICT = ("stopped",)  # time in which a debugger or a shell stops the program is not jank
LONE = ("swap", "reclaim")  # each changes the whole process, so each runs alone
ARGS = types.SimpleNamespace(threshold=25 * MS, guard=8 * MS, hang=0, debugging=False, starved=False, loop=None)


def names_of_all():
    """The scenarios of `all`, by simjank's help: those without a mark."""
    lines = subprocess.run([os.path.join(ROOT, "simjank"), "--help"], capture_output=True, text=True, check=True
                           ).stdout.split("Scenarios", 1)[1].splitlines()[1:]
    return [line.split()[0] for line in lines if line.startswith("  ") and line[16:17] == " "]


def names():
    """Every kind that has a verdict."""
    return [*(name for name in names_of_all() if name not in NO_VERDICT), *LONE]


def trace(folder, scenario, count):
    """One run under jankbpf, of `count` dispatches; returns the truth and the records. It has a
    better priority than busy neighbours, because the truth does not know their CPU time."""
    truth_path, blocks = os.path.join(folder, "truth"), os.path.join(folder, "blocks")
    with open(blocks, "wb") as out:
        done = subprocess.run([JANKBPF, "-q", "--json", "-t", "25ms", "--", os.path.join(ROOT, "simjank"), "--quiet",
                               "--scenario", scenario, "--count", str(count), "--length", "40ms-70ms", "--gap", "20ms",
                               "--start-delay", "500ms", "--truth", truth_path],
                              stdout=out, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
                              preexec_fn=lambda: os.nice(-10))
    if done.returncode:
        raise RuntimeError(f"{scenario}: status {done.returncode}, {done.stderr.strip()}")
    return truth.Truth(truth_path), truth.read_lines(blocks)


def run(scenario, count, verdicts):
    """Adds the verdicts to those of earlier runs."""
    with tempfile.TemporaryDirectory(prefix="verdict-") as folder:
        known, records = trace(folder, scenario, count)
        judgement = truth.Judgement(known, ARGS)
        judgement.verdicts = verdicts
        for record in records:
            judgement.add(record)
        return judgement
