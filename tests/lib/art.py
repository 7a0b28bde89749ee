# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests with a stand-in for Android's runtime: the programs, and the turns that they print."""
import datetime
import os
import re
import subprocess

from live import Trace, end, start, wait_for

LEVELS = 5  # of art_app.c and art_compiled.c
CLASSES = 6  # of art_compiled.c
FAULTS = ("large index", "other class", "no class", "other code", "not its class", "no DEX", "other type", "no cache")
ENOUGH = 0.99
RUNTIME = ("art_runtime.c", "art_interpreter.c")
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-fno-omit-frame-pointer", "-funwind-tables")
LIBRARIES = {"art_app": ("-l:liblzma.a", "-pthread")}
PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live", "programs")


def build_library(folder, name, compiler, *sources):
    """A shared library, of files of programs/."""
    library = os.path.join(folder, name)
    subprocess.run([compiler, *FLAGS, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", library,
                    *(os.path.join(PROGRAMS, source) for source in sources)], check=True)
    return library


def build(folder, name, compiler="cc", loader=None):
    """The program of that name, with the stand-in as its libart.so. loader: another ld.so, beside its libraries."""
    library = build_library(folder, "libart.so", compiler, *RUNTIME[:1] if name == "art_compiled" else RUNTIME)
    program = os.path.join(folder, "app")
    subprocess.run([compiler, *FLAGS, "-o", program, os.path.join(PROGRAMS, f"{name}.c"), library, *LIBRARIES.get(name, ()),
                    *([f"-Wl,--dynamic-linker={loader},-rpath,{os.path.dirname(loader)}"] if loader else []), "-Wl,-rpath,$ORIGIN"],
                   check=True)
    return program


def assemble(folder, name, *texts):
    """A DEX file of classes in smali's language."""
    files = [os.path.join(folder, f"{name}{number}.smali") for number in range(len(texts))]
    for path, text in zip(files, texts):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    dex = os.path.join(folder, f"{name}.dex")
    subprocess.run(["smali", "assemble", "-o", dex, *files], check=True, capture_output=True)
    return dex


def make_classes(folder):
    """A DEX file of six classes with the same methods."""
    texts = [f".class public Lcom/example/D{number};\n.super Ljava/lang/Object;\n.source \"Levels.java\"\n"
             for number in range(CLASSES)]
    methods = [f".method public static level{level}()V\n    .registers 1\n    return-void\n.end method\n" for level in range(LEVELS)]
    return assemble(folder, "classes", *(text + "".join(methods) for text in texts))


def build_compiled(folder, compiler="cc", loader=None):
    """The command of art_compiled.c: with its DEX file and its base.odex."""
    odex = os.path.join(folder, "base.odex")
    subprocess.run([compiler, "-shared", "-nostdlib", "-s", "-Wl,--no-eh-frame-hdr,--build-id=none,-soname,base.odex", "-o", odex,
                    os.path.join(PROGRAMS, "art_compiled_odex.S")], check=True)
    return [build(folder, "art_compiled", compiler, loader), make_classes(folder), odex]


def turns_of(path):
    """The finished turns: number, begin and end."""
    with open(path, encoding="utf-8") as file:
        return [tuple(map(int, line.split())) for line in file if line.endswith("\n")]


def trace_turns(folder, command, cnt):
    """Traces the program for cnt of its turns: the trace, and all turns."""
    truth = os.path.join(folder, "turns")
    with open(truth, "w", encoding="utf-8") as out:
        process = start(command, stdout=out)
    try:
        wait_for(lambda: len(turns_of(truth)) >= 2, what="the first turns")
        with Trace(process.pid) as trace:
            first = len(turns_of(truth))
            wait_for(lambda: len(turns_of(truth)) >= first + cnt, what=f"{cnt} turns")
    finally:
        end(process)
    return trace, turns_of(truth)


