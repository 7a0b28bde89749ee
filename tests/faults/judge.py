# SPDX-License-Identifier: GPL-2.0
"""Judges a run with a fault by the contract: complaints(end, clean, is_live) lists what is wrong.

Whatever is not in the outputs must be told: by a new line on stderr, or by the summary."""
import argparse
import json
import os
import re
import subprocess
import sys

import scenes

sys.path.append(os.path.join(scenes.ROOT, "tests", "lib"))
import truth  # noqa: E402

STATUSES = (0, 1, 2, 77)
REPORT = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|DEADLYSIGNAL|Assertion")
FOREIGN = " in fts_open "  # glibc does not check one of its allocations there
MS = 1000000
ARGS = argparse.Namespace(threshold=25 * MS, guard=8 * MS, hang=0, debugging=False, loop=None)
REPLAY = os.environ.get("REPLAY_JANKBPF", os.path.join(scenes.ROOT, ".output", "rel", "jankbpf"))  # without sanitizers


def lines_of(err):
    """The messages, without what differs from run to run."""
    return {re.sub(r"\d+|/tmp/\S+?(?=/)", "N", line) for line in err.splitlines() if line.startswith("jankbpf: ")}


def records(data):
    """The objects of JSON Lines. ValueError: a line is torn."""
    if data and not data.endswith(b"\n"):
        raise ValueError("the last line is torn")
    return [json.loads(line) for line in (data or b"").decode().split("\n")[:-1]]


def summary(found):
    return next((record for record in found if record["type"] == "summary"), None)


def is_told(end, clean, source, found):
    own = summary(found) or {}
    usual = summary(records(clean.read(source))) or {}
    return bool(lines_of(end.err) - lines_of(clean.err) or own.get("lost") or
                len(own.get("not_watched", ())) > len(usual.get("not_watched", ())))


def ids(found):
    return [(record["type"], record.get("id")) for record in found]


def replayed(end):
    """What the journal has."""
    done = subprocess.run([REPLAY, "replay", "-q", "--json", "-t", "25ms", end.path("journal")], capture_output=True, check=False)
    return records(done.stdout)


def live_losses(end, found):
    """What a trace should have reported or kept, and has not."""
    if not summary(found):
        yield "no summary"
    judgement = truth.Judgement(truth.Truth(end.path("truth")), ARGS)
    for record in found:
        judgement.add(record)
    for name in ("missing", "twice", "invented", "unsummed"):
        wrong = getattr(judgement, name)
        wrong = wrong() if callable(wrong) else wrong
        if wrong:
            yield f"{len(wrong)} {name}: {truth.describe(wrong[0])}"
    if ids(records(end.read("kept/blocks.jsonl"))) != ids(found):
        yield f"DIR has {len(records(end.read('kept/blocks.jsonl')))} records, stdout {len(found)}"
    blocks = [each for each in ids(found) if each[0] == "block"]
    if len(end.logs()) < len(blocks):
        yield f"DIR has {len(end.logs())} logs of {len(blocks)} blocks"
    if [each for each in ids(replayed(end)) if each[0] == "block"] != blocks:
        yield "the journal's replay has other blocks"


def losses(end, clean):
    for name in ("out", "kept/blocks.jsonl", "kept/blocks.pb"):
        if end.read(name) != clean.read(name):
            yield f"{name} differs: {len(end.read(name) or b'')} bytes of {len(clean.read(name) or b'')}"
    if len(end.logs()) != len(clean.logs()):
        yield f"{len(end.logs())} logs of {len(clean.logs())}"


def complaints(end, clean, is_live):
    report = REPORT.search(end.err)
    if report and FOREIGN in end.err:
        return []
    if report:
        return [f"a sanitizer's report: {end.err[report.start():][:2500]}"]
    if end.status is None:
        return ["it hung, and was killed"]
    if end.status not in STATUSES:
        return [f"status {end.status}"]
    told = bool(lines_of(end.err) - lines_of(clean.err))
    if end.status:
        return [] if told else [f"status {end.status} without a message"]
    source = next((name for name in ("out", "kept/blocks.jsonl") if (clean.read(name) or b"").startswith(b"{")), None)
    try:
        found = records(end.read(source)) if source else []
        if told or source and is_told(end, clean, source, found):
            return []
        return list(live_losses(end, found) if is_live else losses(end, clean))
    except (OSError, ValueError, AttributeError) as error:  # torn, or simjank did not write its truth
        return [f"cannot be judged: {error}"]


def thinner(end, clean):
    """Notes what is missing within the records, of which nothing is told."""
    def amount(data):
        return sum(data.count(word) for word in (b'"function"', b'"line"')), data.count(b'"cause"')

    (names, causes), (wanted, blocks) = amount(end.out), amount(clean.out)
    if end.status or not wanted or lines_of(end.err) - lines_of(clean.err) or (names > wanted * 0.6 and causes >= blocks):
        return None
    return f"{names} names and lines, {wanted} without the fault; {causes} causes of {blocks}"
