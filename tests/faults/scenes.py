# SPDX-License-Identifier: GPL-2.0
"""What the program does while a call fails: a scene runs it once and returns an End."""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "replay", "reference")]
import outputs  # noqa: E402

PROGRAM = os.environ.get("JANKBPF", os.path.join(ROOT, ".output", "san", "jankbpf"))
LIBRARY = os.path.join(ROOT, ".output", "faults", "faults.so")
SIMJANK = os.path.join(ROOT, "simjank")
STALLS = ["--quiet", "--scenario", "sleep,busy,mutex,pipe,server,chain", "--count", "6", "--length", "40ms-60ms", "--gap", "10ms",
          "--start-delay", "300ms"]
RUN_S, END_S = 60, 60  # at most, until SIGINT, and from there to the end


class End:
    """How a run ended: status (None: it hung), its outputs, and the files of its folder."""

    def __init__(self, folder, status):
        self.folder, self.status = folder, status
        self.out, self.err = self.read("out"), self.read("err").decode(errors="replace")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def logs(self):
        return sorted(os.path.basename(path) for path in glob.glob(self.path("kept/*.log")))


def environment(table, fault):
    ret = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", "LD_PRELOAD": LIBRARY, "FAULTS_TABLE": table,
           "FAULTS_DEPTH": os.environ.get("DEPTH", "1"),
           "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0:exitcode=99", "UBSAN_OPTIONS": "exitcode=99"}
    if fault:
        ret.update(FAULTS_SITE=f"{fault.key:x}", FAULTS_CALL=str(fault.call), FAULTS_VARIANT=str(fault.variant))
    return ret


class Run:
    """The program in the background, in a folder of its own, with one fault or none."""

    def __init__(self, folder, fault, *words):
        self.folder = folder
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            self.process = subprocess.Popen([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            cwd=folder, env=environment(self.path("table"), fault))

    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self, text):
        with open(self.path("err"), encoding="utf-8", errors="replace") as file:
            return text in file.read()

    def has_ended(self):
        return self.process.poll() is not None

    def finish(self, seconds=RUN_S):
        """Waits for its end, sends SIGINT if that takes too long, and kills it at last."""
        for patience, sig in ((seconds, signal.SIGINT), (END_S, signal.SIGKILL)):
            try:
                return End(self.folder, self.process.wait(patience))
            except subprocess.TimeoutExpired:
                self.process.send_signal(sig)
        self.process.wait()
        return End(self.folder, None)


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


def kept(folder):
    return ["-o", os.path.join(folder, "kept"), "--journal", os.path.join(folder, "journal")]


def stalls(folder):
    return [SIMJANK, *STALLS, "--truth", os.path.join(folder, "truth")]


# --- live

def command(folder, fault):
    """It starts the program that it traces."""
    return Run(folder, fault, "-v", "--json", "-t", "25ms", *kept(folder), "--", *stalls(folder)).finish()


@contextlib.contextmanager
def waiting_simjank(folder):
    """A simjank that waits for SIGUSR1."""
    with subprocess.Popen([*stalls(folder), "--wait"], stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def running(options):
    """It traces a running program, and Ctrl-C ends it."""
    def scene(folder, fault):
        with waiting_simjank(folder) as simjank:
            run = Run(folder, fault, "-v", "--json", "-t", "25ms", *kept(folder), *options(simjank.pid))
            wait_for(lambda: run.said("tracing;") or run.has_ended(), RUN_S)
            if not run.has_ended():
                simjank.send_signal(signal.SIGUSR1)
                simjank.wait(RUN_S)
            return run.finish(1)
    return scene


# --- records

def replay(name, *options):
    """It judges a reference's journal again."""
    def scene(folder, fault):
        with open(os.path.join(folder, "reference"), "wb") as file:
            file.write(outputs.journal_of(name))
        return Run(folder, fault, "replay", *outputs.OPTIONS.get(name, ()), "-o", os.path.join(folder, "kept"), *options,
                   os.path.join(folder, "reference")).finish()
    return scene


def symbolize(folder, fault):
    with open(os.path.join(folder, "records"), "wb") as file:
        file.write(outputs.read("stripped", outputs.RECORDS))
    return Run(folder, fault, "symbolize", "--debug-dir", os.path.join(outputs.HERE, "stripped.debug"), "records").finish()


LIVE = {
    "command": command,
    "pid": running(lambda pid: ["-p", pid, "-f", "--workers", "--hang", "30ms"]),
    "all": running(lambda pid: ["-a", "-c", "simjank", "--backend", "uprobe"]),
}
SCENES = {
    "replay": replay("chains", "--json", "-t", "25ms"),
    "replay_text": replay("python-chain", "-v", "-t", "25ms"),
    "replay_proto": replay("hang", "--format", "proto"),
    "symbolize": symbolize,
    **LIVE,
}
