# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests of interpreted methods (programs/art_interpreted.c): DEX files that smali assembles, mapped, in an
archive, or in memory. All have the same methods at the same places, in classes of other names."""
import hashlib
import os
import re
import zipfile
import zlib

from art import ENOUGH, LEVELS, assemble, turn_of

FILES = 6
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
    with open(assemble(folder, "Levels", source()), "rb") as file:
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
            paths.append((path, file.read().index(content)))
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


def check_names(tap, turns, blocks, least):
    """The methods on all stacks of the handlers of art_interpreted.c, by the turns that it printed."""
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
    tap.check(stacks >= least, f"{stacks} stacks of {len(blocks)} blocks")
    tap.check(named >= ENOUGH * frames > 0, f"{named} of {frames} methods have their names, files and lines", *bare[:3])
    tap.check(not wrong, f"{len(wrong)} of {stacks} stacks have a wrong name or line", *wrong[:3])
