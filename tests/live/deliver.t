#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf-deliver: what it may do, whose files it writes, and that no record is torn, doubled or
missing without a count while it is killed or stopped."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

USER = 65534
AS_SUDO = {**os.environ, "SUDO_UID": str(USER), "SUDO_GID": str(USER)}


def process_of(tracer):
    """The pid of its jankbpf-deliver; 0: none now."""
    return bad.own_process(tracer.pid, "jankbpf-deliver")


def complaints(result):
    return [line for line in result.complaints() if not line.endswith(" ended") and "tracing;" not in line]


def private_dir(name, uid):
    os.chmod(bad.SCRATCH, 0o711)
    path = bad.scratch(name)
    os.mkdir(path, 0o700)
    os.chown(path, uid, uid)
    return path


def check_power(tracer, what, uid, bounds):
    pid = process_of(tracer)
    status = bad.status_of(pid)
    ids = {key: status[key].split() for key in ("Uid", "Gid")}
    ok(ids == {"Uid": [str(uid)] * 4, "Gid": [str(uid)] * 4}, f"{what}: it is user {uid}", ids)
    ok(set(status["Groups"].split()) <= {str(uid)}, f"{what}: it has no other group", status["Groups"])
    bad.check_powerless(status, what, bounds)
    with open(f"/proc/{pid}/limits", encoding="ascii") as limits:
        files = next(line for line in limits if line.startswith("Max open files")).split()
    ok(int(files[3]) <= 64, f"{what}: it can open few files", files)
    return pid


def check_files(pid, what, directory):
    links = bad.fds_of(pid)
    rest = {fd: link for fd, link in links.items() if fd > 2 and not link.startswith(directory)}
    ok(links[0].startswith("socket:") and not rest, f"{what}: it has its socket, stdout, stderr and DIR", links)
    with open(f"/proc/{pid}/environ", "rb") as file:
        file.read()  # root may: it is not dumpable for its user
    ok(os.stat(f"/proc/{pid}/mem").st_uid == 0, f"{what}: its user's programs cannot look into it")


def test_sudo(process):
    """The user of sudo owns what is written, before and after a restart."""
    directory = private_dir("sudo", USER)
    home = private_dir("home", USER)
    tracer = bad.Tracer("--json", "-t", "25ms", "-o", directory, "--journal", f"{home}/j", "-p", process.pid, env=AS_SUDO)
    pid = check_power(tracer, "sudo", USER, True)
    bad.wait_for(lambda: len(os.listdir(directory)) > 2)
    check_files(pid, "sudo", directory)
    before = {key: int(bad.status_of(tracer.pid)[key], 16) >> 6 & 3 for key in ("CapPrm", "CapEff")}
    ok(before == {"CapPrm": 3, "CapEff": 0}, "sudo: the tracer could set its user again, but does not", before)
    os.kill(pid, signal.SIGKILL)
    bad.wait_for(lambda: process_of(tracer) not in (0, pid))
    bad.wait_for(lambda: len(bad.status_of(process_of(tracer))["CapEff"].strip("0")) == 0)
    bad.wait_for(lambda: bad.status_of(process_of(tracer))["Seccomp"] != "0", 2)
    check_power(tracer, "sudo, started again", USER, False)
    result = tracer.stop()
    owners = {os.stat(f"{directory}/{name}").st_uid for name in os.listdir(directory)}
    ok(result.status == 0 and owners == {USER}, "sudo: all files belong to the user", f"{owners} {result}")
    replayed = bad.trace("replay", "--json", f"{home}/j")
    ok(os.stat(f"{home}/j").st_uid == USER and len(replayed.blocks()) == len(result.blocks()) > 1,
       "sudo: so does the journal, which has the blocks before and after the restart", replayed)
    ok(result.summary()["lost"].get("deliver_restarted") == 1 and result.err.count("it is started again") == 1,
       "sudo: the restart is counted, and reported once", result.err)


