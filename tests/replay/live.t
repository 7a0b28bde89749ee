#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A journal gives the same records as the run that wrote it, also to a user without privileges;
only the tracing's own cost differs."""
import os
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import replay  # noqa: E402

MS = 1000000
EVERYTHING = ["--quiet", "--length", "30ms-60ms", "--gap", "10ms", "--count", "36"]
SHORT = ["--quiet", "--scenario", "sleep:30ms,busy:30ms,mutex:30ms", "--gap", "10ms"]


class Run:
    """Runs jankbpf with a journal; returns its output."""

    def __init__(self, scratch, name, *options, command=(), pids=(), preexec=None):
        self.journal = scratch.file(name)
        targets = ["-p", ",".join(str(pid) for pid in pids)] if pids else ["--", *command]
        done = subprocess.run([replay.JANKBPF, "--json", "--journal", self.journal, "-t", "25ms", *options,
                               *targets], capture_output=True, timeout=120, check=False,
                              preexec_fn=preexec)
        self.status, self.stderr = done.returncode, done.stderr.decode(errors="replace")
        self.records = replay.records(done.stdout)
        if os.path.exists(self.journal):
            os.chmod(self.journal, 0o644)


def tool(name):
    path = os.path.join(replay.ROOT, name)
    return path if os.path.exists(path) else None


def test_same(tap, scratch, what, run):
    """Compares record by record and field by field."""
    if not tap.check(run.status == 0 and len(run.records) > 3, f"{what}: recorded", run.status, run.stderr):
        return
    again = scratch.replay("--json", run.journal)
    got = replay.records(again.stdout)
    tap.check(again.returncode == 0 and not again.stderr, f"{what}: replayed", again.returncode, again.stderr)
    tap.check(replay.ids(got) == replay.ids(run.records), "  the same records", replay.ids(got))
    pairs = [(replay.without_cost(a), replay.without_cost(b)) for a, b in zip(got, run.records)]
    wrong = [replay.lacks(a, b) or replay.lacks(b, a) for a, b in pairs if a != b]
    tap.check(not wrong, "  the same in every field", *wrong[:5])


def test_higher(tap, scratch, run):
    again = scratch.replay("--json", "-t", "45ms", run.journal)
    want = [record for record in run.records[:-1] if record["delay_ns"] > 45 * MS]
    got = replay.records(again.stdout)
    tap.check(0 < len(want) < len(run.records) - 1, "some blocks are over 45 ms, some are not")
    tap.check(replay.ids(got[:-1]) == replay.ids(want), "-t 45ms gives those over 45 ms", replay.ids(got))
    tap.check(got[-1]["dispatches"] == run.records[-1]["dispatches"], "of as many dispatches")


def test_command(tap, scratch, build):
    run = Run(scratch, os.path.basename(build), "--hang", "200ms",
              command=[build, *EVERYTHING, "--scenario", "hang:400ms,all"])
    test_same(tap, scratch, os.path.basename(build), run)
    hangs = [record for record in run.records if record["type"] == "hang"]
    tap.check(hangs, "  with a hang among them", replay.ids(run.records))
    test_higher(tap, scratch, run)


def test_threads(tap, scratch, build):
    run = Run(scratch, "threads", command=[build, *SHORT, "--threads", "3", "--count", "6"])
    test_same(tap, scratch, "three loops", run)
    tap.check(len({record.get("tid") for record in run.records[:-1]}) == 3, "  of three threads")


def test_backend(tap, scratch, build):
    run = Run(scratch, "uprobe", "--backend", "uprobe", command=[build, *SHORT, "--count", "6"])
    test_same(tap, scratch, "--backend uprobe", run)


def test_living(tap, scratch, build):
    """Two processes that live longer than the recording: their counts are in it, too."""
    started = [subprocess.Popen([build, *SHORT, "--duration", "60s"]) for _ in range(2)]
    try:
        time.sleep(0.2)
        run = Run(scratch, "living", "-d", "1s", pids=[process.pid for process in started])
        test_same(tap, scratch, "processes that live on", run)
        loops = {loop["pid"]: loop["dispatches"] for loop in run.records[-1]["loops"]}
        tap.check(set(loops) == {process.pid for process in started} and all(loops.values()),
                  "  with the counts of both", loops)
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_count(tap, scratch, build):
    run = Run(scratch, "count", "-n", "2", command=[build, *SHORT, "--duration", "20s"])
    blocks = [record for record in run.records if record["type"] == "block"]
    tap.check(len(blocks) == 2, "-n 2 ends a recording", run.stderr)
    got = replay.records(scratch.replay("--json", "-n", "2", run.journal).stdout)
    tap.check(replay.ids(got) == replay.ids(run.records), "and its replay has these two", replay.ids(got))


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (24576, 24576))


def test_full(tap, scratch, build):
    """No room for the whole journal: tracing goes on, what is written is whole, and the rest is
    counted."""
    run = Run(scratch, "full", command=[build, *SHORT, "--count", "30"], preexec=limit_files)
    lost = run.records[-1]["lost"] if run.records else {}
    tap.check(run.status == 1 and len(run.records) == 31, "a journal without room ends with status 1, but does not stop the tracing",
              run.status, run.stderr, len(run.records))
    tap.check(lost.get("unwritten_journal", 0) > 0 and "unwritten_journal" in run.stderr,
              "  what it lacks is counted", lost, run.stderr)
    again = scratch.replay("--json", run.journal)
    got = replay.ids(replay.records(again.stdout)[:-1])
    want = replay.ids(run.records[:-1])
    tap.check(again.returncode == 0 and "torn" not in again.stderr, "  what is there is whole", again.stderr)
    tap.check(0 < len(got) < len(want) and got == [each for each in want if each in got],
              "  and has some of the blocks", got)


def test_file(tap, scratch, build):
    """Only the owner can read the journal, and a failed start leaves no file that a reader would
    accept."""
    path = scratch.file("mode")
    subprocess.run([replay.JANKBPF, "-q", "--journal", path, "--", "true"], check=True, capture_output=True)
    tap.check(os.stat(path).st_mode & 0o777 == 0o600, "a journal is made with mode 0600")
    run = scratch.replay("--json", path, timeout=20)
    tap.check(run.returncode == (1 if os.getuid() == 0 else 0), "which other users cannot read", run.stderr)
    os.symlink(scratch.file("elsewhere"), scratch.file("link"))
    done = subprocess.run([replay.JANKBPF, "--journal", scratch.file("link"), "--", "true"],
                          capture_output=True, text=True, check=False)
    tap.check(done.returncode == 1 and not os.path.exists(scratch.file("elsewhere")),
              "no link is followed", done.returncode, done.stderr)


def main():
    builds = [path for path in (tool("simjank"), tool("simjank-looper")) if path]
    trial = subprocess.run([replay.JANKBPF, "-q", "--", "true"], capture_output=True, text=True, check=False)
    if trial.returncode == 77 or not builds:
        print(f"1..0 # SKIP {trial.stderr.strip() or 'simjank is not built'}")
        return
    tap, scratch = replay.Tap(), replay.Scratch()
    for build in builds:
        test_command(tap, scratch, build)
    for test in (test_threads, test_backend, test_living, test_count, test_full, test_file):
        test(tap, scratch, builds[0])
    tap.end()


if __name__ == "__main__":
    main()
