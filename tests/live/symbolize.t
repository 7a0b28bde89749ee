#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Records of a stripped program: what they have for a frame without a name, and names that are
added later."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import JANKBPF, Tap, need, unseen  # noqa: E402

SOURCE = os.path.join(HERE, "programs", "stripped.c")
TRIES = 5
FORMS = {
    "PIE": ["cc"],
    "not PIE": ["cc", "-no-pie"],
    "static": ["cc", "-static"],
    "lld": ["clang", "-fuse-ld=lld"],
    "old layout": ["cc", "-Wl,-z,noseparate-code"],
}


def line_of(text):
    with open(SOURCE, encoding="utf-8") as file:
        return next(nr for nr, line in enumerate(file, 1) if text in line)


def symbolize(records, *dirs):
    options = [word for each in dirs for word in ("--debug-dir", each)]
    return subprocess.run([JANKBPF, "symbolize", *options, records], capture_output=True, text=True, check=False)


def frames(text, module):
    """The module's frames only: of each record's cause, and of its stacks."""
    for line in text.splitlines():
        record = json.loads(line)
        of = [record.get("cause", {}).get("frame")]
        for sample in record.get("samples", ()):
            of += sample["stack"]
        yield from (frame for frame in of if frame and frame.get("module") == module)


def blamed(text):
    """The blamed functions of the blocks, except of those that waited for a CPU: a busy machine
    takes it from the loop, too. A block with a switch that nobody saw has no stack."""
    blocks = [block for block in map(json.loads, text.splitlines()) if block["type"] == "block" and not unseen(block)]
    return {block["cause"].get("frame", {}).get("function") for block in blocks if block["cause"]["kind"] != "runnable"}


def replay(journal, *options):
    return subprocess.run([JANKBPF, "replay", "--json", *options, journal], capture_output=True, text=True, check=False)


def check_replay(tap, what, journal, debug, program):
    """Names a journal's frames in a replay; they must be the names that symbolize adds to the
    records."""
    bare, named = replay(journal), replay(journal, "--debug-dir", debug)
    with open(journal + ".json", "w", encoding="utf-8") as file:
        file.write(bare.stdout)
    tap.check(named.returncode == 0 and "have one now" in named.stderr and "have one" not in bare.stderr,
              f"{what}: a replay with files reports what it named", named.stderr)
    tap.check(not any(frame.get("function") == "main" for frame in frames(bare.stdout, program)),
              f"{what}: without files, it names none")
    stacks = [[(frame.get("function"), frame.get("line"), frame.get("inlined"))
               for record in map(json.loads, text.splitlines()) for sample in record.get("samples", ())
               for frame in sample["stack"] if frame.get("module") == program]
              for text in (named.stdout, symbolize(journal + ".json", debug).stdout)]
    tap.check(stacks[0] and stacks[0] == stacks[1], f"{what}: the same names and lines as symbolize's", stacks[0][:9],
              stacks[1][:9])
    causes = blamed(named.stdout)
    tap.check(None not in causes and causes & {"handle_busy", "handle_sleep"}, f"{what}: and its verdict has names", causes)


def trace(program, records, journal):
    """The records of a run. Beside busy neighbours it may end before all stacks have names, and say
    so: then there is another run."""
    for _ in range(TRIES):
        with open(records, "wb") as file:  # of real-time priority: neighbours shall not take the CPU from handle_busy
            subprocess.run(["nice", "-n", "-10", JANKBPF, "--json", "-q", "-t", "30ms", "--journal", journal, "--",
                            "chrt", "-r", "1", program], stdout=file, check=True)
        with open(records, encoding="utf-8") as file:
            text = file.read()
        if not any((record.get("lost") or {}).get("samples_capped") for record in map(json.loads, text.splitlines())):
            break
    return text


