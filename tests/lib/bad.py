# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests of failures and hostile conditions: TAP, traced programs, the tracer, and
checks of what it leaves behind."""
import atexit
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import tap  # noqa: E402
from own import own_pids, own_process  # noqa: E402,F401
from tap import Tap, skip_all  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)
JANK = os.environ.get("JANKBPF", "./jankbpf")
SIMJANK = "./simjank"
TARGET = ".output/bad/target"
SCRATCH = tempfile.mkdtemp(prefix="bad-")
MS = 1000000
VALIDATED_MAX = 300
EPOLL_CALLS = {"x86_64": ("232", "281", "441"), "aarch64": ("22", "441")}.get(os.uname().machine, ())
STARTED = []  # every process that we started, so that none is left behind
RESULTS = Tap()


# --- results

def ok(good, name, detail=""):
    return RESULTS.check(good, name, detail)


def skip(name, reason):
    RESULTS.skip(name, reason)


def done():
    RESULTS.end()


def need_tracing():
    """Skips the whole test where tracing is not possible; builds the target programs where it
    is."""
    if os.geteuid():
        skip_all("needs root")
    tap.need_tracing(JANK)
    built = subprocess.run(["make", "-s", "bad-target"], capture_output=True, text=True, check=False)
    if built.returncode:
        print("Bail out! the targets do not build:", built.stderr.replace("\n", " "))
        sys.exit(1)


# --- processes

def clean_up():
    for process in STARTED:
        if process.poll() is None:
            process.kill()
            process.wait()
    for where, dirs, _ in os.walk(SCRATCH):
        for name in dirs:
            path = os.path.join(where, name)
            if os.path.ismount(path):
                subprocess.run(["umount", "-l", path], check=False)
    shutil.rmtree(SCRATCH, ignore_errors=True)


atexit.register(clean_up)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def scratch(name):
    return os.path.join(SCRATCH, name)


def start(args, **options):
    process = subprocess.Popen(args, **options)
    STARTED.append(process)
    return process


def target(*args, exe=TARGET, **options):
    """A traced program, started and ready."""
    process = start([exe, *map(str, args)], stdout=subprocess.PIPE, text=True, **options)
    line = process.stdout.readline()
    if line != "ready\n":
        raise RuntimeError(f"{exe} {args}: said {line!r}")
    return process


def private_copy(name):
    """Of the program that target starts: one that only another user may read."""
    folder = scratch(name)
    os.mkdir(folder)
    shutil.copy(TARGET, f"{folder}/target")
    for path in (f"{folder}/target", folder):
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o700)
    return f"{folder}/target"


def simjank(*args, build=SIMJANK, **options):
    """A simjank that has created its threads and is about to begin."""
    reader, writer = os.pipe()
    process = start([build, "--quiet", "--ready-fd", str(writer), *map(str, args)],
                    pass_fds=[writer], **options)
    os.close(writer)
    with os.fdopen(reader) as ready:
        ready.readline()
    return process


def end(*processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def is_waiting(process):
    """Is its main thread in epoll_wait?"""
    with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] in EPOLL_CALLS


def in_dispatch(process):
    """Returns when its main thread has been in a dispatch for 50 ms, that is, outside
    epoll_wait."""
    wait_for(lambda: is_waiting(process))
    wait_for(lambda: not is_waiting(process))
    time.sleep(0.05)


def begin_endless(process):
    """The same for `stuck` and `spin`: their dispatch begins now."""
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: not is_waiting(process))
    time.sleep(0.05)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as text:
        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)


def rss_kb(pid):
    """Of a tracer and its processes."""
    return sum(int(status_of(each)["VmRSS"].split()[0]) for each in own_pids(pid))


def pss_kb(pid):
    """The same, with pages that several of these processes share counted once: they run one program."""
    total = 0
    for each in own_pids(pid):
        with open(f"/proc/{each}/smaps_rollup", encoding="ascii") as rollup:
            total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return total


def at_rest(look, window_s, grown, windows=8):
    """Samples a value until two samples, window_s apart, differ by no more than the allowance;
    returns the last two if that never happens. Caches and the allocator's arenas stop growing, late
    on a slow machine; a leak does not."""
    last = look()
    for _ in range(windows):
        first = last
        time.sleep(window_s)
        last = look()
        if not grown(first, last):
            break
    return first, last


def cpu_s(pid):
    """User and system time of all threads of a tracer and its processes."""
    ticks = 0
    for each in own_pids(pid):
        with open(f"/proc/{each}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def has_filters():
    """The build and the kernel have filters of system calls."""
    doctor = subprocess.run([JANK, "doctor"], capture_output=True, text=True, check=False).stdout
    return re.search(r"^  ok +seccomp ", doctor, re.MULTILINE) is not None


def check_powerless(status, what, bounds):
    """By /proc/PID/status. bounds: nothing can give it a capability, as at the start of a trace."""
    caps = {key: int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    ok(not any(caps.values()), f"{what}: it has no capability", caps)
    if bounds:
        ok(int(status["CapBnd"], 16) == 0, f"{what}: nor can it get one", status["CapBnd"])
    ok(status["NoNewPrivs"] == "1", f"{what}: no_new_privs")
    if has_filters():
        ok(status["Seccomp"] == "2", f"{what}: its system calls are filtered", status["Seccomp"])
    else:
        skip(f"{what}: its system calls are filtered", "no libseccomp, or no filters in the kernel")


def fds_of(pid):
    links = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return links


def all_fds_of(pid):
    """Of a tracer and its processes."""
    return {(each, fd): link for each in own_pids(pid) for fd, link in fds_of(each).items()}


# --- the tracer

START_S = 90  # its start takes a second of CPU time, which a busy machine hands out late
BUSY_LOSSES = {"wakeup_missed", "evidence_shed", "preemptors_capped"}


# What is said when tracing began; and of what it saw before all probes were attached.
STARTING = r"jankbpf: (watching |blocks of the first |process \d+: its (main thread|thread \d+) is in )"


class Result:
    """The end of a trace: status (None: it had to be killed), both outputs, seconds."""

    def __init__(self, status, out, err, seconds):
        self.status, self.err, self.raw, self.seconds = status, err, out, seconds
        self.parsed = None

    @property
    def out(self):
        return self.raw.decode("utf-8", "backslashreplace")

    def complaints(self):
        """stderr without the lines of a start, and the losses that a busy machine causes."""
        def of_busy_machine(line):
            reasons = re.match(r"jankbpf: lost: (.*)", line)
            return not line or re.match(STARTING, line) or reasons and set(re.findall(r"\d+ (\w+)", reasons.group(1))) <= BUSY_LOSSES

        return [line for line in self.err.splitlines() if not of_busy_machine(line)]

    def __str__(self):
        return f"status {self.status} after {self.seconds:.2f} s\nstderr: {self.err}\nstdout: {self.out[:2000]}"

    def records(self):
        if self.parsed is None:
            self.parsed = [json.loads(line.decode("utf-8")) for line in self.raw.splitlines()]
        return self.parsed

    def of(self, kind):
        return [record for record in self.records() if record["type"] == kind]

    def blocks(self):
        """Dispatches that the program made slow itself. A busy machine can start any dispatch late, and any program."""
        return [block for block in self.of("block") if block["duration_ns"] > block["threshold_ns"] and not block.get("phase")]

    def summary(self):
        found = self.of("summary")
        return found[0] if len(found) == 1 else None


class Tracer:
    """A jankbpf in the background. Its outputs go to files, so that it never waits for the test."""

    def __init__(self, *args, stdout=None, wait=True, prefix=(), jank=JANK, **options):
        self.begin = time.monotonic()
        self.out = tempfile.TemporaryFile(dir=SCRATCH)
        self.err = tempfile.TemporaryFile(dir=SCRATCH)
        words = [*prefix, jank, *(["-v"] if wait else []), *map(str, args)]
        self.process = start(words, stdin=subprocess.DEVNULL, stdout=stdout or self.out, stderr=self.err,
                             **options)
        self.pid = self.process.pid
        self.attached_at = 0
        if wait and not wait_for(lambda: self.attached() or self.process.poll() is not None, START_S):
            raise RuntimeError(f"{words}: does not start tracing: {self.stderr()}")

    def attached(self):
        """All probes are; -v tells it. Blocks that are written before lack stacks."""
        if not self.attached_at and "tracing;" in self.stderr():
            self.attached_at = len(self.stdout())
        return "tracing;" in self.stderr()

    def written(self, process):
        """How many of its blocks were written since then. The first may have begun before."""
        return self.stdout()[self.attached_at:].count(b'"pid":%d,' % process.pid)

    def stderr(self):
        return self.read(self.err).decode("utf-8", "backslashreplace")

    def read(self, file):
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)

    def stdout(self):
        return self.read(self.out)

    def finish(self, seconds=20):
        """Waits for its end."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            end(self.process)
        return Result(status, self.stdout(), self.stderr(), time.monotonic() - self.begin)

    def stop(self, sig=signal.SIGINT, seconds=20):
        self.process.send_signal(sig)
        return self.finish(seconds)


