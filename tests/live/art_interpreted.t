#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of interpreted methods on a stand-in for Android's runtime (programs/art_interpreted.c): DEX files
that smali assembles, mapped, in an archive, or in memory, take each other's place while it runs. All have the
same methods at the same places, in classes of other names. A replay gives the same frames."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from art import build, trace_turns, turn_of  # noqa: E402
from live import JANKBPF, Tap, check_run, need, skip_all  # noqa: E402

TURNS = 36
FILES = 6
LEVELS = 5
ENOUGH = 0.99
SWITCH = 4  # of five turns, the one in the switch interpreter

METHOD = """
.method public static level{level}()V
    .registers 3
    .line {level}1
    const/4 v0, 0x1
    .line {level}2
    {body}
    .line {level}4
    return-void
.end method
"""
CALL = "invoke-static {{}}, Lcom/example/D0;->level{next}()V\n    .line {level}3\n    add-int/lit8 v0, v0, 0x1"
LOOP = """:again
    invoke-static {{}}, Lcom/example/D0;->tick()Z
    move-result v1
    .line {level}3
    add-int/lit8 v0, v0, 0x1
    if-eqz v1, :again"""


def source():
    text = ".class public Lcom/example/D0;\n.super Ljava/lang/Object;\n.source \"Levels.java\"\n"
    for level in range(LEVELS):
        body = (CALL if level + 1 < LEVELS else LOOP).format(level=level, next=level + 1)
        text += METHOD.format(level=level, body=body)
    return text + ".method public static native tick()Z\n.end method\n"


def renamed(dex, nr):
    """The file with another class, and the checksums that belong to it."""
    dex = dex.replace(b"Lcom/example/D0;", b"Lcom/example/D%d;" % nr)
    dex = dex[:12] + hashlib.sha1(dex[32:]).digest() + dex[32:]
    return dex[:8] + zlib.adler32(dex[12:]).to_bytes(4, "little") + dex[12:]


def make_files(folder):
    """Pairs of a path and the offset of the DEX file there."""
    smali, out = os.path.join(folder, "Levels.smali"), os.path.join(folder, "classes.dex")
    with open(smali, "w", encoding="utf-8") as file:
        file.write(source())
    subprocess.run(["smali", "assemble", "-o", out, smali], check=True, capture_output=True)
    with open(out, "rb") as file:
        dex = file.read()
    paths = []
    for nr in range(FILES):
        path, content = os.path.join(folder, f"{nr}.apk" if nr % 3 == 2 else f"{nr}.dex"), renamed(dex, nr)
        if nr % 3 == 2:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("classes.dex", content)
        else:
            with open(path, "wb") as file:
                file.write(content)
        with open(path, "rb") as file:
            paths += [path, str(file.read().index(content))]
    return paths


def methods(stack):
    """The frames of Java, innermost first, and those of the interpreters that have no name."""
    return [frame for frame in stack if frame.get("language") == "java" or
            re.match(r"art_(nterp|switch)$", frame.get("function", ""))]


def line_is_right(turn, level, frame):
    """The call, or of the innermost method a line of its loop; the switch interpreter tells none."""
    if turn % 5 == SWITCH:
        return "line" not in frame
    lines = (2,) if level + 1 < LEVELS else (2, 3)
    return frame.get("line") in [level * 10 + line for line in lines]


def is_right(turn, level, frame):
    return (frame.get("function") == f"com.example.D{turn % FILES}.level{level}" and frame.get("file") == "Levels.java" and
            line_is_right(turn, level, frame))


def check_names(tap, turns, blocks):
    named = frames = stacks = 0
    wrong, bare = [], []
    for block in blocks:
        turn = turn_of(turns, block)
        for sample in block["samples"]:
            found = methods(sample["stack"])
            if turn is None or len(found) < LEVELS:
                continue  # it begins or ends
            stacks += 1
            frames += LEVELS
            levels = list(zip(reversed(range(LEVELS)), found))
            right = sum(is_right(turn, level, frame) for level, frame in levels)
            named += right
            if any(frame.get("language") and not is_right(turn, level, frame) for level, frame in levels):
                wrong.append((turn, found))
            elif right < LEVELS:
                bare.append((turn, found))
    tap.check(stacks >= TURNS, f"{stacks} stacks of {len(blocks)} blocks")
    tap.check(named >= ENOUGH * frames > 0, f"{named} of {frames} methods have their names, files and lines", *bare[:3])
    tap.check(not wrong, f"{len(wrong)} of {stacks} stacks have a wrong name or line", *wrong[:3])


def check_replay(tap, trace):
    """The journal keeps the places in the bytecode and their names."""
    done = subprocess.run([JANKBPF, "-q", "--json", "-t", "25ms", "replay", trace.journal], capture_output=True, text=True, timeout=60)
    again = [record for record in map(json.loads, done.stdout.splitlines()) if record["type"] == "block"]
    before = {block["start"]: block["samples"] for block in trace.all_blocks}
    after = {block["start"]: block["samples"] for block in again}
    tap.check(after == before, "a replay gives the same stacks", done.stderr, [start for start in before if after.get(start) != before[start]][:3])


def main():
    need("cc", "smali")
    if os.uname().machine != "x86_64":
        skip_all("the stand-in has code of x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-art-", dir="/var/tmp") as folder:
        trace, turns = trace_turns(folder, [build(folder, "art_interpreted"), *make_files(folder)], TURNS)
        check_run(tap, trace, "the trace", "app", "epoll")
        check_names(tap, turns, trace.blocks)
        check_replay(tap, trace)
    tap.end()


if __name__ == "__main__":
    main()
