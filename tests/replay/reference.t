#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The references (reference/, made by reference/record): a replay of journals of real programs
gives what it gave when they were recorded. Records are the same except for the order of members;
each number is the same text; the texts and BlockCanary's logs are the same bytes. REFERENCE=a,b
compares these only.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.join(HERE, "reference")
sys.path[:0] = [os.path.join(HERE, "..", "lib"), REFERENCE]
import outputs  # noqa: E402
import replay  # noqa: E402

SHOWN = 12


def parse(output):
    """Parses records so that numbers are compared as text: 1.5 is not 1.50. The cost is left
    out."""
    lines = output.decode().splitlines()
    records = [json.loads(line, parse_float=Number, parse_int=Number) for line in lines]
    return [replay.without_cost(record) for record in records]


class Number(str):
    """A number as it is written."""


def differences(got, want, path=""):
    """Each difference, including what only one of the two has."""
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted(got.keys() | want.keys()):
            if key not in got or key not in want:
                yield f"{path}.{key} is {'missing' if key in want else 'new: ' + str(got[key])[:200]}"
            else:
                yield from differences(got[key], want[key], f"{path}.{key}")
    elif isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        for number, pair in enumerate(zip(got, want)):
            yield from differences(*pair, f"{path}[{number}]")
    elif got != want or type(got) is not type(want):
        yield f"{path} is {got!r:.200}, not {want!r:.200}"


def check_records(tap, name, got, want):
    try:
        found = list(differences(parse(got), parse(want), name))
    except ValueError as error:
        found = [f"no JSON: {error}"]
    tap.check(not found, f"{name}: the same records, whatever the order of their members", len(found), *found[:SHOWN])


def first_lines(got, want):
    got, want = got.decode(errors="replace").split("\n"), want.decode(errors="replace").split("\n")
    number = next((i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]), min(len(got), len(want)))
    return f"line {number + 1}", *got[number:number + 2], "not", *want[number:number + 2]


def check_text(tap, name, what, got, want):
    tap.check(got == want, f"{name}: the same {what}, to the byte", *first_lines(got, want))


def check(tap, scratch, name):
    got = outputs.made(scratch, name, outputs.journal_of(name))
    want = {suffix: outputs.read(name, suffix) for suffix in got}
    for suffix in {outputs.RECORDS, outputs.SYMBOLIZED} & got.keys():
        check_records(tap, name, got[suffix], want[suffix])
    for suffix, what in (("txt", "text"), ("verbose", "text with -v"), (outputs.LOGS, "logs"), (outputs.SAID, "stderr")):
        check_text(tap, name, what, got[suffix], want[suffix])


# --- what the references cover together

def members(schema, node, path=""):
    """Each member of a record in the schema, by its path."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield from members(schema, schema["$defs"][name], path)
    for key, each in node.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from members(schema, each, f"{path}.{key}")
    if "items" in node:
        yield from members(schema, node["items"], path + "[]")


def paths(value, path=""):
    """Each member that a record has."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{path}.{key}"
            yield from paths(each, f"{path}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from paths(each, path + "[]")


def words_of(header):
    """The words of cause.what, by the header that lists them."""
    with open(os.path.join(replay.ROOT, "user", "verdict", header), encoding="utf-8") as file:
        return {line.split('"')[1] for line in file if line.startswith("\tX(\"")}


def check_coverage(tap, scratch, names):
    """Every kind of cause occurs; words and members that do not occur are reported."""
    schema = json.loads(subprocess.run([scratch.program, "--schema"], check=True, capture_output=True).stdout)
    kinds, words, have = set(), set(), set()
    for name in names:
        for record in parse(outputs.read(name, outputs.RECORDS)):
            have.update(f"{record['type']}{path}" for path in paths(record))
            for part in (record.get("cause") or {}).get("parts", ()):
                kinds.add(part["kind"])
                words.add(part.get("what"))
    wanted = {"cpu", "kernel", "runnable", *schema["$defs"]["Blocked"]["properties"]}
    tap.check(wanted <= kinds, f"the {len(names)} references have every kind of cause", wanted - kinds)
    tap.note(f"words of cause.what that no reference has: {', '.join(sorted(words_of('sentence.h') - words)) or 'none'}")
    known = {f"{kind}{path}" for kind in ("block", "hang", "summary") for path in members(schema, schema["$defs"][kind])}
    tap.check(have <= known | {path for path in have if ".blocked_ns." in path or ".lost." in path},
              "the schema knows each of their members", have - known)
    lacking = known - have
    tap.note(f"{len(known & have)} of {len(known)} members occur; in no block: " +
             (", ".join(sorted(path for path in lacking if path.startswith("block"))) or "all do"))
    tap.note("in no hang, though in a block: " +
             (", ".join(sorted(p for p in lacking if p.startswith("hang") and p.replace("hang", "block", 1) in have)) or "all do"))


def main():
    tap, scratch = replay.Tap(), replay.Scratch()
    names = outputs.names()
    chosen = os.environ.get("REFERENCE")
    for name in chosen.split(",") if chosen else names:
        check(tap, scratch, name)
    if not chosen:
        check_coverage(tap, scratch, names)
    tap.end()


if __name__ == "__main__":
    main()
