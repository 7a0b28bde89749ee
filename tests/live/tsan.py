#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Short traces by a jankbpf that was built with ThreadSanitizer ($JANKBPF): one thread judges, one
names and writes, helpers read and attach. No race may be reported."""
import glob
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from group import Group
from live import JANKBPF, ROOT, Tap, need

SIMJANK = os.path.join(ROOT, "simjank")
STARTED = ("every scenario", ["--duration", "8s"])
STORM = ("loops in 16 threads", ["--threads", "16", "--scenario", "busy:30ms,mutex:30ms", "--duration", "6s"])


def reports(folder):
    """What ThreadSanitizer wrote, and the files are gone."""
    texts = []
    for path in glob.glob(f"{folder}/race.*"):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
        os.unlink(path)
    return texts


def run(tap, folder, what, options, verb="trace", interrupt=False):
    # without randomisation: TSan needs fixed places for its own memory
    env = dict(os.environ, TSAN_OPTIONS=f"log_path={folder}/race exitcode=0")
    command = ["setarch", "-R", JANKBPF, verb, "-q", "--json", "-t", "25ms", "-o", f"{folder}/out", *options]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        before = process.stdout.readline() if interrupt else b""  # the first block
        if interrupt:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        out = before + out
    found = reports(folder)
    tap.check(b'"type":"block"' in out and b'"type":"summary"' in out, f"{what}: blocks and a summary", err[-400:])
    tap.check(not found, f"{what}: no race", *found[:3])


def main():
    need("setarch")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-tsan-") as folder:
        journal = f"{folder}/journal"
        for what, work in (STARTED, STORM):
            run(tap, folder, what, ["--journal", journal, "--", SIMJANK, "--quiet", *work])
        run(tap, folder, "replay", [journal], verb="replay")
        group = Group(f"jank-tsan-{os.getpid()}")
        process = group.start(SIMJANK, "--quiet", "--duration", "60s")
        run(tap, folder, "-a and Ctrl-C", ["-a", "-g", group.path], interrupt=True)
        process.kill()
        process.wait()
        group.remove()
    tap.end()


main()
