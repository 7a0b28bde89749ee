#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A recorded journal (see ./record) is judged again: without BPF, by a user without privileges."""
import glob
import os
import random
import resource
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import journal_v1  # noqa: E402
import replay  # noqa: E402

MS = 1000000
JUNK_ROUNDS = 60
LOG = "looper-*.log"  # blocks have BlockCanary logs, hangs have none
with open(os.path.join(HERE, "simjank.journal"), "rb") as file:
    OLD_JOURNAL = file.read()
JOURNAL = journal_v1.convert(OLD_JOURNAL)
with open(os.path.join(HERE, "simjank.jsonl"), encoding="utf-8") as file:
    WANT = replay.records(file.read())
BLOCKS, SUMMARY = WANT[:-1], WANT[-1]


def same(tap, text, run, want, words=""):
    """The run succeeded, printed nothing to stderr but `words`, and gave the expected result."""
    got = replay.records(run.stdout)
    tap.check(run.returncode == 0 and words in run.stderr and bool(words) == bool(run.stderr), text,
              run.returncode, run.stderr)
    tap.check(replay.ids(got) == replay.ids(want), "  the same records", replay.ids(got))
    tap.check(not replay.lacks(got, want), "  with the same content", replay.lacks(got, want))


def test_same(tap, scratch, journal):
    same(tap, "the journal's blocks", scratch.replay("--json", journal), WANT)
    kinds = {block["cause"]["kind"] for block in BLOCKS}
    tap.check({"sleep", "futex", "poll", "pipe", "disk"} <= kinds and
              {"hang", "block"} == {block["type"] for block in BLOCKS},
              "the fixture has many kinds of cause, and a hang", kinds)
    links = [link for block in BLOCKS for link in block.get("chain", ())]
    waits = [sample["waited_for"] for block in BLOCKS for sample in block["samples"] if "waited_for" in sample]
    tap.check({"woke", "held"} == {link["role"] for link in links} and
              all(any(key in wait for wait in waits) for key in ("path", "device", "target", "futex_owner")),
              "  chains, files and owners of mutexes", links[:2], waits[:3])


def counted(blocks):
    """The summary of these blocks of one loop, each of another fault; the stopped one is shorter than
    100 ms."""
    signatures = {block["cause"]["signature"] for block in blocks}
    hidden = SUMMARY["blocks"] + SUMMARY["stopped_blocks"] - len(blocks)
    rest = {key: value for key, value in SUMMARY.items() if key not in ("stopped_blocks", "faults", "grouped_by", "stalled")}
    rest.update(not_shown=[{"reason": "threshold", "blocks": hidden}])
    if blocks:
        rest.update(stalled={"ns": sum(block.get("delay_ns", block["duration_ns"]) for block in blocks)}, grouped_by="signature",
                    faults=[fault for fault in SUMMARY["faults"] if fault["key"] in signatures])
    return dict(rest, blocks=len(blocks), loops=[dict(loop, blocks=len(blocks)) for loop in SUMMARY["loops"]])


def test_threshold(tap, scratch, journal):
    limit = 100 * MS
    over = [dict(block, threshold_ns=limit) for block in BLOCKS if block["duration_ns"] > limit]
    want = counted([block for block in over if block["type"] == "block"])
    tap.check(0 < len(over) < len(BLOCKS), "some blocks are over 100 ms, some are not")
    same(tap, "a higher threshold", scratch.replay("--json", "-t", "100ms", journal), over + [want])
    low = [dict(block, threshold_ns=MS) for block in BLOCKS]
    same(tap, "a lower threshold", scratch.replay("--json", "-t", "1ms", journal), low + [SUMMARY],
         "the journal holds only dispatches over 25")
    none = scratch.replay("--json", "-t", "1h", journal)
    same(tap, "a threshold above all", none, [dict(counted([]), hangs=0)])


