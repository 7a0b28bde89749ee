#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An attacker with thousands of loop threads, or with a fork bomb in its own cgroup, beside simjank of another
user: each block of simjank is reported while the attack lasts, what is dropped is counted to the
attacker, and Ctrl-C ends the trace."""
import json
import os
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok, skip

ATTACKER, VICTIM = 61001, 61002  # no users of this machine
THREADS, PER_PROCESS = 10000, 2500
BOMB_MAX = 600
THRESHOLD_NS, GUARD_NS = 25 * MS, 2 * MS
COUNT = 90
ATTACK_BLOCKS = 1000  # then the attack is on
STOP_S, REPORT_S = 2, 10
RSS_MAX_KB = 100 * 1024
PIDS = "/sys/fs/cgroup/pids"


def as_user(uid, program):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", program]


def with_nice(value):
    """For start(): an absolute niceness. The test is about room, not about CPU time."""
    return {"preexec_fn": lambda: os.setpriority(os.PRIO_PROCESS, 0, value)}


def attack(*mode, prefix=()):
    first, *rest = [*prefix, *as_user(ATTACKER, bad.scratch("target"))]
    return bad.target(*rest, *mode, exe=first, **with_nice(19))


class Victim:
    """simjank of the other user, and its truth. It starts when the attack is on."""

    def __init__(self):
        self.truth = bad.scratch("truth/victim")
        os.makedirs(os.path.dirname(self.truth), exist_ok=True)
        os.chown(os.path.dirname(self.truth), VICTIM, VICTIM)

    def run(self, seconds=60):
        options = ("--quiet", "--scenario", "sleep:40ms-60ms,poll:40ms,pipe:40ms", "--gap", "20ms", "--count", str(COUNT),
                   "--start-delay", "200ms", "--truth", self.truth)
        return bad.start([*as_user(VICTIM, bad.scratch("simjank")), *options], **with_nice(-5)).wait(seconds)

    def dispatches(self):
        with open(self.truth, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        return [r for r in records if r["type"] == "dispatch" and r["duration_ns"] > THRESHOLD_NS + GUARD_NS]


def missing(dispatches, blocks):
    """The dispatches that no block overlaps in the same thread."""
    times = {}
    for block in blocks:
        times.setdefault(block["tid"], []).append((block["start_ns"], block["start_ns"] + block["duration_ns"]))
    return [d for d in dispatches
            if not any(begin < d["end_ns"] and end > d["begin_ns"] for begin, end in times.get(d["tid"], ()))]


def blocks_of(out):
    """The victim's whole records so far."""
    lines = out[:out.rfind(b"\n") + 1].splitlines()
    return [json.loads(line) for line in lines if b'"uid":%d,' % VICTIM in line]


def lost_of(summary, uid):
    """What the summary counts to a user; None for the others."""
    return sum(sum(n for key, n in user.items() if key != "uid")
               for user in summary.get("over_share", ()) if user.get("uid") == uid)


def check(what, start_attack, *options, counted=True):
    victim = Victim()
    tracer = bad.Tracer("--json", "-t", f"{THRESHOLD_NS // MS}ms", "-a", "-u", ATTACKER, "-u", VICTIM, *options,
                        **with_nice(0))
    attackers, end_attack = start_attack()
    try:
        under_attack = bad.wait_for(lambda: tracer.stdout().count(b'"uid":%d,' % ATTACKER) > ATTACK_BLOCKS)
        ok(under_attack, f"{what}: blocks of the attacker come")
        ok(victim.run() == 0, f"{what}: simjank ends well")
        wanted = victim.dispatches()
        since = time.monotonic()
        reported = bad.wait_for(lambda: not missing(wanted, blocks_of(tracer.stdout())), REPORT_S)
        late_s = time.monotonic() - since
        rss = bad.rss_kb(tracer.pid)
        begin = time.monotonic()
        result = tracer.stop()
        stop_s = time.monotonic() - begin
    finally:
        end_attack(*attackers)
    summary = result.summary() or {"lost": {}}
    mine = blocks_of(result.raw[:result.raw.rfind(b'{"type":"summary"')])
    left = missing(wanted, mine)
    ok(reported and len(wanted) >= COUNT * 9 // 10, f"{what}: all {len(wanted)} blocks of the other user are reported "
       f"meanwhile, {late_s:.1f} s after the last ({len(left)} are missing)", f"{summary.get('over_share')} {summary['lost']} {result.err}")
    sampled = sum(any(s["stack"] for s in b["samples"]) for b in mine)
    ok(sampled >= 0.9 * len(mine), f"{what}: {sampled} of {len(mine)} of them have a stack", summary["lost"])
    ok(result.status == 0 and stop_s <= STOP_S, f"{what}: Ctrl-C ends it within {STOP_S} s ({stop_s:.2f})", result.err)
    ok(rss < RSS_MAX_KB, f"{what}: {rss} KiB")
    ok(not lost_of(summary, VICTIM), f"{what}: nothing is lost of the other user", summary.get("over_share"))
    ok(not counted or lost_of(summary, ATTACKER), f"{what}: what is dropped is counted to the attacker", summary)
    total = sum(lost_of(summary, user.get("uid")) for user in summary.get("over_share", ()))
    ok(total == summary["lost"].get("share_exceeded", 0), f"{what}: the loss is the sum of its users", summary)
    all_blocks = result.raw.count(b'"type":"block"')
    print(f"# {all_blocks} blocks, {len(mine)} of them the other user's; "
          f"lost {summary['lost']}, by user {summary.get('over_share')}")


def threads():
    """Each makes a block a second: more would make it a test of CPU time."""
    return [attack("crowd", 0, PER_PROCESS - 1, 1000) for _ in range(THREADS // PER_PROCESS)], bad.end


def storm():
    """9,000 blocks a second, with deep stacks."""
    return [attack("hoard", 1000, 26000, 1, 40, 200) for _ in range(2)], bad.end


class Bomb:
    """A cgroup with a limit of processes, and a fork bomb in it."""

    def __init__(self):
        self.path = f"{PIDS}/jank-bomb-{os.getpid()}"
        os.mkdir(self.path)
        self.write("pids.max", BOMB_MAX)

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def pids(self):
        with open(f"{self.path}/cgroup.procs", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def start(self):
        enter = ["sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', self.path]
        process = attack("bomb", 40, prefix=enter)
        bad.wait_for(lambda: len(self.pids()) > BOMB_MAX // 2)
        return [process], self.end

    def end(self, *processes):
        self.write("pids.max", 0)

        def all_gone():
            for pid in self.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not self.pids()

        bad.wait_for(all_gone)
        bad.end(*processes)
        os.rmdir(self.path)


def test_bomb():
    what = f"a fork bomb of {BOMB_MAX} processes"
    if not os.path.exists(PIDS):
        return skip(what, "no pids cgroup of version 1")
    return check(what, Bomb().start, counted=False)


bad.need_tracing()
os.setpriority(os.PRIO_PROCESS, 0, 0)  # as the tracer: the attackers have thousands of threads
os.chmod(bad.SCRATCH, 0o755)
for program in (bad.TARGET, bad.SIMJANK):
    shutil.copy(program, bad.scratch(os.path.basename(program)))
TESTS = {
    "threads": lambda: check(f"{THREADS} loop threads", threads),
    "plain": lambda: check(f"{THREADS} loop threads, plain probes", threads, "--disable-feature", "task_storage"),
    "storm": lambda: check("a storm of blocks", storm),
    "bomb": test_bomb,
}
for name in sys.argv[1:] or TESTS:
    TESTS[name]()
bad.done()
