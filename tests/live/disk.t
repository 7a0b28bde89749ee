#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""-o and --journal on disks that are full, read-only, gone, or another user's: tracing goes on, and
no line is torn."""
import os
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok


def mount_tmpfs(name, options):
    path = bad.scratch(name)
    os.mkdir(path)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "none", path], capture_output=True, text=True,
                          check=False)
    return path if not done.returncode else None


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def lost(result, reason="unwritten_records"):
    words = result.err.replace(",", "").split()
    return int(words[words.index(reason) - 1]) if reason in words else 0


def trace_into(process, directory, *options, count=30):
    return bad.trace("-t", "25ms", "--json", "-o", directory, "-n", count, *options, "-p", process.pid)


def test_good(process):
    directory = bad.scratch("a/new/one")
    result = trace_into(process, directory, count=3)
    path = f"{directory}/blocks.jsonl"
    modes = {stat.S_IMODE(os.stat(f"{directory}/{name}").st_mode) for name in os.listdir(directory)}
    ok(result.status == 0 and b"".join(lines_of(path)) == result.raw and not result.complaints(), "-o creates the directory",
       result)
    ok(modes == {0o600} and stat.S_IMODE(os.stat(directory).st_mode) == 0o700, "only its owner may read it", modes)
    logs = [f"{directory}/{name}" for name in os.listdir(directory) if name.endswith(".log")]
    run = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(len(logs) == 3 and run.returncode == 0, "with a log for each block", run.stdout + run.stderr)


def test_full(process):
    """Some records fit; the others are counted. When there is room again, records are kept
    again."""
    path = mount_tmpfs("full", "size=128k")
    if not path:
        return bad.skip("a full disk", "tmpfs cannot be mounted")
    tracer = bad.Tracer("-t", "25ms", "--json", "-o", path, "-p", process.pid)
    bad.wait_for(lambda: "No space left" in tracer.stderr(), 15)
    time.sleep(1)
    few = lines_of(f"{path}/blocks.jsonl")
    whole = all(line.endswith(b"\n") and bad.json.loads(line) for line in few)
    ok(few and whole and tracer.process.poll() is None, f"a full disk after {len(few)} records: none is torn",
       tracer.stderr())
    subprocess.run(["mount", "-o", "remount,size=8m", path], check=True)
    time.sleep(1)
    result = tracer.stop()
    kept = lines_of(f"{path}/blocks.jsonl")
    ok(result.status == 1 and len(kept) > len(few), "records are kept again when there is room", result)
    missing = result.raw.count(b"\n") - len(kept)
    ok(0 < missing <= lost(result) and result.err.count("No space left") == 1,
       f"the {missing} missing records are counted ({lost(result)} writes)", result.err)
    ok(set(kept) <= set(result.raw.splitlines(keepends=True)), "and no line differs from stdout's")
    logs = [f"{path}/{name}" for name in os.listdir(path) if name.endswith(".log")]
    run = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(logs and run.returncode == 0, f"every one of the {len(logs)} logs is whole", run.stdout + run.stderr)
    rest = [name for name in os.listdir(path) if not name.endswith((".log", ".jsonl"))]
    ok(not rest, "no partial file is left", rest)
    return None


def test_full_from_the_start(process):
    path = mount_tmpfs("nothing", "size=4k")
    if not path:
        return bad.skip("a disk that is full from the start", "tmpfs cannot be mounted")
    with open(f"{path}/fill", "wb") as file:
        file.write(bytes(4096))
    result = trace_into(process, path, count=5)
    ok(result.status == 1 and len(result.blocks()) == 5 and lost(result) == 6, "a disk that is full from the start",
       result)
    return None


def test_read_only(process):
    path = mount_tmpfs("ro", "size=1m")
    if not path:
        return bad.skip("a read-only disk", "tmpfs cannot be mounted")
    subprocess.run(["mount", "-o", "remount,ro", path], check=True)
    result = trace_into(process, path, count=5)
    ok(result.status == 1 and len(result.blocks()) == 5 and lost(result) == 6 and "Read-only" in result.err,
       "a read-only disk", result)
    result = trace_into(process, f"{path}/below", count=2)
    ok(result.status == 1 and lost(result) == 3, "a directory that cannot be created there", result)
    subprocess.run(["mount", "-o", "remount,rw", path], check=True)
    tracer = bad.Tracer("-t", "25ms", "--json", "-o", path, "-p", process.pid)
    time.sleep(0.5)
    remounted = subprocess.run(["mount", "-o", "remount,ro", path], check=False).returncode == 0
    if not remounted:  # our own open file keeps it busy
        subprocess.run(["umount", "-l", path], check=False)
    time.sleep(0.5)
    result = tracer.stop()
    ok(result.status == 0 and result.summary(), "a disk that disappears meanwhile", result)
    return None


def test_removed(process):
    directory = bad.scratch("removed")
    tracer = bad.Tracer("-t", "25ms", "--json", "-o", directory, "-p", process.pid)
    time.sleep(0.5)
    subprocess.run(["rm", "-r", directory], check=False)
    time.sleep(1)
    result = tracer.stop()
    kept = lines_of(f"{directory}/blocks.jsonl")
    ok(result.status == 0 and len(kept) > 5 and kept[-1] in result.raw, "a removed directory is created again",
       result)


def refused(process, name, words, *options):
    result = bad.trace(*options, "-p", process.pid, seconds=10)
    ok(result.status == 1 and not result.raw and words in result.err, name, result)


def test_not_ours(process):
    for name in ("file", "dir-of-symlink", "dir-of-fifo", "dir-of-dir"):
        os.mkdir(bad.scratch(name)) if name != "file" else open(bad.scratch(name), "wb").close()
    victim = bad.scratch("victim")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink(victim, bad.scratch("dir-of-symlink/blocks.jsonl"))
    os.mkfifo(bad.scratch("dir-of-fifo/blocks.jsonl"))
    os.mkdir(bad.scratch("dir-of-dir/blocks.jsonl"))
    refused(process, "-o is a file", "file", "-o", bad.scratch("file"))
    for name in ("symlink", "fifo", "dir"):
        refused(process, f"blocks.jsonl is a {name}", f"dir-of-{name}", "-o", bad.scratch(f"dir-of-{name}"))
    with open(victim, encoding="utf-8") as file:
        ok(file.read() == "precious", "the file behind the symlink is unchanged")
    refused(process, "a journal that cannot be created", "/none/j", "--journal", "/none/j")


def as_other(*words):
    subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", *words], check=True)


def test_other_user(process):
    """Another user puts files and links in the places of our output."""
    os.chmod(bad.SCRATCH, 0o711)
    work, victim = bad.scratch("public"), bad.scratch("private")
    os.mkdir(work)
    os.chmod(work, 0o1777)
    os.mkdir(victim)
    planted = f"{work}/run.jnl"
    as_other("sh", "-c", f"echo precious >{planted}; chmod 666 {planted}")
    refused(process, "another user's file is no journal", "belongs to user id 65534: remove it", "--journal", planted)
    with open(planted, encoding="utf-8") as file:
        ok(file.read() == "precious\n" and stat.S_IMODE(os.stat(planted).st_mode) == 0o666, "and it is unchanged")
    as_other("ln", "-s", victim, f"{work}/link")
    refused(process, "a journal through another user's link", "symbolic link", "--journal", f"{work}/link/j")
    refused(process, "-o through another user's link", "symbolic link", "-o", f"{work}/link/new")
    ok(not os.listdir(victim), "nothing is made behind the link", os.listdir(victim))
    refused(process, "-o in which all users may write", "chmod go-w", "-o", work)
    as_other("mkdir", f"{work}/theirs")
    refused(process, "-o that is another user's", "belongs to user id 65534: chown it", "-o", f"{work}/theirs")
    result = trace_into(process, f"{work}/ours", "--journal", f"{work}/ours.jnl", count=2)
    modes = [stat.S_IMODE(os.stat(f"{work}/{name}").st_mode) for name in ("ours", "ours.jnl")]
    ok(result.status == 0 and modes == [0o700, 0o600], "new names beside them are taken", f"{modes} {result}")


def test_shared(process):
    """Two tracers of one process write to one directory: every line is whole, and none is lost."""
    directory = bad.scratch("shared")
    both = [bad.Tracer("-t", "25ms", "--json", "-o", directory, "-p", process.pid) for _ in range(2)]
    time.sleep(2)
    results = [tracer.stop() for tracer in both]
    kept = sorted(lines_of(f"{directory}/blocks.jsonl"))
    seen = sorted(line for result in results for line in result.raw.splitlines(keepends=True))
    ok([r.status for r in results] == [0, 0] and kept == seen and len(kept) > 40, "two tracers, one directory", results[0])
    logs = [f"{directory}/{name}" for name in os.listdir(directory) if name.endswith(".log")]
    run = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(len(logs) == len(kept) - 2 and run.returncode == 0, f"with {len(logs)} logs", run.stdout + run.stderr)


def test_size_limit(process):
    """ulimit -f: a file at its size limit is like a full disk."""
    directory = bad.scratch("limited")
    command = f"ulimit -f 8; exec {bad.JANK} -t 25ms -n 20 -o {directory} -p {process.pid}"
    run = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30,
                         check=False)
    kept = lines_of(f"{directory}/blocks.jsonl")
    ok(run.returncode == 1 and 0 < len(kept) < 20 and all(line.endswith(b"\n") for line in kept)
       and "unwritten_records" in run.stderr, "a limit on the size of files", f"{len(kept)} {run}")


def test_journal_full(process):
    path = mount_tmpfs("journal", "size=8k")
    if not path:
        return bad.skip("a journal on a full disk", "tmpfs cannot be mounted")
    result = bad.trace("-t", "25ms", "--json", "-n", "20", "--journal", f"{path}/j", "-p", process.pid)
    ok(result.status == 1 and len(result.blocks()) == 20 and lost(result, "unwritten_journal"),
       "a journal on a full disk", result)
    replayed = bad.trace("replay", "--json", f"{path}/j")
    ok(replayed.status in (0, 1) and replayed.seconds < 5, "its content is replayed or refused", replayed)
    return None


bad.need_tracing()
looping = bad.target("loop", 40)
for test in (test_good, test_full, test_full_from_the_start, test_read_only, test_removed, test_not_ours, test_other_user,
             test_shared, test_size_limit, test_journal_full):
    test(looping)
bad.done()
