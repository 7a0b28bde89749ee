#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""deploy/: the example configuration has every key, its values are valid, and the unit of systemd is. Needs no root."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok
from certificate import Certificate

EXAMPLE = "deploy/jankbpf.conf"
# Files and users of another machine.
MADE_UP = {"uid": "root", "cgroup": "/", "user": "root"}
SECRETS = ("password-file", "token-file", "redact-key", "loop-file")
TEXTS = {"redact-key": "0123456789abcde", "loop-file": "# no rows"}


def check(text):
    path = bad.scratch("example.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o600)
    return bad.trace("agent", "--check-config", "--config", path)


def keys_of(section):
    """All keys, as the message of an unknown one lists them."""
    return re.search(r"there are (.*)", check(f"[{section}]\nzzzzzzzzzzzz = 1\n").err)[1].split(", ")


def test_example():
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    ok(check(text).status == 0, "the example is valid as it is", check(text).err)
    for key in SECRETS:
        MADE_UP[key] = bad.scratch(key)
        with open(MADE_UP[key], "w", encoding="ascii") as file:
            file.write(TEXTS.get(key, "x") + "\n")
        os.chmod(MADE_UP[key], 0o600)
    certificate = Certificate("example")
    MADE_UP.update({"cert-file": certificate.path, "ca-file": certificate.path, "key-file": certificate.key})
    whole, section, keys = [], None, {}
    for line in text.splitlines():
        key = re.match(r"#?([a-z-]+) = (.*)", line)
        if re.match(r"#?\[", line):
            line = line.lstrip("#")
            section = line[1:-1]
        if key:
            keys.setdefault(section, []).append(key[1])
            line = f"{key[1]} = {MADE_UP.get(key[1], key[2])}"
        whole.append(line)
    result = check("\n".join(whole) + "\n")
    ok(result.status == 0, "so is each of its keys", result.err)
    sections = re.search(r"there are (.*)", check("[zzzzzzzzzzzz]\n").err)[1].split(", ")
    ok(keys.pop("override redis", None), "also of an override")
    ok(list(keys) == sections, "it has each section", (list(keys), sections))
    for each in sections:
        ok(keys[each] == keys_of(each), f"and each key of [{each}]", (keys[each], keys_of(each)))
    plain = check("[select]\nall = yes\n").out
    for line in result.out.split("\n[override ")[0].splitlines():
        name, _, value = line.partition(" = ")
        if value and f"\n{name} = " in plain:
            ok(f"\n{line}\n" in plain, f"{name}: the example shows the default", line)


def test_errors():
    result = check("[block]\nthresold = 3\nhang = x\n[limts]\n")
    ok(result.status == 2 and not result.raw, "a file with errors: status 2, nothing on stdout", result)
    places = re.findall(r"example\.conf:(\d+): ", result.err)
    ok(places == ["2", "3", "4"], "each error with its line", result.err)
    result = bad.trace("agent", "--check-config", "--config", "/nonexistent")
    ok(result.status == 2 and "--config names another file" in result.err, "a file that does not exist", result)


def test_names():
    """What would fail only at the start."""
    for section, key, value, want in (("select", "loop", "nosuchloop", "nosuchloop"),
                                      ("select", "loop-file", "/nonexistent.loop", "/nonexistent.loop"),
                                      ("store", "user", "nosuchuser", "no such user"),
                                      ("store", "redact = paths\nredact-key", "/nonexistent.key", "/nonexistent.key")):
        result = check(f"[{section}]\n{key} = {value}\n" + ("" if section == "select" else "[select]\n") + "all = yes\n")
        ok(result.status and not result.raw and want in result.err, f"{value} is refused", result)
    result = check("[select]\nall = yes\ncgroup = no-such-unit.service\n")
    ok(result.status == 0 and "there is no such cgroup now: no-such-unit.service" in result.err, "a cgroup that is not there is not", result)


def test_unit():
    if not shutil.which("systemd-analyze"):
        bad.skip("the unit is valid", "no systemd-analyze")
        return
    path = bad.scratch("jankbpf.service")
    with open("deploy/systemd/jankbpf.service", encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"ExecStart=\S+", "ExecStart=" + os.path.abspath(bad.JANK), text))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False, timeout=60)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if "jankbpf.service" in line]
    ok(not complaints, "the unit is valid", complaints)


def main():
    test_example()
    test_errors()
    test_names()
    test_unit()
    bad.done()


main()
