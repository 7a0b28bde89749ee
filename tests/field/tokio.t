#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tokio's tasks that block their worker by std::thread::sleep: a worker that parks on its futex and
sleeps in its tasks, in turn, is a loop."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import MS, ROOT, Trace, end, need, skip_all, start  # noqa: E402

REGISTRY = "/usr/share/cargo/registry"  # Debian's crates: nothing is fetched
WAYS = ("spawned",) if SHORT else ("spawned", "timer", "socket")
WORKERS = (2,) if SHORT else (1, 2, 4)
NAPS = 8 if SHORT else 20
# The place of a worker's park is not known before it has parked once, and a thread is a candidate
# for a worker only after a look of up to a second.
LEARNING = 5


def build(folder):
    """The program, or None with the reason."""
    crate = os.path.join(folder, "tokio")
    shutil.copytree(os.path.join(ROOT, "tests", "field", "tokio"), crate)
    os.mkdir(os.path.join(crate, ".cargo"))
    with open(os.path.join(crate, ".cargo", "config.toml"), "w", encoding="ascii") as file:
        file.write(f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{REGISTRY}"\n')
    done = subprocess.run(["cargo", "build", "--quiet", "--release", "--offline"], cwd=crate, capture_output=True,
                          text=True, check=False, env={**os.environ, "CARGO_HOME": os.path.join(folder, "home")})
    path = os.path.join(crate, "target", "release", "tokio-naps")
    return (path, None) if done.returncode == 0 else (None, done.stderr.strip()[:400])


def found_of(naps, blocks):
    """Naps that a block of most of their length covers."""
    return sum(any(b["start_ns"] <= begin and b["start_ns"] + b["duration_ns"] >= until for b in blocks)
               for begin, until in naps)


def run(field, program, workers, way):
    process = start([program, str(workers), way, str(LEARNING + NAPS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    text=True)
    with Trace(process.pid, threshold="50ms") as trace:
        process.stdin.write("\n")
        process.stdin.flush()
        lines = []
        for line in process.stdout:
            if line.strip() == "done":
                break
            lines.append(tuple(int(word) for word in line.split()))
    end(process)
    naps = sorted(lines)[LEARNING:]
    found = found_of(naps, trace.blocks)
    field.cases(f"{way}, {workers} worker{'s' if workers > 1 else ''}: sleeps of 100 ms found", found, len(naps),
                details=(trace.summary and trace.summary.get("not_watched"), trace.messages))
    invented = [b for b in trace.blocks
                if not any(b["start_ns"] < until and b["start_ns"] + b["duration_ns"] > begin for begin, until in lines)
                and b["duration_ns"] - b["time"].get("runnable_ns", 0) > 50 * MS]
    field.case(f"{way}, {workers} worker{'s' if workers > 1 else ''}: no block is invented", not invented, *invented[:1])


def main():
    need("cargo")
    if not os.path.isdir(REGISTRY):
        skip_all("not installed: librust-tokio-dev, librust-libc-dev")
    field = Field("tokio's workers")
    with tempfile.TemporaryDirectory(prefix="jank-tokio-") as folder:
        program, why = build(folder)
        if not program:
            skip_all(f"the program could not be built: {why}")
        for way in WAYS:
            for workers in WORKERS:
                run(field, program, workers, way)
    field.done()


main()
