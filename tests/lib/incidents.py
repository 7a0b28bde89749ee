# SPDX-License-Identifier: GPL-2.0
"""The facts that a script knows of a stall that it caused, and checks of a verdict against them."""
import fnmatch

from live import BUSY_LOSSES, MS, blamed, functions, headline, main_syscall


class Truth:
    """kinds, whats: any of these is right. calls: any of these system calls. functions: any of
    these on the stacks. path: a glob. peer: a part of the peer's name. culprit: the pid of the
    process to blame. words: all are in the sentence. None or empty: not checked."""

    def __init__(self, name, kinds, *, whats=(), at_least_ms=0, calls=(), seen=(), path=None, peer=None, culprit=None,
                 words=()):
        self.name, self.kinds, self.whats, self.at_least_ms = name, kinds, whats, at_least_ms
        self.calls, self.seen, self.path, self.peer, self.culprit = calls, seen, path, peer, culprit
        self.words = words


def summary(block):
    return (block.get("cause") or {}).get("summary") or ""


def own_part(block):
    """The cause without the time for which neighbours took the CPU. None: too little time is left
    to find one."""
    return next((part for part in block["cause"].get("parts", ()) if part["kind"] == blamed(block)), None)


def waits(block):
    """What the dispatch waited for, and the threads that it waited for."""
    for holder in (*block["samples"], *block.get("chain", ())):
        if holder.get("waited_for"):
            yield holder["waited_for"]


def paths(block):
    return {wait["path"] for wait in waits(block) if "path" in wait}


def peers(block):
    return {wait["peer"] for wait in waits(block) if "peer" in wait}


def culprits(block):
    """The processes that the record blames."""
    found = {link["pid"] for link in block.get("chain", ())}
    found |= {wait["peer_task"]["pid"] for wait in waits(block) if "peer_task" in wait}
    return found | {s["waker"]["pid"] for s in block["samples"] if s.get("waker") and not s["waker"].get("softirq")}


def describe(block):
    return f"{headline(block)}\n{summary(block)}\n{sorted(paths(block))} {sorted(peers(block))} {culprits(block)}"


def check_kind(tap, truth, block):
    name = truth.name
    tap.check(block["duration_ns"] >= truth.at_least_ms * MS, f"{name}: the block covers all of it", headline(block))
    tap.check(blamed(block) in truth.kinds, f"{name}: the cause is {' or '.join(truth.kinds)}", describe(block))
    part = own_part(block)
    if truth.whats and part:
        tap.check(part.get("what") in truth.whats, f"{name}: cause.what is {' or '.join(map(str, truth.whats))}", part,
                  describe(block))
    if truth.calls:
        tap.check(main_syscall(block) in truth.calls, f"{name}: in {' or '.join(truth.calls)}", headline(block))
    if truth.seen:
        tap.check(any(word in f for f in functions(block) for word in truth.seen),
                  f"{name}: its stacks have {' or '.join(truth.seen)}", functions(block))


def check_culprit(tap, truth, block):
    name = truth.name
    if truth.path:
        tap.check(fnmatch.filter(paths(block), truth.path), f"{name}: the record names the file", truth.path, describe(block))
    if truth.peer:
        tap.check(any(truth.peer in peer for peer in peers(block)), f"{name}: the record names the peer", truth.peer,
                  describe(block))
    if truth.culprit:
        tap.check(truth.culprit in culprits(block), f"{name}: the record blames process {truth.culprit}", describe(block))


def check_incident(tap, truth, block):
    if not tap.check(block, f"{truth.name}: there is a block"):
        return
    tap.note(headline(block))
    tap.note(summary(block))
    check_kind(tap, truth, block)
    check_culprit(tap, truth, block)
    words = truth.words if own_part(block) else ["for a CPU"]
    missing = [word for word in words if word not in summary(block)]
    shed = set(block.get("lost") or ()) & set(BUSY_LOSSES)
    if missing and shed:
        tap.skip(f"{truth.name}: the sentence agrees", f"a busy machine left out detail of the block: {', '.join(shed)}")
        return
    tap.check(summary(block) and not missing, f"{truth.name}: the sentence agrees", missing, describe(block))
