#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""After its start jankbpf has few capabilities, no_new_privs and a filter of its system calls, in
each thread and in its helper process, and what it does late still works."""
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

NUMBERS = {"CAP_DAC_READ_SEARCH": 2, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_IPC_LOCK": 14, "CAP_SYS_PTRACE": 19,
           "CAP_SYS_ADMIN": 21, "CAP_SYS_NICE": 23, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39}
FOR_EXEC = {"CAP_SETGID", "CAP_SETUID"}  # not effective
ALWAYS = set(NUMBERS)
AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
COMPAT = os.path.join(bad.ROOT, ".output", "i686", "static", "simjank")


def status_of(path):
    with open(f"{path}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def tasks(pid):
    return [f"/proc/{pid}/task/{tid}" for tid in os.listdir(f"/proc/{pid}/task")]


def statuses(paths):
    """Of those that have not ended: some threads live only at the start."""
    ret = []
    for path in paths:
        try:
            ret.append(status_of(path))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return ret


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def helpers(pid):
    return [pid for pid in children(pid) if status_of(f"/proc/{pid}")["Name"] == "jankbpf-apart"]


def mask_of(names):
    return sum(1 << NUMBERS[name] for name in names)


def check_sets(what, tracer, names):
    mine = int(status_of("/proc/self")["CapPrm"], 16)
    want = {(key, mask_of(names - (FOR_EXEC if key == "CapEff" else set())) & mine) for key in ("CapEff", "CapPrm", "CapBnd")}
    found = statuses(tasks(tracer.pid) + [task for pid in helpers(tracer.pid) for task in tasks(pid)])
    sets = {(key, int(status[key], 16)) for status in found for key in ("CapEff", "CapPrm", "CapBnd")}
    ok(len(found) > 2 and sets == want,
       f"{what}: {len(found)} threads keep {' '.join(sorted(names))}", f"wanted {want}, found {sets}")
    ok({status["NoNewPrivs"] for status in found} == {"1"}, f"{what}: each has no_new_privs")
    if bad.has_filters():
        ok({status["Seccomp"] for status in found} == {"2"}, f"{what}: the system calls of each are filtered")
    else:
        bad.skip(f"{what}: the system calls of each are filtered", "no libseccomp, or no filters in the kernel")


def test_doctor():
    text = subprocess.run([bad.JANK, "doctor"], capture_output=True, text=True, check=False).stdout
    kept = text.partition("Kept by a trace")[2].partition("\n\n")[0]
    ok({line.split()[1] for line in kept.splitlines()[1:]} == set(NUMBERS), "doctor names what is kept, and why", text)


def functions(blocks, pid):
    return {f["function"] for b in blocks if b["pid"] == pid for s in b["samples"] for f in s["stack"]
            if "function" in f and not f.get("kernel")}


def test_late():
    """-a: processes that start after the capabilities are gone. One program is deleted then."""
    os.chmod(bad.SCRATCH, 0o711)
    tracer = bad.Tracer("--json", "-t", "25ms", "-a", "-u", "65534", "--marks", "always")
    check_sets("-a", tracer, ALWAYS)
    program, deleted = bad.private_copy("late"), bad.private_copy("deleted")
    late = start_nobody(program)
    gone = start_nobody(deleted)
    shutil.rmtree(bad.scratch("deleted"))
    compat = None
    if os.path.exists(COMPAT):
        shutil.copy(COMPAT, bad.scratch("simjank32"))
        compat = bad.start([*AS_NOBODY, bad.scratch("simjank32"), "--quiet", "--scenario", "sleep:40ms"])
    wanted = [late.pid, gone.pid] + ([compat.pid] if compat else [])

    def seen():
        pids = {bad.json.loads(line)["pid"] for line in tracer.stdout().split(b"\n")[:-1] if b'"type":"block"' in line}
        return all(pid in pids for pid in wanted)

    bad.wait_for(seen, 20)
    check_sets("-a, later", tracer, ALWAYS)
    result = tracer.stop()
    bad.end(late, gone, *([compat] if compat else []))
    blocks = result.of("block")
    pids = {block["pid"] for block in blocks}
    for what, process in (("a new process's private program", late), ("a deleted program", gone)):
        names = functions(blocks, process.pid)
        ok("main" in names, f"{what}: its functions have names", f"{sorted(names)} {result.err}")
    if compat:
        ok(compat.pid in pids, "a new 32-bit process is traced", result.err)
    else:
        bad.skip("a new 32-bit process", "not built: make compat32")
    ok(result.summary()["cost"].get("bpf_ns"), "the kernel's statistics of our programs are read", result.summary()["cost"])
    ok(result.status == 0, "nothing is wrong at the end", result.err)


def start_nobody(program):
    process = bad.start([*AS_NOBODY, program, "loop", "40"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def test_directory(process):
    """-o in a directory of the user of sudo; it is rotated."""
    directory = bad.scratch("sudo")
    os.mkdir(directory, 0o700)
    os.chown(directory, 65534, 65534)
    tracer = bad.Tracer("-t", "1ms", "--json", "-o", directory, "--max-size", "1M", "-p", process.pid,
                        env={**os.environ, "SUDO_UID": "65534"})
    check_sets("-o", tracer, ALWAYS)
    rotated = bad.wait_for(lambda: os.path.exists(f"{directory}/blocks.1.jsonl"), 60)
    result = tracer.stop()
    ok(rotated and result.status == 0 and "unwritten" not in result.err, "-o: the records are rotated", result.err)


def test_command():
    """A COMMAND's setuid program keeps its power, and another user's COMMAND is ended."""
    setuid = bad.scratch("id")
    shutil.copy(shutil.which("id"), setuid)
    os.chmod(setuid, 0o4755)
    done = bad.trace("-q", "--json", "--as", "65534", "--", setuid, "-u")
    ok(done.status == 0 and done.out.splitlines()[0] == "0", "COMMAND: a setuid program becomes its owner", done)
    tracer = bad.Tracer("--json", "--as", "65534", "--", "sleep", "1000")
    check_sets("COMMAND", tracer, ALWAYS)
    statuses = [status_of(f"/proc/{pid}") for pid in children(tracer.pid)]
    ok([status["Seccomp"] for status in statuses if status["Name"] == "sleep"] == [status_of("/proc/self")["Seccomp"]],
       "COMMAND: it has no filter of ours", statuses)
    result = tracer.stop(signal.SIGINT)
    ok(result.status == 0 and result.seconds < 15 and result.summary(), "another user's COMMAND is ended", result)


def test_child():
    """A child of another user, which waits in no loop that the probes know, is looked at."""
    program = bad.scratch("waiter")
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", program, os.path.join(bad.ROOT, "tests/live/programs/waiter.c")], check=True)
    parent = bad.start(["sh", "-c", f"{' '.join(AS_NOBODY)} {program} cond 100000; true"])
    bad.wait_for(lambda: children(parent.pid), 30)
    result = bad.trace("--json", "-f", "-t", "60ms", "-n", "3", "-p", parent.pid)
    for child in children(parent.pid):
        os.kill(child, signal.SIGKILL)
    bad.end(parent)
    ok(len(result.of("block")) == 3, "-f: another user's child has blocks", result.err)


def without(cap, *args, **options):
    name = cap[4:].lower()
    return bad.trace("--json", "-t", "25ms", "-n", "8", *args, **options,
                     prefix=["setpriv", "--bounding-set", f"-{name}", "--inh-caps", f"-{name}"])


def test_reasons(process):
    """Without it, what the table names fails."""
    result = without("CAP_SYS_ADMIN", "-p", process.pid)
    ok(result.status == 0 and "bpf_ns" not in result.summary()["cost"], "without CAP_SYS_ADMIN: no cost of ours", result)
    # a priority that it was started with needs no capability
    result = without("CAP_SYS_NICE", "-v", "-p", process.pid, preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 0))
    ok("no higher priority" in result.err, "without CAP_SYS_NICE: no priority", result)
    private = start_nobody(bad.private_copy("unread"))
    result = without("CAP_DAC_READ_SEARCH", "-p", private.pid)
    bad.end(private)
    ok(result.status == 0 and "main" not in functions(result.of("block"), private.pid),
       "without CAP_DAC_READ_SEARCH: a private program has no names", result.err)
    for cap in ("CAP_BPF", "CAP_PERFMON"):
        prefix = ["setpriv", "--bounding-set", f"-{cap[4:].lower()},-sys_admin"]
        result = bad.trace("-d", "1s", "-p", process.pid, prefix=prefix)
        ok(result.status == 77 and cap in result.err, f"without {cap}: nothing is traced", result)


bad.need_tracing()
looping = bad.target("loop", 40)
test_doctor()
test_late()
test_directory(looping)
test_command()
test_child()
test_reasons(looping)
bad.done()