def real_ns(text):
    seconds, fraction = re.fullmatch(r"(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text).group(1, 2)
    zone = text[len(seconds) + (len(fraction) + 1 if fraction else 0):].replace("Z", "+00:00")
    whole = int(datetime.datetime.fromisoformat(seconds + zone).timestamp())
    return whole * 10**9 + int((fraction or "0").ljust(9, "0"))


def turn_of(turns, block):
    """The turn that ran for most of the block, or for the most part within it: an emulator compresses symbols for longer."""
    begin = real_ns(block["start"])
    ends = begin + block["duration_ns"]
    overlap = {number: (min(ends, last) - max(begin, first), last - first) for number, first, last in turns}
    best = max(overlap, key=overlap.get, default=None)
    return best if best is not None and overlap[best][0] > min(block["duration_ns"], overlap[best][1]) / 2 else None


def methods(stack):
    """Names of the JIT code's frames, innermost first; None: without a name."""
    return [frame.get("function") if frame.get("language") == "java" else None for frame in stack
            if frame.get("language") == "java" or frame.get("module") == "[jit]"]


def is_spinning(sample):
    return any(frame.get("function") == "spin" for frame in sample["stack"])


def check_names(tap, turns, blocks, least, shed=False):
    """The methods on all stacks of the handlers of art_app.c, by the turns that it printed. shed: the trace says that copies
    of stacks are missing, so only stacks that reach main count."""
    named = frames = stacks = whole = 0
    wrong, bare, unfinished = [], [], []
    for block in blocks:
        turn = turn_of(turns, block)
        if turn is None:  # the program had no time to print it; or a wait for a CPU beside a turn
            unfinished += [block["start"]] if any(map(is_spinning, block["samples"])) else []
            continue
        for sample in block["samples"]:
            if not is_spinning(sample):
                continue
            is_whole = any(frame.get("function") == "main" for frame in sample["stack"])
            if shed and not is_whole:
                continue
            stacks += 1
            whole += is_whole
            frames += LEVELS
            found = methods(sample["stack"])
            want = [f"com.example.G{turn}.level{level}" for level in reversed(range(LEVELS))]
            right = sum(a == b for a, b in zip(found, want)) if len(found) == LEVELS else 0
            named += right
            if any(name and name not in want for name in found):
                wrong.append((turn, found))
            elif right < LEVELS:
                bare.append((turn, found))
    tap.check(len(unfinished) <= 1, f"{len(unfinished)} blocks of a turn that did not end", *unfinished, turns[-1:])
    tap.check(stacks >= least, f"{stacks} stacks of {len(blocks)} blocks")
    tap.check(whole >= ENOUGH * stacks, f"{whole} stacks reach main")
    tap.check(named >= ENOUGH * frames > 0, f"{named} of {frames} methods have their names", *bare[:3])
    tap.check(not wrong, f"{len(wrong)} of {stacks} stacks have a wrong name", *wrong[:3])


def check_compiled(tap, turns, blocks, least, shed=False):
    """The methods on all stacks of the handlers of art_compiled.c: named by a right ArtMethod, never by a faulty one."""
    named = {"base.odex": [0, 0], "JIT memory": [0, 0]}
    faulty = dict.fromkeys(FAULTS, 0)
    wrong, bare = [], []
    for block in blocks:
        turn = turn_of(turns, block)
        for sample in filter(is_spinning, block["samples"] if turn is not None else []):
            whole = any(frame.get("function") == "main" for frame in sample["stack"])
            found = [frame.get("function") for frame in sample["stack"] if frame.get("language") == "java"]
            want = [f"com.example.D{turn % CLASSES}.level{level}" for level in reversed(range(LEVELS))]
            if turn % 2:
                faulty[FAULTS[turn // 2 % len(FAULTS)]] += 1
                wrong += [(turn, found)] if any(found) else []
            elif whole or not shed:
                count = named["JIT memory" if turn // 2 % 2 else "base.odex"]
                right = sum(a == b for a, b in zip(found, want)) if whole and len(found) == LEVELS else 0
                count[0] += right
                count[1] += LEVELS
                wrong += [(turn, found)] if set(found) - set(want) else []
                bare += [(turn, found)] if right < LEVELS else []
    for where, (right, of) in named.items():
        tap.check(right >= ENOUGH * of >= ENOUGH * LEVELS * least / 2, f"{right} of {of} methods in {where} have their names", *bare[:3])
    tap.check(all(faulty.values()), f"stacks with faulty methods: {faulty}")
    tap.check(not wrong, f"{len(wrong)} stacks have a wrong name, or one by a faulty method", *wrong[:3])