def test_options(tap, scratch, journal):
    run = scratch.replay("--json", "--debugging", journal)
    more = [block for block in replay.records(run.stdout) if block not in WANT]
    stopped = [block for block in more if block["type"] == "block"]
    tap.check(len(stopped) == 1 and stopped[0]["cause"]["kind"] == "stopped",
              "--debugging also gives the stopped one", more)
    run = scratch.replay("--json", "-n", "2", journal)
    got = replay.records(run.stdout)
    tap.check(sum(record["type"] == "block" for record in got) == 2 and got[-1]["blocks"] == 2,
              "-n 2 gives two blocks", replay.ids(got))
    tap.check(sum(loop["blocks"] for loop in got[-1]["loops"]) == 2 and got[-1]["dispatches"] == SUMMARY["dispatches"],
              "its loops count these two, and all their dispatches", got[-1])
    tap.check({each["reason"]: each["blocks"] for each in got[-1]["not_shown"]} ==
              {"count": SUMMARY["blocks"] - 2, "stopped": SUMMARY["stopped_blocks"]}, "and says how many more there were", got[-1])
    signature = BLOCKS[0]["cause"]["signature"]
    run = scratch.replay("--json", "--sig", signature, journal)
    got = replay.records(run.stdout)
    tap.check({"reason": "sig", "blocks": SUMMARY["blocks"] - got[-1]["blocks"]} in got[-1]["not_shown"],
              "--sig: the others are counted", got[-1])
    run = scratch.replay("--json", "--fps", "1000", journal)
    frames = [block["dropped_frames"] for block in replay.records(run.stdout)[:-1]]
    tap.check(frames == [block["duration_ns"] // MS for block in BLOCKS], "--fps counts frames again", frames)


def test_text(tap, scratch, journal):
    run = scratch.replay(journal)
    text = run.stdout.decode()
    names = [block["cause"]["frame"]["function"] for block in BLOCKS]
    tap.check(run.returncode == 0 and not run.stderr and all(name in text for name in names),
              "as text it names each cause", run.stderr, text)
    tap.check("\x1b" not in text, "without colours if there is no terminal")


def test_output(tap, scratch, journal):
    folder = scratch.file("kept")
    run = scratch.replay("--json", "-o", folder, journal)
    with open(os.path.join(folder, "blocks.jsonl"), "rb") as kept:
        got = replay.records(kept.read())
    tap.check(run.returncode == 0 and not run.stderr, "-o works in a replay", run.stderr)
    tap.check(replay.ids(got) == replay.ids(WANT) and not replay.lacks(got, WANT),
              "  blocks.jsonl has the same records", replay.lacks(got, WANT))
    logs = glob.glob(os.path.join(folder, LOG))
    tap.check(len(logs) == SUMMARY["blocks"], "  and each block has its log", logs)
    run = scratch.replay("--json", "-o", "/proc/nowhere", journal)
    tap.check(run.returncode == 1 and "/proc/nowhere" in run.stderr, "-o where nothing can be created",
              run.returncode, run.stderr)


def test_schema(tap, scratch, journal):
    text = "a replay's output is valid by the schema"
    records = scratch.put("records.jsonl", scratch.replay("--json", journal).stdout)
    schema = scratch.put("schema", subprocess.run([scratch.program, "--schema"], check=True,
                                                  capture_output=True).stdout)
    run = subprocess.run([sys.executable, os.path.join(HERE, "..", "lib", "validate_records.py"), schema, records],
                         capture_output=True, text=True, check=False)
    if run.returncode == 3:
        return tap.skip(text, "python3-jsonschema is not installed")
    return tap.check(run.returncode == 0, text, run.stdout + run.stderr)


def cuts():
    """Lengths to truncate the journal to, and whether a record ends there."""
    header, records = replay.split_journal(JOURNAL)
    ends, at = [len(header)], len(header)
    for _, record in records:
        at += len(record)
        ends.append(at)
    chosen = ends[::9] + [ends[-2], ends[-1]]
    yield from ((length, True) for length in chosen)
    for length in chosen[:-1]:
        yield from ((length + more, False) for more in (1, 31, 33))
    yield from ((length - 1, False) for length in chosen[1:])


def test_torn(tap, scratch):
    """Every block that ended before that place is there, by its numbers; its names may come after
    it."""
    wrong = []
    for length, whole in cuts():
        run = scratch.replay("--json", scratch.put("torn", JOURNAL[:length]))
        got = replay.records(run.stdout)
        warned = "is torn: its last part is left out" in run.stderr
        if run.returncode or warned == whole or run.stderr.count("\n") > 2:
            wrong.append((length, run.returncode, run.stderr))
        elif got[-1]["type"] != "summary" or not is_prefix(got[:-1]):
            wrong.append((length, replay.ids(got)))
    tap.check(not wrong, "a torn journal gives a warning, and the blocks before the tear", wrong[:3])


def is_prefix(got):
    """Hangs come before the record of their block: compares by id and time account."""
    strip = [(block["type"], block["start_ns"], block["duration_ns"], block["time"]) for block in got]
    return strip == [(block["type"], block["start_ns"], block["duration_ns"], block["time"])
                     for block in BLOCKS][:len(strip)]


def junk(chance, content):
    """The content with some bytes changed; a seed decides which, and to what."""
    ret = bytearray(content)
    for _ in range(chance.choice((1, 3, 20, 200))):
        at = chance.randrange(replay.HEADER_SZ, len(ret))
        kind = chance.randrange(4)
        if kind == 0:
            ret[at] = chance.randrange(256)
        elif kind == 1:
            ret[at:at + 8] = chance.choice((b"\xff" * 8, b"\0" * 8, b"\x1b[31m\n\"\\"))
        elif kind == 2:
            del ret[at:at + chance.randrange(64)]
        else:
            ret[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(64)))
    return bytes(ret)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def test_junk(tap, scratch):
    chance = random.Random(7)
    wrong = []
    for number in range(JUNK_ROUNDS):
        journal = scratch.put("junk", junk(chance, JOURNAL))
        options = ("--json",) if number % 2 else ()
        run = scratch.replay(*options, journal, preexec_fn=limit_memory)
        try:
            got = replay.records(run.stdout) if options else [{"type": "summary"}]
            good = run.returncode == 0 and got[-1]["type"] == "summary" and b"\x1b" not in run.stdout
        except ValueError as error:
            good, run.stderr = False, f"{error}"
        if not good:
            wrong.append((number, run.returncode, run.stderr[-300:]))
    tap.check(not wrong, f"{JUNK_ROUNDS} journals with random damage give what can be read", wrong[:3])


def test_hostile_names(tap, scratch):
    """Names are bytes of untrusted programs."""
    evil = "\x1b[31mred\r\n\"'\\<b>\u202e\u2028"
    names = {journal_v1.OLD[name]: name for name in ("frames", "process", "session", "waited")}
    header, records = replay.split_journal(OLD_JOURNAL)
    changed = [header]
    for kind, record in records:
        if kind in names:
            value = journal_v1.json_of(record)
            for wait in value.get("spans", []) + value.get("links", []):
                wait.update(process=evil, waited={"path": evil, "device": evil, "target": evil, "peer": evil})
            for frame in value.get("frames", ()):
                frame.update(function=evil, module=evil, file=evil, line=1)
            value.update({key: evil for key in ("name", "exe", "cgroup", "kernel") if key in value})
            record = journal_v1.json_record(names[kind], value)
        changed.append(record)
    journal = scratch.put("evil", journal_v1.convert(b"".join(changed)))
    text = scratch.replay(journal)
    bad = [byte for byte in text.stdout if byte < 32 and byte != 10]
    tap.check(text.returncode == 0 and not bad, "no control byte of a name reaches the terminal", bad[:9])
    got = replay.records(scratch.replay("--json", journal).stdout)
    shown = "?[31mred??\"'\\<b>??"
    tap.check(got[0]["process"] == shown and got[0]["cause"]["frame"]["function"] == shown,
              "in JSON the name has ? for what is not to be shown", got[0]["process"])
    paths = {sample["waited_for"].get("path") for block in got[:-1] for sample in block["samples"] if "waited_for" in sample}
    tap.check(shown in paths, "also names of what was waited for", paths)
    folder = scratch.file("evil-kept")
    run = scratch.replay("--json", "-o", folder, journal)
    tap.check(run.returncode == 0 and len(glob.glob(os.path.join(folder, LOG))) == SUMMARY["blocks"],
              "-o accepts them", run.stderr)


def varint(number):
    more = number >> 7
    return bytes([number & 0x7f | (0x80 if more else 0)]) + (varint(more) if more else b"")


def later_fields():
    """Fields with numbers that no message has, of each wire type; with text that would be
    noticed."""
    text = "\x1b[31mevil".encode()
    return (varint(900 << 3) + varint(7) + varint(901 << 3 | 1) + b"\xff" * 8 + varint(902 << 3 | 2) + varint(len(text)) + text +
            varint(903 << 3 | 5) + b"\xff" * 4)


def add_later_fields(message):
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.label == field.LABEL_REPEATED else [value]:
                add_later_fields(each)
    message.MergeFromString(later_fields())


def test_later_fields(tap, scratch):
    """A later version adds fields, in any message."""
    header, records = replay.split_journal(JOURNAL)
    names = {code: name for name, code in journal_v1.NEW.items()}
    changed, count, own = [header], 0, 0
    for kind, record in records:
        if kind in names:
            message = journal_v1.message_of(record, names[kind])
            add_later_fields(message)
            record = journal_v1.record_of(names[kind], message)
            count, own = count + record.count(later_fields()), own + 1
        changed.append(record)
    tap.check(own > 50 and count > 2 * own, "fields of a later version are in all messages", count, own)
    same(tap, "they are ignored", scratch.replay("--json", scratch.put("later-fields", b"".join(changed))), WANT)
    text = scratch.replay("-v", scratch.file("later-fields"))
    tap.check(text.returncode == 0 and b"evil" not in text.stdout, "and not shown", text.stderr)


def test_losses(tap, scratch):
    """Losses of the recording and of the replay, each reason once."""
    _, records = replay.split_journal(OLD_JOURNAL)
    bad = bytearray(next(record for kind, record in records if kind == replay.KINDS["block"]))
    bad[40] ^= 1
    unknown = bytearray(next(record for kind, record in records if kind == replay.KINDS["exec"]))
    unknown[4:6] = b"\x77\0"
    end = journal_v1.json_record("end", {"elapsed_ns": 5, "lost": {"bad_records": 1, "ring_full": 2}})
    journal = journal_v1.convert(OLD_JOURNAL + bytes(bad) * 3 + bytes(unknown) + end)
    run = scratch.replay("--json", scratch.put("losses", journal))
    tap.check('"bad_records":3' in run.stdout.decode().replace(" ", "") and
              run.stdout.count(b"bad_records") == 1, "what both lost is reported once", run.stdout[-900:])
    lost = replay.records(run.stdout)[-1]["lost"]
    tap.check(lost == {"bad_records": 3, "ring_full": 2, "unknown_records": 1}, "by reason", lost)


def test_counts(tap, scratch):
    """A converted record beside a new one: dispatches of 1 to 1000 µs, with a threshold of 300
    µs."""
    header, records = replay.split_journal(JOURNAL)
    rest = [record for kind, record in records if kind != replay.KINDS["thread"]]
    old = next(record for kind, record in replay.split_journal(OLD_JOURNAL)[1] if kind == journal_v1.OLD_THREAD)
    counts = [0] * journal_v1.OLD_BUCKETS
    for us in range(1, 1001):
        counts[(us * 1000).bit_length() - 1] += 1
    body = struct.pack(f"<{3 + len(counts)}Q", 1000, 700, 0, *counts)
    thread = journal_v1.thread(old[:32] + body + old[32 + len(body):])
    run = scratch.replay("--json", scratch.put("counts", header + b"".join(rest + [thread])))
    loop = replay.records(run.stdout)[-1]["loops"][0]
    tap.check(loop["dispatches"] == 1000 and loop["blocks"] == SUMMARY["blocks"] and sum(b["count"] for b in loop["buckets"]) == 1000,
              "counts of a converted record", run.stderr, loop)
    tap.check(loop["log2"] == counts[:20] and "max_ns" not in loop, "  are the old ones by octave, without a maximum", loop)
    tap.check(abs(loop["p50_ns"] - 500000) < 15000 and abs(loop["p90_ns"] - 900000) < 80000,
              "  with quantiles as exact as octaves allow", loop)
    hist = struct.pack("<3Q", 1000000, 700, 300000)
    run = scratch.replay("--json", scratch.put("edge", header + b"".join(rest + [thread[:56] + hist + thread[80:]])))
    loop = replay.records(run.stdout)[-1]["loops"][0]
    over = sum(b["count"] for b in loop["buckets"] if b["upper_ns"] > 300000)
    tap.check(over == 700 and 300000 in [b["upper_ns"] for b in loop["buckets"]] and loop["max_ns"] == 1000000,
              "a threshold is an edge; above it are as many as were counted", loop)


def without(kinds, content):
    header, records = replay.split_journal(content)
    return header + b"".join(record for code, record in records if code not in kinds)


def test_without(tap, scratch):
    """Journals without some of our own records, and messages that lack a part."""
    old, new = journal_v1.OLD, journal_v1.NEW
    for what, words, journal in (
            ("no session", "lacks its session", without([new["Session"]], JOURNAL)),
            ("no process", "", without([new["Process"]], JOURNAL)),
            ("no load", "", journal_v1.convert(without([old["load"]], OLD_JOURNAL))),
            ("no messages", "", journal_v1.convert(without([old["message"]], OLD_JOURNAL))),
            ("no names of waits", "", journal_v1.convert(without([old["waited"]], OLD_JOURNAL))),
            ("no answers", "", without([new["Answers"]], JOURNAL)),
            ("no callers", "", without([new["Callers"]], JOURNAL)),
            ("no names", "", without([new["Frames"]], JOURNAL)),
            ("no end", "", without([new["End"]], JOURNAL)),
            ("none of our records but the session", "", without([code for name, code in new.items() if name != "Session"], JOURNAL))):
        run = scratch.replay("--json", scratch.put("without", journal))
        got = replay.records(run.stdout)
        want = [block["duration_ns"] for block in BLOCKS]
        have = [block["duration_ns"] for block in got[:-1] if block["cause"]["kind"] != "stopped"]
        tap.check(run.returncode == 0 and [ns for ns in have if ns in want] == want and
                  words in run.stderr and bool(words) == bool(run.stderr),
                  f"{what}: all blocks are there", run.stderr, have)


def test_refused(tap, scratch):
    folder = scratch.file("a-folder")
    os.mkdir(folder)
    for what, path, words in (
            ("no file", scratch.file("nowhere"), "No such file"),
            ("an empty file", scratch.put("empty", b""), "no journal of jankbpf: too short"),
            ("another file", scratch.put("other", b"#!/bin/sh\necho hello world\n"), "no journal of jankbpf"),
            ("an older version", scratch.put("older", OLD_JOURNAL), "has version 1, this program reads version 2"),
            ("a later version", scratch.put("later", JOURNAL[:8] + b"\3" + JOURNAL[9:]), "has version 3"),
            ("a folder", folder, "not a regular file"), ("a device", "/dev/null", "not a regular file")):
        run = scratch.replay("--json", path)
        tap.check(run.returncode == 1 and not run.stdout and words in run.stderr and path in run.stderr and
                  run.stderr.count("\n") == 1, f"{what} is refused in one line", run.returncode, run.stderr)
    secret = scratch.put("secret", JOURNAL)
    os.chmod(secret, 0)
    run = scratch.replay("--json", secret)
    tap.check(run.returncode == 1 and "Permission denied" in run.stderr, "so is an unreadable file", run.stderr)


def test_stdout(tap, scratch, journal):
    reader, writer = os.pipe()
    os.close(reader)
    run = scratch.replay("--json", journal, stdout=writer)
    os.close(writer)
    tap.check(run.returncode == 0 and not run.stderr, "a stdout whose reader has left ends it, and is no failure",
              run.returncode, run.stderr)
    with open("/dev/full", "wb") as full:
        run = scratch.replay("--json", journal, stdout=full)
    tap.check("No space left" in run.stderr and run.stderr.count("No space left") == 1,
              "a full disk is reported once", run.returncode, run.stderr)


def main():
    tap, scratch = replay.Tap(), replay.Scratch()
    journal = scratch.put("journal", JOURNAL)
    for test in (test_same, test_threshold, test_options, test_text, test_output, test_schema, test_stdout):
        test(tap, scratch, journal)
    for test in (test_torn, test_junk, test_hostile_names, test_later_fields, test_losses, test_counts, test_without,
                 test_refused):
        test(tap, scratch)
    tap.end()


if __name__ == "__main__":
    main()