def trace(*args, seconds=START_S, **options):
    """Runs it to its own end."""
    return Tracer(*args, wait=False, **options).finish(seconds)


def wait_for_hang(tracer):
    return wait_for(lambda: b'"type":"hang"' in tracer.stdout())


# --- judging

def missing(begins, blocks):
    """The dispatches of the truth, by their begins, that no block covers. The program may lose the
    CPU between the end of its wait, where a block begins, and its own begin."""
    spans = [(block["start_ns"], block["start_ns"] + block["duration_ns"]) for block in blocks]
    return [ns for ns in begins if not any(start <= ns < end for start, end in spans)]


def account(record):
    spent = record["time"]
    return spent["running_ns"] + spent["runnable_ns"] + sum(spent["blocked_ns"].values())


def exact(records):
    """Every block's account sums to its duration."""
    return all(account(r) == r["duration_ns"] for r in records if r["type"] != "summary")


def validate(path):
    """None when every line is a valid record by the schema and the contract, else the
    complaints."""
    schema = scratch("schema.json")
    with open(schema, "wb") as file:
        file.write(subprocess.run([JANK, "--schema"], capture_output=True, check=True).stdout)
    run = subprocess.run(["tests/lib/validate_records.py", schema, path], capture_output=True, text=True, check=False)
    if run.returncode == 3:
        return None
    return run.stdout + run.stderr if run.returncode else None