def test_root(process):
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    check_power(tracer, "root", 0, True)
    bad.wait_for(lambda: b'"type":"block"' in tracer.stdout())
    result = tracer.stop()
    ok(result.status == 0 and not complaints(result), "root: nothing is wrong", result)


def test_not_theirs(process):
    directory = private_dir("roots", 0)
    result = bad.trace("--json", "-o", directory, "-p", process.pid, env=AS_SUDO)
    ok(result.status == 1 and "belongs to user id 0" in result.err and "chown" in result.err and not result.raw,
       "sudo: root's directory is refused, with the remedy", result)
    result = bad.trace("--json", "--journal", f"{directory}/j", "-p", process.pid, env=AS_SUDO)
    ok(result.status == 1 and "Permission denied" in result.err and not os.listdir(directory),
       "sudo: no journal where only root may write", result)


def test_foreign_files(process):
    """Who owns a directory can replace each file in it."""
    directory = private_dir("given", 0)
    for name in ("blocks.jsonl", "key"):
        with open(f"{directory}/{name}", "w", encoding="ascii") as file:
            file.write("")
    options = ("--json", "--records-user", "nobody", "-t", "25ms", "-o", directory, "-p", process.pid)
    result = bad.trace(*options)
    owners = {os.stat(path).st_uid for path in (directory, f"{directory}/blocks.jsonl", f"{directory}/key")}
    ok(result.status == 1 and "'key' in it is of no run" in result.err and owners == {0},
       "--records-user: a directory with another file of root's stays root's, and the run says so", f"{owners} {result}")
    os.unlink(f"{directory}/key")
    tracer = bad.Tracer(*options)
    bad.wait_for(lambda: b'"type":"block"' in tracer.stdout())
    result = tracer.stop()
    owners = {os.stat(directory).st_uid} | {os.stat(f"{directory}/{name}").st_uid for name in os.listdir(directory)}
    ok(result.status == 0 and owners == {USER}, "--records-user: one with records alone becomes the user's",
       f"{owners} {result}")


def test_no_socket():
    done = subprocess.run([bad.JANK, "--deliver"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10,
                          check=False)
    ok(done.returncode == 2 and "only a trace starts this process" in done.stderr and not done.stdout,
       "a user cannot start it", done)


# --- killed and stopped

def harass(tracer, simjank, sig):
    """Until simjank ends: kills the process each time that it has written, or stops it for a
    while."""
    count, seen = 0, 0
    while simjank.poll() is None:
        pid = process_of(tracer)
        written = tracer.stdout().count(b"\n")
        if not pid or written == seen:
            time.sleep(0.002)
            continue
        seen = written
        try:
            os.kill(pid, sig)
            if sig == signal.SIGSTOP:
                time.sleep(0.2)
                os.kill(pid, signal.SIGCONT)
            count += 1
        except ProcessLookupError:
            pass
        time.sleep(0.05)
    return count


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def whole(lines):
    """The records of the lines, or None if one is torn."""
    try:
        return [json.loads(line) for line in lines] if all(line.endswith(b"\n") for line in lines) else None
    except ValueError:
        return None


def check_records(what, lines, truth, lost):
    records = whole(lines)
    ok(records, f"{what}: no line is torn", lines[-1:])
    blocks = [record for record in records or () if record["type"] == "block"]
    ids = {block["id"] for block in blocks}
    ok(len(ids) == len(blocks), f"{what}: none of {len(blocks)} blocks is doubled")
    ok(sum(record["type"] == "summary" for record in records or ()) == 1, f"{what}: one summary")
    missing = bad.missing(truth, blocks)
    ok(len(missing) <= lost, f"{what}: {len(missing)} of {len(truth)} dispatches are missing, {lost} are counted", missing[:5])


def test_harassed(sig, name):
    """A hundred blocks a second; stdout and DIR are files."""
    directory, truth_path = private_dir(f"files{sig}", 0), bad.scratch(f"truth{sig}")
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 600,
                          "--truth", truth_path, "--truth-min", "6ms")
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "-o", directory, "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    count = harass(tracer, simjank, sig)
    result = tracer.finish()
    with open(truth_path, encoding="utf-8") as file:
        truth = [entry["begin_ns"] for entry in map(json.loads, file) if entry["type"] == "dispatch"]
    summary = (result.summary() or {"lost": {}})["lost"]
    lost = summary.get("queue_full", 0) + summary.get("share_exceeded", 0) + summary.get("ring_full", 0)
    ok(result.status == 0 and count > 10, f"{name}: {count} times while it wrote", result)
    check_records(f"{name}, stdout", result.raw.splitlines(keepends=True), truth, lost)
    check_records(f"{name}, DIR", lines_of(f"{directory}/blocks.jsonl"), truth, lost)
    logs = [f"{directory}/{entry}" for entry in os.listdir(directory) if entry.endswith(".log")]
    lint = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(len(logs) == len(result.of("block")) and lint.returncode == 0, f"{name}: each block has one whole log",
       f"{len(logs)} logs {lint.stdout}{lint.stderr}")
    rest = [entry for entry in os.listdir(directory) if not entry.endswith((".log", ".jsonl"))]
    ok(len(rest) <= count, f"{name}: {len(rest)} unfinished files, for the next start to delete", rest)
    restarts = summary.get("deliver_restarted", 0)
    if sig == signal.SIGKILL:
        ok(restarts > 10, f"{name}: {restarts} restarts are counted", summary)
        ok(result.err.count("it is started again") == 1, f"{name}: with one message", result.err)
    else:
        ok(not restarts and not complaints(result), f"{name}: it is only a slow reader", result.err)


