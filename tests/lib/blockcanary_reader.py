#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An independent reader of BlockCanary's logs, by the rules of docs/blockcanary-format.md.

    blockcanary_reader.py FILE...          prints one JSON object a file: what BlockCanary reads from it
    blockcanary_reader.py --lint FILE...   also checks the layout; exit status 1 with complaints

The parser does what BlockCanary's does, including its traps: it finds keys by prefix in its order,
cuts a value at the next " = ", and throws at an empty one. The lint compares the layout with the
documented format.
"""
import datetime
import json
import os
import re
import sys

KEYS = ["qua", "model", "api-level", "imei", "cpu-core", "uid", "time-start", "time-end", "time",
        "thread-time", "process", "versionName", "versionCode", "network", "totalMemory",
        "freeMemory", "cpu-busy", "cpu-rate", "stack"]
INTS = {"time", "thread-time", "cpu-core", "versionCode"}
WHITE_LIST = ["org.chromium"]
TIME = r"\d\d-\d\d \d\d:\d\d:\d\d\.\d\d\d"
LAYOUT = ["qua", "versionName", "versionCode", "imei", "uid", "network", "model", "api-level",
          "cpu-core", "process", "freeMemory", "totalMemory", "time", "thread-time", "time-start",
          "time-end", "cpu-busy", "cpu-rate", "stack"]


class BrokenOff(Exception):
    pass


def java_lines(data):
    """BufferedReader.readLine(): ends at \\n, \\r or \\r\\n."""
    lines = re.split("\r\n|\n|\r", data)
    return lines[:-1] if lines and lines[-1] == "" else lines


def java_split(line):
    """String.split(" = "): empty strings at the end are dropped."""
    parts = line.split(" = ")
    while parts and parts[-1] == "":
        parts.pop()
    return parts


def value_of(line, key):
    parts = java_split(line)
    if len(parts) < 2:
        raise BrokenOff("no value: %r" % line)
    if key not in INTS:
        return parts[1]
    if not re.fullmatch(r"[+-]?\d{1,18}", parts[1]):
        raise BrokenOff("no integer: %r" % line)
    return int(parts[1])


def eat_rate(lines, first):
    rate = [first]
    for line in lines:
        if line == "":
            break
        rate.append(line)
    return rate


def eat_stacks(lines, first):
    entries, entry = [], [first]
    for line in lines:
        if line != "":
            entry.append(line)
        elif entry:
            entries.append(entry)
            entry = []
    return entries


def parse(text):
    """(fields, the reason why parsing stopped or None)"""
    fields = {"cpu-rate": [], "stack": []}
    lines = iter(java_lines(text))
    try:
        for line in lines:
            key = next((k for k in KEYS if line.startswith(k)), None)
            if key == "cpu-rate":
                parts = java_split(line)
                fields[key] = eat_rate(lines, parts[1]) if len(parts) > 1 else []
            elif key == "stack":
                fields[key] = eat_stacks(lines, value_of(line, key))
            elif key:
                fields[key] = value_of(line, key)
    except BrokenOff as broken:
        return fields, str(broken)
    return fields, None


def title(fields):
    for entry in fields["stack"]:
        for line in entry:
            if line[0].isalpha():
                found = re.search(r"\(([^)]*)\)", line)
                return found.group(1) if found else ""
    return ""


def verdict(fields, broken):
    """What BlockCanary does with the file."""
    if "time-start" not in fields:
        return "deleted as corrupt"
    if any(line.startswith(w) for e in fields["stack"] for line in e for w in WHITE_LIST):
        return "deleted by the white list"
    return "invalid" if broken else "ok"


def stacks(fields):
    """[(time, frames)]: entries are a time, then its frames."""
    entries = fields["stack"]
    return [(entries[i][0], entries[i + 1]) for i in range(0, len(entries) - 1, 2)]


def read(path):
    with open(path, "rb") as file:
        raw = file.read()
    fields, broken = parse(raw.decode("utf-8", "replace"))
    return raw, fields, {"file": os.path.basename(path), "verdict": verdict(fields, broken),
                         "broken": broken, "title": title(fields), "fields": fields}


def lint_bytes(raw):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        yield "no UTF-8: %s" % error
        return
    if re.search("\r(?!\n)|(?<!\r)\n", text):
        yield "a line end other than CRLF"
    if re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", text):
        yield "a control byte"
    if not text.endswith("\r\n\r\n"):
        yield "no empty line at the end"


def lint_head(lines):
    if lines[0] != "" or lines[1] != "*" * 22 or lines[3] != "":
        yield "not the header"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\(write log time\)", lines[2]):
        yield "not the write time: %r" % lines[2]


def lint_keys(lines):
    """Every line up to the stack is a key of the format, in its order, or one of our own keys."""
    order = []
    for line in lines[4:]:
        key, separator, value = line.partition(" = ")
        if key == "cpu-rate" or not line:
            order.append(key)
            continue
        if not separator or not value.strip() or " = " in value:
            yield "not `key = value`: %r" % line
        if not key.startswith("x-"):
            order.append(key)
        elif "cpu-busy" in order or any(key.startswith(k) for k in KEYS):
            yield "our own key at a wrong place: %r" % line
        if key == "stack":
            break
    if [k for k in order if k] != LAYOUT:
        yield "keys: %r" % order


def lint_fields(fields):
    for key in ("time-start", "time-end"):
        if not re.fullmatch(TIME, fields.get(key, "")):
            yield "%s: %r" % (key, fields.get(key))
    if fields.get("cpu-busy") not in ("true", "false"):
        yield "cpu-busy: %r" % fields.get("cpu-busy")
    for rate in fields["cpu-rate"]:
        if not re.fullmatch(TIME + r" cpu:\d+% app:\d+% \[user:\d+% system:\d+% ioWait:\d+% \]", rate):
            yield "cpu-rate: %r" % rate


def lint_stacks(fields):
    entries = fields["stack"]
    if not entries or len(entries) % 2:
        yield "stacks without frames, or none: %d entries" % len(entries)
    if len(entries) > 200:
        yield "more than 100 stacks"
    for when, frames in stacks(fields):
        if not re.fullmatch(TIME, when):
            yield "stack's time: %r" % when
        for frame in frames:
            if not re.fullmatch(r"[^()<>&]+\([^()<>&]+\)", frame):
                yield "frame: %r" % frame
    if not title(fields):
        yield "no title"


def lint_file(path, fields):
    stat = os.stat(path)
    if stat.st_mode & 0o7777 != 0o600:
        yield "mode %o" % stat.st_mode
    end = datetime.datetime.fromtimestamp(stat.st_mtime_ns // 1000000 / 1000)
    if end.strftime("%m-%d %H:%M:%S.%f")[:-3] != fields.get("time-end"):
        yield "mtime %s is not the end %s" % (end, fields.get("time-end"))
    name = end.strftime("looper-%Y-%m-%d_%H-%M-%S.%f")[:-3]
    if not re.fullmatch(re.escape(name) + r"(-[1-9]\d*)?\.log", os.path.basename(path)):
        yield "name: not %s" % name


def lint(path, raw, fields, result):
    complaints = list(lint_bytes(raw))
    if not complaints:
        lines = raw.decode().split("\r\n")
        complaints += list(lint_head(lines)) + list(lint_keys(lines))
    complaints += list(lint_fields(fields)) + list(lint_stacks(fields)) + list(lint_file(path, fields))
    if result["verdict"] != "ok":
        complaints.append("%s: %s" % (result["verdict"], result["broken"]))
    return complaints


def main(args):
    strict = args[:1] == ["--lint"]
    failed = False
    for path in args[strict:]:
        raw, fields, result = read(path)
        if strict:
            complaints = lint(path, raw, fields, result)
            failed |= bool(complaints)
            for complaint in complaints:
                print("%s: %s" % (os.path.basename(path), complaint))
        else:
            print(json.dumps(result))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
