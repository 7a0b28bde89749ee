#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Original names of obfuscated code (--mapping): a Java program whose names are taken for given ones, in a
trace, a replay, symbolize and report."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from java import PROGRAMS, Server, compile_program, stacks  # noqa: E402
from live import JANKBPF, Tap, Trace, block_of, check_run, need, skip_all, twice  # noqa: E402

GIVEN = "shop.Names"
FIRST = 1001


def line_of(text):
    with open(os.path.join(PROGRAMS, "Names.java"), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def write_mapping(path):
    """spin keeps its lines, moved; price() has one inlined into it; checkout() is one of two."""
    spin, price = line_of("// slow: spin"), line_of("static void price") + 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""# compiler: R8
com.example.Till -> {GIVEN}:
# {{"id":"sourceFile","fileName":"Till.kt"}}
    {spin - 1}:{spin + 1}:void busy():{FIRST - 1}:{FIRST + 1} -> spin
    {price}:{price}:void com.example.Cart.sum():7:7 -> price
    {price}:{price}:void pay():50 -> price
    1:2:void first():1:2 -> checkout
    3:4:void second():8:9 -> checkout
""")


def run(*words, **options):
    return subprocess.run([JANKBPF, *words], capture_output=True, text=True, check=False, **options)


def blocks_of(text):
    return [record for record in map(json.loads, text.splitlines()) if record["type"] == "block"]


def functions(blocks):
    return {frame.get("function") for stack in stacks(blocks) for frame in stack}


def frames(blocks):
    """What of a frame a mapping may change, of all stacks and causes."""
    keys = ("function", "file", "line", "inlined", "app")
    found = [block["cause"].get("frame") or {} for block in blocks]
    found += [frame for stack in stacks(blocks) for frame in stack]
    return [{key: frame.get(key) or None for key in keys} for frame in found]


def check_names(tap, what, block):
    found = [(frame.get("function"), frame.get("file"), frame.get("line"), bool(frame.get("inlined")), bool(frame.get("app")))
             for stack in stacks([block] if block else []) for frame in stack]
    for wanted in (("com.example.Till.busy", "Till.kt", FIRST, False, True), ("com.example.Cart.sum", "Cart.java", 7, True, False),
                   ("com.example.Till.pay", "Till.kt", 50, False, True)):
        tap.check(wanted in found, f"{what}: {wanted[0]} at its original line", set(found))
    names = {name for name, *_ in found}
    tap.check(f"{GIVEN}.spin" not in names and "com.example.Till.checkout" in names,
              f"{what}: one of several keeps its name, in its class", names)


def check_bad(tap, folder, records, journal):
    """Each command refuses a wrong file with its line, before it does anything else."""
    bad = os.path.join(folder, "bad.txt")
    with open(bad, "w", encoding="utf-8") as file:
        file.write("com.example.Till -> a:\n    no member\n")
    for words in (["symbolize", records], ["report", records], ["replay", "--json", journal], ["--json", "-d", "1s", "-p", str(os.getpid())]):
        got = run(*words[:1], "--mapping", bad, *words[1:])
        tap.check(got.returncode == 1 and f"'{bad}', line 2: no member" in got.stderr and not got.stdout,
                  f"{words[0]}: a wrong file is refused, with the line", got.returncode, got.stderr)


def main():
    need("java", "javac")
    if os.uname().machine != "x86_64":
        skip_all("HotSpot's frames are known on x86-64")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-java-", dir="/var/tmp") as folder:
        compile_program(folder, "Names.java")
        mapping = os.path.join(folder, "mapping.txt")
        write_mapping(mapping)
        server = Server(folder, GIVEN, "-Xint")
        try:
            server.do("w" * 3)
            with Trace(server.pid, options=("--mapping", mapping)) as trace:
                moments = twice(server.do, "s")
        finally:
            server.end()
        check_run(tap, trace, "the trace", "java", "java-nio", "epoll")
        check_names(tap, "a trace", block_of(tap, trace.blocks, moments))
        plain, retraced = (run("replay", "--json", *options, trace.journal).stdout for options in ((), ("--mapping", mapping)))
        tap.check(f"{GIVEN}.spin" in functions(blocks_of(plain)), "the journal has the given names", functions(blocks_of(plain)))
        tap.check(frames(blocks_of(retraced)) == frames(trace.all_blocks) != [], "a replay has the names of the trace")
        records = os.path.join(folder, "blocks.jsonl")
        with open(records, "w", encoding="utf-8") as file:
            file.write(plain)
        got = run("symbolize", "--mapping", mapping, records)
        named = frames(blocks_of(got.stdout))
        tap.check(named == frames(blocks_of(retraced)), "symbolize gives the same frames as a replay", got.stderr,
                  *[pair for pair in zip(named, frames(blocks_of(retraced))) if pair[0] != pair[1]][:2])
        for source in (records, trace.journal):
            got = run("report", "--format", "folded", "--mapping", mapping, source)
            tap.check("com.example.Cart.sum" in got.stdout and f"{GIVEN}.spin" not in got.stdout,
                      f"report of {'records' if source == records else 'a journal'}: original names", got.stderr, got.stdout)
        check_bad(tap, folder, records, trace.journal)
    tap.end()


if __name__ == "__main__":
    main()