def test_gone_for_good(process):
    """A process that always dies: the run ends with an error instead of a loop."""
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    while tracer.process.poll() is None:
        pid = process_of(tracer)
        try:
            if pid:
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    result = tracer.finish()
    ok(result.status == 1 and "5 times in a row" in result.err and result.seconds < 20, "killed each time: status 1", result)


def test_tracer_killed():
    process = bad.target("loop", 40)
    reader, writer = os.pipe()
    for blocked in (False, True):
        tracer = bad.Tracer("--json", "-t", "1ms" if blocked else "25ms", "-p", process.pid, stdout=writer if blocked else None)
        pid = process_of(tracer)
        if blocked:
            bad.wait_for(lambda: "pipe_write" in wchan(pid) or state_of(pid) == "S" and waits_for_pipe(pid))
        bad.end(tracer.process)
        ok(bad.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 10),
           f"the tracer is killed{', nobody reads stdout' if blocked else ''}: the process ends")
    os.close(reader)
    os.close(writer)
    bad.end(process)


def wchan(pid):
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def state_of(pid):
    return bad.status_of(pid)["State"].split()[0]


def waits_for_pipe(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        fields = file.read().split()
    return len(fields) > 1 and fields[1] == "0x1"


def test_all():
    """-a: none of the tracer's processes is traced or reported as not watched."""
    tracer = bad.Tracer("--json", "-t", "25ms", "-a", "-u", USER, "-d", "3s", env=AS_SUDO)
    process_of(tracer)
    own = set(bad.own_pids(tracer.pid))
    result = tracer.finish()
    summary = result.summary()
    found = [entry for entry in summary["not_watched"] + summary["loops"] if entry.get("pid") in own]
    lines = result.err.replace("jankbpf: ", "").splitlines()
    # another test's jankbpf may have processes of this user
    missed = [line for line in lines if "not watched" in line and own & set(map(int, re.findall(r"\d+", line)))]
    named = [line for line in lines if "not watched" not in line and "jankbpf" in line]
    ok(result.status == 0 and not found + missed + named, "-a: it is neither traced nor missed", f"{found} {result}")


bad.need_tracing()
looping = bad.target("loop", 40)
test_sudo(looping)
test_root(looping)
test_not_theirs(looping)
test_foreign_files(looping)
test_no_socket()
test_harassed(signal.SIGKILL, "killed")
test_harassed(signal.SIGSTOP, "stopped")
test_gone_for_good(looping)
test_tracer_killed()
test_all()
bad.done()
