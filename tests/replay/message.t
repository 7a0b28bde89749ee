#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The message of a dispatch in a journal: as it was resolved when it was recorded, in every
output."""
import glob
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import journal_v1  # noqa: E402
import replay  # noqa: E402

MESSAGE_SZ = 264
HANDLER = {"symbol": "app::Window<int>", "module": "/usr/bin/app"}
NAMES = {
    "block": {"what": "12", "handler": HANDLER, "callback": {"module": "/lib/x.so", "offset": 4660},
              "fds": [{"fd": -1, "events": 0}], "ready_cnt": 0, "queued_ns": 35000000},
    "hang": {"fds": [{"fd": 8, "events": 1, "target": "tcp 127.0.0.1:80->127.0.0.1:5012"},
                     {"fd": 9, "events": 16, "target": "eventfd 3"}], "ready_cnt": 3},
}
WANT = {
    "block": {"what": "12", "handler": HANDLER, "callback": {"module": "/lib/x.so", "offset": 4660},
              "queued_ns": 35000000},
    "hang": {"fd": 8, "fd_target": "tcp 127.0.0.1:80->127.0.0.1:5012", "events": "in", "ready": 3,
             "also_ready": [{"fd": 9, "fd_target": "eventfd 3", "events": "hup"}]},
}
with open(os.path.join(HERE, "simjank.journal"), "rb") as file:
    HEADER, RECORDS = replay.split_journal(file.read())
RECORDS = [(kind, record) for kind, record in RECORDS if kind not in (8, journal_v1.OLD["message"])]  # its own messages


def raw_message(block, ready_got=1):
    """The MESSAGE record that comes before a BLOCK or HANG."""
    _, _, _, stamp, tgid, tid, cpu, _, start = struct.unpack_from("<IHHQIIIIQ", block)
    head = struct.pack("<IHHQIIIIQIIII", MESSAGE_SZ, 8, 0, stamp, tgid, tid, cpu, 0, start, 0, 0, ready_got, 0)
    return head + bytes(MESSAGE_SZ - len(head))


def journal_with(names, raw=raw_message):
    """Gives messages to the first hang and the first block; returns names by the kind of record."""
    out, begun = [], set()
    for code, record in RECORDS:
        kind = {replay.KINDS["block"]: "block", replay.KINDS["hang"]: "hang"}.get(code)
        tid, start = struct.unpack_from("<I", record, 20)[0], struct.unpack_from("<Q", record, 32)[0]
        if kind in names and kind not in begun:
            begun.add(kind)
            out += [raw(record), record, journal_v1.json_record("message", {
                "tid": tid, "start_ns": start, "hang": kind == "hang", **names[kind]})]
        else:
            out.append(record)
    return journal_v1.convert(HEADER + b"".join(out))


def messages(run):
    return {(record["type"], str(record["message"])): record["message"]
            for record in replay.records(run.stdout) if "message" in record}


def test_json(tap, scratch, path):
    run = scratch.replay("--json", path)
    got = list(messages(run).values())
    tap.check(run.returncode == 0 and not run.stderr and WANT["block"] in got and WANT["hang"] in got,
              "each has its message", run.stderr, got)
    tap.check(len(got) == 2, "and no other one has", got)
    records = scratch.put("records.jsonl", run.stdout)
    schema = scratch.put("schema", subprocess.run([scratch.program, "--schema"], check=True,
                                                  capture_output=True).stdout)
    check = subprocess.run([sys.executable, os.path.join(HERE, "..", "lib", "validate_records.py"), schema, records],
                           capture_output=True, text=True, check=False)
    if check.returncode == 3:
        tap.skip("valid by the schema", "python3-jsonschema is not installed")
    else:
        tap.check(check.returncode == 0, "valid by the schema", check.stdout)


def test_text(tap, scratch, path):
    text = scratch.replay(path).stdout.decode()
    tap.check("#12 to app::Window<…>, x.so+0x1234" in text and " · queued 35.0 ms before" in text,
              "the text has it", text)
    tap.check("3 ready, first tcp 127.0.0.1:80->127.0.0.1:5012" in text, "and the ready descriptors", text)
    text = scratch.replay("-v", path).stdout.decode()
    tap.check("   handler: app::Window<int> (app)\n" in text and "   ready: fd 9 eventfd 3 (hup)\n" in text,
              "-v shows all of it", text)


def test_log(tap, scratch, path):
    folder = scratch.file("kept")
    scratch.replay("-q", "-o", folder, path)
    logs = []
    for name in glob.glob(os.path.join(folder, "looper-*.log")):
        with open(name, encoding="utf-8") as log:
            logs.append(log.read())
    tap.check(sum(">>>>> Dispatching to app::Window<…> x.so+0x1234: 12\n" in log for log in logs) == 1,
              "BlockCanary's log has the line of Looper", *logs)


def test_without(tap, scratch):
    """A record of only names, or only values, gives nothing that it does not have."""
    run = scratch.replay("--json", scratch.put("raw", journal_with({"block": {}})))
    tap.check(run.returncode == 0 and not run.stderr and not messages(run), "values without names", run.stderr)
    run = scratch.replay("--json", scratch.put("names", journal_with(NAMES, raw=lambda record: b"")))
    tap.check(run.returncode == 0 and not run.stderr and not messages(run), "names without values", run.stderr)
    bad = scratch.put("bad", journal_with(NAMES, raw=lambda record: raw_message(record, 5)))
    lost = replay.records(scratch.replay("--json", bad).stdout)[-1]["lost"]
    tap.check(lost.get("bad_records") == 2, "impossible values are counted", lost)


def main():
    tap, scratch = replay.Tap(), replay.Scratch()
    path = scratch.put("journal", journal_with(NAMES))
    for test in (test_json, test_text, test_log):
        test(tap, scratch, path)
    test_without(tap, scratch)
    tap.end()


if __name__ == "__main__":
    main()
