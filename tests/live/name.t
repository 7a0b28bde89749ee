#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf-name: what it may do, and that no dispatch is missing without a count while it is killed
or stopped; names come back."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

UIDS = range(2010000000, 2147000001)  # nobody's: user/files/lone_uid.c


def process_of(tracer, name="jankbpf-name"):
    """The pid of that process of its; 0: none now."""
    return bad.own_process(tracer.pid, name)


def complaints(result):
    return [line for line in result.complaints() if not line.endswith(" ended") and "tracing;" not in line]


def functions(block):
    return {frame["function"] for sample in block["samples"] for frame in sample["stack"] if "function" in frame}


def users():
    """The user ids of all processes, each process's at most once."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += set(bad.status_of(pid)["Uid"].split())
        except (OSError, KeyError):  # it has just ended
            pass
    return found


def check_power(tracer, what, bounds, name="jankbpf-name"):
    pid = process_of(tracer, name)
    status = bad.status_of(pid)
    ids = {key: set(status[key].split()) for key in ("Uid", "Gid")}
    uid = next(iter(ids["Uid"]))
    ok(len(ids["Uid"]) == 1 and ids["Uid"] == ids["Gid"] and int(uid) in UIDS and not status["Groups"].split(),
       f"{what}: it has a user of its own", ids)
    ok(users().count(uid) == 1, f"{what}: no other process may kill or slow it", uid)
    bad.check_powerless(status, what, bounds)
    ok(os.stat(f"/proc/{pid}/mem").st_uid == 0, f"{what}: programs of its user could not look into it")
    return pid


def settled(tracer, before):
    """Its next process has its limits: its user is the last but one thing that it gives up."""
    def is_so():
        pid = process_of(tracer)
        try:
            return pid not in (0, before) and int(bad.status_of(pid)["Uid"].split()[0]) in UIDS and \
                bad.status_of(pid)["NoNewPrivs"] == "1"
        except (OSError, KeyError):
            return False
    return bad.wait_for(is_so)


def test_power(process):
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    bad.wait_for(lambda: b'"function":"main"' in tracer.stdout())
    pid = check_power(tracer, "at the start", True)
    links = bad.fds_of(pid)
    sockets = [fd for fd, link in links.items() if link.startswith("socket:")]
    rest = {fd: link for fd, link in links.items()
            if fd > 2 and not link.startswith(("socket:", "/"))}
    ok(len(sockets) == 2 and not rest and bad.fds_of(tracer.pid)[1] not in links.values(),
       "it has two sockets and files, but no stdout", links)
    os.kill(pid, signal.SIGKILL)
    settled(tracer, pid)
    check_power(tracer, "started again", False)
    sites = check_power(tracer, "jankbpf-sites", True, "jankbpf-sites")
    links = bad.fds_of(sites)
    ok(sorted(link.partition(":")[0] for fd, link in links.items() if fd > 2) == ["socket"] and
       links[0].startswith("socket:"), "jankbpf-sites: it has two sockets, and no file between two searches", links)
    before = len(tracer.stdout())
    again = bad.wait_for(lambda: b'"function":"main"' in tracer.stdout()[before:])
    result = tracer.stop()
    ok(result.status == 0 and result.summary()["lost"].get("namer_restarted") == 1, "the restart is counted", result.summary())
    ok(result.err.count("it is started again") == 1, "and reported once", result.err)
    ok(again, "blocks have names again", result)


def test_no_socket():
    done = subprocess.run([bad.JANK, "--name"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10,
                          check=False)
    ok(done.returncode == 2 and "only a trace starts this process" in done.stderr and not done.stdout,
       "a user cannot start it", done)


# --- killed and stopped

def rss_of(pid):
    try:
        return bad.rss_kb(pid)
    except (OSError, KeyError):  # a process has just ended
        return 0


class Harasser(threading.Thread):
    """Sends the signal to the process again and again, until it is told to end."""

    def __init__(self, tracer, sig, gap_s):
        super().__init__()
        self.tracer, self.sig, self.gap_s = tracer, sig, gap_s
        self.count, self.last, self.ends = 0, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(self.gap_s):
            pid = process_of(self.tracer)
            if pid in (0, self.last):  # a zombie, or stopped already
                continue
            try:
                os.kill(pid, self.sig)
                self.count, self.last = self.count + 1, pid
            except ProcessLookupError:
                pass

    def end(self):
        self.ends.set()
        self.join()


def test_harassed(sig, name, gap_s):
    """A hundred blocks a second."""
    truth_path = bad.scratch(f"truth{sig}")
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 600,
                          "--truth", truth_path, "--truth-min", "6ms")
    tracer = bad.Tracer("--json", "-t", "5ms", "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    harasser, most = Harasser(tracer, sig, gap_s), 0
    while simjank.poll() is None:
        most = max(most, rss_of(tracer.pid))
        time.sleep(0.05)
    harasser.end()
    result = tracer.finish()
    with open(truth_path, encoding="utf-8") as file:
        truth = [entry["begin_ns"] for entry in map(json.loads, file) if entry["type"] == "dispatch"]
    summary = result.summary() or {"lost": {}}
    lost = sum(summary["lost"].get(key, 0) for key in ("queue_full", "share_exceeded", "ring_full"))
    missing = bad.missing(truth, result.of("block"))
    ok(result.status == 0 and harasser.count > 0, f"{name} {harasser.count} times", result)
    ok(len(missing) <= lost, f"{name}: {len(missing)} of {len(truth)} dispatches are missing, {lost} are counted", missing[:5])
    ok(summary["lost"].get("namer_restarted", 0) >= harasser.count - 1, f"{name}: the restarts are counted", summary["lost"])
    ok(most < 100 << 10, f"{name}: at most {most >> 10} MB resident")
    ok(result.seconds < 60, f"{name}: it ends")


def test_given_up(process):
    """A process that always dies: the trace goes on without names (for a minute: test_name.c)."""
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    while "names are missing until it is started again, in a minute" not in tracer.stderr():
        pid = process_of(tracer)
        try:
            if pid:
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    before = tracer.stdout().count(b"\n")
    bad.wait_for(lambda: tracer.stdout().count(b"\n") > before + 2)
    result = tracer.stop()
    last = result.of("block")[-1]
    ok(result.status == 0 and not functions(last) and last["samples"], "always killed: blocks without names", result)
    ok(not process_of(tracer), "no process is left")


def test_sites_killed():
    """The loop of a program that starts later, which only uprobes show."""
    go = bad.scratch("go")
    tracer = bad.Tracer("--json", "-t", "25ms", "--backend", "uprobe", "--", "sh", "-c",
                        f"while [ ! -e {go} ]; do sleep 0.1; done; exec {bad.SIMJANK} --quiet --scenario sleep:60ms --count 3"
                        " --start-delay 500ms")
    os.kill(process_of(tracer, "jankbpf-sites"), signal.SIGKILL)
    with open(go, "w", encoding="ascii"):
        pass
    result = tracer.finish()
    blocks = [block for block in result.of("block") if block["duration_ns"] > 55 * bad.MS]
    ok(len(blocks) == 3, "jankbpf-sites killed: the next program's loop is found", result)
    ok("looks for functions to probe ended" in result.err and
       (result.summary() or {"lost": {}})["lost"].get("namer_restarted") == 1, "the restart is reported and counted", result)


def test_stopped_at_end(process):
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    os.kill(process_of(tracer), signal.SIGSTOP)
    before = time.monotonic()
    result = tracer.stop()
    ok(result.status == 0 and time.monotonic() - before < 15, "stopped: Ctrl-C ends the trace", result)


def main():
    bad.need_tracing()
    process = bad.target("loop", 40)
    test_power(process)
    test_no_socket()
    test_harassed(signal.SIGKILL, "killed", 0.2)
    test_harassed(signal.SIGSTOP, "stopped", 1)
    test_given_up(process)
    test_stopped_at_end(process)
    test_sites_killed()
    bad.end(process)
    bad.done()


if __name__ == "__main__":
    main()
