#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Records as protobuf: they have the content of the JSON, the documented consumer reads them, and
DIR and symbolize support them."""
import glob
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "reference")]
import outputs  # noqa: E402
import replay  # noqa: E402
import schema  # noqa: E402

NAMES = ("threads", "given", "redis", "qt", "python-chain")
STRIPPED = "stripped"
RECORD = schema.message("Record")


def split(stream):
    """The messages of a stream."""
    at = 0
    while at < len(stream):
        size, shift = 0, 0
        while True:
            byte = stream[at]
            size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
            if not byte & 128:
                break
        yield RECORD.FromString(stream[at:at + size])
        at += size


def plain(message):
    """A message in the form of our JSON: addresses as text, arrays, nested objects; numbers
    unchanged."""
    ret = {}
    for field, value in message.ListFields():
        repeated = field.label == field.LABEL_REPEATED
        values = [plain(each) if field.message_type else each for each in (value if repeated else [value])]
        if field.containing_type.name == "Frame" and field.name == "address":
            values = [f"{value:#x}"]
        ret[field.name] = values if repeated else values[0]
    return ret


def flat(message):
    kind = message.WhichOneof("type")
    return {"type": kind, "schema": message.schema, **plain(getattr(message, kind))}


def differ(proto, text, path=""):
    """The first difference. JSON rounds, and has empty arrays and objects where a message has
    none."""
    if isinstance(text, dict):
        keys = [key for key in text.keys() | proto.keys() if key in proto or text.get(key) not in ([], {})]
        return next(filter(None, (differ(proto[key], text[key], f"{path}.{key}") if key in proto and key in text
                                  else f"{path}.{key}: in one only" for key in sorted(keys))), None)
    if isinstance(text, list):
        if len(proto) != len(text):
            return f"{path}: {len(proto)}, not {len(text)}"
        return next(filter(None, (differ(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(proto, text)))), None)
    if isinstance(text, float) and not isinstance(proto, bool):
        return None if abs(proto - text) <= 0.05 else f"{path}: {proto}, not {text}"
    return None if proto == text and type(proto) is type(text) else f"{path}: {proto!r}, not {text!r}"


def test_same(tap, scratch, name):
    journal = scratch.put(f"{name}.journal", outputs.journal_of(name))
    want = replay.records(scratch.replay("--format", "json", journal).stdout)
    got = [flat(message) for message in split(scratch.replay("--format", "proto", journal).stdout)]
    wrong = [differ(a, b) for a, b in zip(got, want)]
    tap.check(len(got) == len(want) > 1 and not any(wrong), f"{name}: the protobuf has the content of the JSON",
              len(got), len(want), *filter(None, wrong))
    return journal


def test_dir(tap, scratch, journal):
    folder = scratch.file("kept")
    run = scratch.replay("--format", "proto", "-o", folder, journal)
    with open(os.path.join(folder, "blocks.pb"), "rb") as file:
        kept = file.read()
    tap.check(kept == run.stdout and not glob.glob(os.path.join(folder, "*.jsonl")), "-o keeps the same stream in blocks.pb",
              os.listdir(folder))


def test_consumer(tap, scratch, journal):
    """Runs the consumer of docs/contract.md as documented."""
    with open(os.path.join(replay.ROOT, "docs", "contract.md"), encoding="utf-8") as file:
        code = re.search(r"^```python\n(.*?)^```$", file.read(), re.M | re.S).group(1)
    consumer = scratch.put("consumer.py", code.encode())
    subprocess.run(["protoc", f"--proto_path={replay.ROOT}/schema", f"--python_out={scratch.path}", "blockinfo.proto"], check=True)
    want = [record for record in replay.records(scratch.replay("--json", journal).stdout) if record["type"] == "block"]
    stream = scratch.replay("--format", "proto", journal).stdout
    run = subprocess.run([sys.executable, "-B", consumer], input=stream, capture_output=True, check=False)
    got = run.stdout.decode().splitlines()
    tap.check(got == [f"{block['duration_ns'] / 1e6} ms {block['process']} {block['cause']['summary']}" for block in want] and want,
              "the documented consumer prints each block", run.stderr.decode(), got[:2])


def test_symbolize(tap, scratch):
    journal = scratch.put("stripped.journal", outputs.journal_of(STRIPPED))
    debug = os.path.join(HERE, "reference", f"{STRIPPED}.debug")
    stream = scratch.put("stripped.pb", scratch.replay("--format", "proto", journal).stdout)
    run = subprocess.run([replay.JANKBPF, "symbolize", "--debug-dir", debug, stream], capture_output=True, check=False)
    want = [json.loads(line) for line in outputs.read(STRIPPED, outputs.SYMBOLIZED).splitlines()]
    wrong = [differ(flat(a), b) for a, b in zip(split(run.stdout), want) if b["type"] != "summary"]
    tap.check(run.returncode == 0 and wrong and not any(wrong), "symbolize gives a stream the same names as the JSON",
              run.stderr.decode(), *filter(None, wrong))
    with open(stream, "rb") as file:
        whole = file.read()
    torn = scratch.put("torn.pb", whole[:-3])
    run = subprocess.run([replay.JANKBPF, "symbolize", "--debug-dir", debug, torn], capture_output=True, check=False)
    tap.check(run.returncode == 0 and b"the last record is torn" in run.stderr and
              len(list(split(run.stdout))) == len(list(split(whole))) - 1, "a torn stream gives its whole records, and a message",
              run.stderr.decode())


def main():
    tap, scratch = replay.Tap(), replay.Scratch()
    for name in NAMES:
        journal = test_same(tap, scratch, name)
    test_dir(tap, scratch, journal)
    test_consumer(tap, scratch, journal)
    test_symbolize(tap, scratch)
    tap.end()


if __name__ == "__main__":
    main()
