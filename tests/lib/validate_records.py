#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Validates JSON Lines by the schema in the binary, and by rules that a schema cannot express.

    validate_records.py SCHEMA FILE            every line is valid, and its time account sums up
    validate_records.py --mutate SCHEMA FILE   also: every line becomes invalid by one wrong thing

Exit status 1 with complaints, 3 when python3-jsonschema is not installed.
"""
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(3)


def required(schema, record):
    """The members that the schema requires in a record of this type."""
    definition = schema["$defs"][record["type"]]["$ref"].rsplit("/", 1)[-1]
    return set(schema["$defs"][definition]["required"])


def lines_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if data and not data.endswith(b"\n"):
        yield "torn last line", None
    for line in data.split(b"\n")[:-1]:
        yield None, json.loads(line.decode("utf-8"))


def account(record):
    time = record["time"]
    return time["running_ns"] + time["runnable_ns"] + sum(time["blocked_ns"].values())


def verdict_rules(record):
    parts = record.get("cause", {}).get("parts", [])
    first = {key: record["cause"].get(key) for key in ("kind", "what", "share", "frame")} if parts else {}
    if parts and first != {key: parts[0].get(key) for key in first}:
        yield "the cause is not its first part"
    if [p["share"] for p in parts] != sorted((p["share"] for p in parts), reverse=True):
        yield "parts out of order"
    for link in record.get("chain", []):
        if "time" in link and account(link) > link["ns"]:
            yield "a link's account is more than its time"
    if "chain_sample" in record and record["chain_sample"] not in [s["t_ns"] for s in record["samples"]]:
        yield "the chain's sample is not there"


def stacks(record):
    for part in record["samples"] + record.get("chain", []):
        yield part["stack"]
        yield part.get("wake_stack", [])
        yield part.get("waker", {}).get("stack", [])


def rules(record):
    """Rules that a schema cannot express."""
    if record["type"] == "interval" and not all(
            record[key] == sum(loop[key] for loop in record["loops"]) for key in ("dispatches", "blocks")):
        yield "an interval is not the sum of its loops"
    if record["type"] in ("summary", "interval"):
        return
    if account(record) != record["duration_ns"]:
        yield "account is %d, not %d" % (account(record), record["duration_ns"])
    times = [s["t_ns"] for s in record["samples"]]
    if times != sorted(times):
        yield "samples out of order"
    yield from verdict_rules(record)
    for stack in stacks(record):
        kernel = [f.get("kernel", False) for f in stack]
        if kernel != sorted(kernel, reverse=True):
            yield "kernel frames after user frames"


def objects(value, path=()):
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            yield from objects(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value[:2]):
            yield from objects(item, path + (i,))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def trimmed(record):
    """Keeps a few samples and frames: they are as good as many."""
    record = copy.deepcopy(record)
    del record.get("samples", [])[2:]
    for sample in record.get("samples", []):
        del sample["stack"][2:]
    return record


def mutants(record, wanted):
    """Copies with one thing wrong each; `wanted` are the required members."""
    record = trimmed(record)
    for path in objects(record):
        mutant = copy.deepcopy(record)
        at(mutant, path)["Bogus-Key"] = 1
        yield "a key more at %r" % (path,), mutant
    for key in wanted:
        mutant = copy.deepcopy(record)
        del mutant[key]
        yield "no %s" % key, mutant
    for key in record:
        mutant = copy.deepcopy(record)
        mutant[key] = None
        yield "null for %s" % key, mutant
    for key in record:
        if key.endswith("_ns"):
            yield "a fraction in %s" % key, dict(record, **{key: 0.5})
            yield "a string in %s" % key, dict(record, **{key: "1"})


def main(args):
    mutate = args[0] == "--mutate"
    with open(args[mutate], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    complaints, count = [], 0
    for number, (torn, record) in enumerate(lines_of(args[mutate + 1]), 1):
        if torn:
            complaints.append(torn)
            continue
        count += 1
        found = [e.message[:300] for e in validator.iter_errors(record)]
        found = found or list(rules(record))
        complaints += ["line %d: %s" % (number, message) for message in found]
        for what, mutant in mutants(record, required(schema, record)) if mutate else ():
            if validator.is_valid(mutant):
                complaints.append("line %d: valid with %s" % (number, what))
    for complaint in complaints:
        print(complaint)
    if not complaints:
        print("%d valid records" % count)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