def valid(result, name):
    """The JSON Lines on its stdout are valid. Of thousands of records, a few hundred are
    validated."""
    path = scratch("records.jsonl")
    lines = result.raw.splitlines(keepends=True)
    for line in lines:
        json.loads(line.decode("utf-8"))
    with open(path, "wb") as file:
        file.writelines(lines[::len(lines) // VALIDATED_MAX + 1] + lines[-1:])
    complaints = validate(path)
    return ok(result.raw and not complaints, name, complaints or result)


# --- what is left behind

def held(pid):
    """The BPF programs, maps and links that a process has open, by kind and id."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as info:
                found |= {(line.split("_")[0], int(line.split()[1])) for line in info
                          if re.match(r"(prog|map|link)_id:", line)}
        except OSError:
            pass
    return found


def left(objects, seconds=5):
    """The objects that do not disappear. The kernel needs a moment to detach."""
    def still():
        found = set()
        for kind in ("prog", "map", "link"):
            run = subprocess.run(["bpftool", "-j", kind, "list"], capture_output=True, text=True, check=False)
            found |= {(kind, item["id"]) for item in json.loads(run.stdout or "[]")}
        return found & objects

    wait_for(lambda: not still(), seconds)
    return still()


def code_hash(pid, name="libc"):
    """A hash of a library's mapped code. A uprobe left behind changes it."""
    digest = hashlib.sha256()
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            match = re.match(r"(\w+)-(\w+) r-xp .*/" + name + r"[^/]*$", line)
            if match:
                begin, stop = (int(match[i], 16) for i in (1, 2))
                memory.seek(begin)
                digest.update(memory.read(stop - begin))
    return digest.hexdigest()