def check(tap, what, folder, command):
    program, full, debug = (os.path.join(folder, name) for name in ("program", "full", "debug"))
    if subprocess.run([*command, "-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", program, SOURCE],
                      check=False, capture_output=True).returncode:
        tap.skip(what, "it cannot be built here")
        return
    for name in (full, debug):
        shutil.rmtree(name, ignore_errors=True)
        os.mkdir(name)
    shutil.copy(program, os.path.join(full, "as-built"))
    subprocess.run(["objcopy", "--only-keep-debug", program, os.path.join(debug, "of-it")], check=True)
    subprocess.run(["strip", program], check=True)
    records, journal = (os.path.join(folder, name) for name in ("records", "journal"))
    before = trace(program, records, journal)
    nameless = [frame for frame in frames(before, program) if "function" not in frame]
    tap.check(nameless and all("build_id" in frame and "offset" in frame for frame in nameless),
              f"{what}: frames without a name have build id and offset", nameless[:3])
    none = symbolize(records, os.path.join(folder, "empty"))
    tap.check(none.stdout == before, f"{what}: without files the records are unchanged, to the byte")
    tap.check("--debug-dir" in none.stderr, f"{what}: and a message has the remedy", none.stderr)
    by_full, by_debug = symbolize(records, full), symbolize(records, debug)
    tap.check(by_full.stdout == by_debug.stdout, f"{what}: the same names by the program and by its debug file")
    after = list(frames(by_debug.stdout, program))
    names = {frame.get("function") for frame in after}
    check_replay(tap, what, journal, debug, program)
    tap.check({"handle_busy", "handle_sleep", "main", "spin"} <= names, f"{what}: each function has its name", names)
    lines = {frame["line"] for frame in after if frame.get("function") == "main"}
    busy = {line_of("\t\t\thandle_busy();"), line_of("\t\t\thandle_sleep();")}
    waits = line_of("\t\tepoll_wait(epoll, &event, 1, 20);")  # where a busy machine may take the CPU from main itself
    tap.check(lines - {waits} == busy, f"{what}: main at its calls", lines)
    causes = blamed(by_debug.stdout)
    if "-static" not in command:  # where libc's functions are the program's
        tap.check(causes == {"handle_busy", "handle_sleep"}, f"{what}: the causes' frames, too", causes)
    signatures = [[json.loads(line).get("cause", {}).get("signature") for line in text.splitlines()]
                  for text in (before, by_debug.stdout)]
    tap.check(signatures[0] == signatures[1], f"{what}: signatures do not change")


def check_refusals(tap, folder):
    got = symbolize(os.path.join(folder, "records"), os.path.join(folder, "nowhere"))
    tap.check(got.returncode == 1 and "nowhere" in got.stderr, "a missing directory is reported", got.stderr)
    got = symbolize(os.path.join(folder, "no-records"))
    tap.check(got.returncode == 1 and "no-records" in got.stderr, "so is a missing file", got.stderr)
    odd = os.path.join(folder, "odd")
    with open(odd, "wb") as file:
        file.write(b'no json\n{"module":"/x","build_id":"../../../etc","offset":7}\n{"stack":[1,[2]],"a":{"stack":{}}}')
    got = symbolize(odd)
    with open(odd, encoding="utf-8") as file:
        tap.check(got.returncode == 0 and got.stdout == file.read() + "\n", "odd lines pass unchanged", got.stdout, got.stderr)
    tap.check("3 lines are no records" in got.stderr, "and are counted", got.stderr)


def check_long_lines(tap, folder):
    """A line is 500 MB long; a record follows it. Both pass unchanged, in little memory."""
    long = os.path.join(folder, "long")
    with open(long, "wb") as file:
        for _ in range(500):
            file.write(b"x" * 1000000)
        file.write(b'\n{"a":1}\n')
    command = 'ulimit -v 400000; "$0" symbolize "$1" | cmp - "$1" && echo same'
    got = subprocess.run(["sh", "-c", command, JANKBPF, long], capture_output=True, text=True, check=False)
    os.unlink(long)
    tap.check(got.stdout == "same\n", "a line of 500 MB passes unchanged, in 400 MB of address space", got.stdout, got.stderr)
    tap.check("lines are longer than 16 MiB" in got.stderr and "1 lines are no records" in got.stderr, "and is counted",
              got.stderr)


def main():
    need("cc", "objcopy", "strip")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-symbolize-", dir="/var/tmp") as folder:
        os.mkdir(os.path.join(folder, "empty"))
        for what, command in FORMS.items():
            check(tap, what, folder, command)
        check_refusals(tap, folder)
        check_long_lines(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
