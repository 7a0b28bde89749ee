#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each jq recipe that README.md, docs/, the help or the man page prints works on a real stream of
records: it prints something, and no null for records without its member."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../lib"))
from tap import Tap, skip_all  # noqa: E402

JANK = os.path.abspath(os.environ.get("JANKBPF", os.path.join(ROOT, "jankbpf")))
MAN = os.environ.get("JANK_MAN", os.path.join(ROOT, ".output/rel/jankbpf.8"))

# the command before the pipe, and jq with all that follows it; a code span ends at its backtick
RECIPE = re.compile(r"(?m)(?P<before>^[^`\n]*?|`[^`\n]*?)\bjq +(?P<rest>(?:-\w+ +)*(?:'[^'\n]*'|\.\S*)(?: *\|[^`\n]*)?)")
NULL = re.compile(r"^null$|[:\[,] ?null\b")
NEED_NOT_PRINT = ('select(.status != "ok")',)  # on a machine where all is well


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def from_roff(text):
    for roff, char in (("\\-", "-"), ("\\(aq", "'"), ("\\e", "\\"), ("\\&", "")):
        text = text.replace(roff, char)
    return re.sub(r"\\f[BRI]|(?m:^\.[A-Z]+ )", "", text)


def sources():
    """(name, text) of every page that prints recipes."""
    for path in (os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs/*.md")))):
        yield os.path.relpath(path, ROOT), read(path)
    commands = re.findall(r"(?m)^  ([a-z]+) +\S", output(JANK, "--help"))
    for topic in ("", *commands):
        yield f"help {topic}".strip(), output(JANK, "help", *topic.split())
    if os.path.exists(MAN):
        yield "the man page", from_roff(read(MAN))


def recipes(text):
    for match in RECIPE.finditer(text):
        yield match["before"].strip("`$ |"), match["rest"].strip()


def without(record, *path):
    """A copy of the record without the member."""
    copy = json.loads(json.dumps(record))
    inner = copy
    for name in path[:-1]:
        inner = inner.get(name, {})
    inner.pop(path[-1], None)
    return copy


def stream():
    """Blocks, hangs and the summary of simjank; also blocks without a frame, or a sentence (--redact)."""
    records = [json.loads(line) for line in read(os.path.join(HERE, "simjank.jsonl")).splitlines()]
    block = next(record for record in records if record["type"] == "block")
    records += [without(block, "cause", "frame"), without(block, "cause", "frame", "function"),
                without(block, "cause", "summary"), without(block, "message"), without(block, "chain")]
    return records


def input_of(before, lines):
    """What the command before the pipe prints."""
    for command in ("doctor", "loops"):
        if command in before.split():
            return output(JANK, command, "--json")
    return lines


def check(tap, name, before, rest, lines):
    done = subprocess.run(["sh", "-c", "jq " + rest], input=input_of(before, lines), capture_output=True, text=True, timeout=60, check=False)
    nulls = [line for line in done.stdout.splitlines() if NULL.search(line)]
    tap.check(done.returncode == 0 and not done.stderr and not nulls
              and (done.stdout.strip() or any(part in rest for part in NEED_NOT_PRINT)),
              f"{name}: jq {rest}", done.stderr, *nulls[:3], f"{len(done.stdout)} bytes of output")


def main():
    if not shutil.which("jq"):
        skip_all("no jq")
    tap = Tap()
    records = stream()
    kinds = {record["type"] for record in records}
    tap.check(kinds == {"block", "hang", "summary"}, "the stream has every type of record", kinds)
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    seen = 0
    for name, text in sources():
        for before, rest in recipes(text):
            seen += 1
            check(tap, name, before, rest, lines)
    tap.check(seen >= 5, f"the recipes were found: {seen}")
    bad = subprocess.run(["jq", "-r", ".cause.frame.function"], input=lines, capture_output=True, text=True, check=True).stdout
    tap.check(any(map(NULL.search, bad.splitlines())), "the check finds a null", bad)
    tap.end()


main()
