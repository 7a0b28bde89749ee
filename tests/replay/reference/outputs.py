# SPDX-License-Identifier: GPL-2.0
"""The outputs of each reference's replay: ./record keeps them beside the journal, ../reference.t
makes them again and compares.

NAME.journal.xz is the journal; NAME.jsonl.xz the records; NAME.txt.xz the text, NAME.verbose.xz
with -v; NAME.logs.xz BlockCanary's logs, one after the other; NAME.said.xz stderr.

A program without names also has its debug information, NAME.debug, and NAME.symbolized.xz, the
records with names from it.
"""
import glob
import lzma
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))
import journal_v1  # noqa: E402
import replay  # noqa: E402

RECORDS, TEXTS = "jsonl", {"txt": (), "verbose": ("-v",)}
LOGS, SAID, SYMBOLIZED = "logs", "said", "symbolized"
# the options of the recording: a journal does not contain them
OPTIONS = {name: ("--debugging",) for name in ("given", "hang", "nginx")}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
WRITTEN = re.compile(r"^.*\(write log time\)$", re.M)  # time of the replay, not of the block


def names():
    return sorted(os.path.basename(path).removesuffix(".journal.xz")
                  for path in glob.glob(os.path.join(HERE, "*.journal.xz")))


def read(name, suffix):
    with lzma.open(os.path.join(HERE, f"{name}.{suffix}.xz")) as file:
        return file.read()


def journal_of(name):
    """The reference's journal, in the version that this program reads. If the journal's format
    changes, convert it here."""
    return journal_v1.convert(read(name, "journal"))


def logs(folder):
    """All logs of a folder by name, without the time at which they were written."""
    parts = []
    for path in sorted(glob.glob(os.path.join(folder, "looper-*.log"))):
        with open(path, encoding="utf-8") as file:
            parts.append(f"=== {os.path.basename(path)}\n" + WRITTEN.sub("(write log time)", file.read()))
    return "".join(parts).encode()


def made(scratch, name, content):
    """This program's outputs of a journal, by suffix."""
    journal, folder = scratch.put(f"{name}.journal", content), scratch.file(f"{name}.kept")
    shutil.rmtree(folder, ignore_errors=True)
    ret, said = {}, []
    for suffix, options in ((RECORDS, ("--json",)), *TEXTS.items(), (LOGS, ("-q", "-o", folder))):
        run = scratch.replay(*OPTIONS.get(name, ()), *options, journal, env=ENVIRONMENT)
        ret[suffix] = run.stdout
        said.append(f"{suffix}: status {run.returncode}\n{run.stderr}".replace(scratch.path + "/", ""))
    if os.path.isdir(os.path.join(HERE, f"{name}.debug")):
        debug = shutil.copytree(os.path.join(HERE, f"{name}.debug"), scratch.file(f"{name}.debug"), dirs_exist_ok=True)
        run = scratch.run("symbolize", "--debug-dir", debug, scratch.put(f"{name}.jsonl", ret[RECORDS]), env=ENVIRONMENT)
        ret[SYMBOLIZED] = run.stdout
        said.append(f"{SYMBOLIZED}: status {run.returncode}\n{run.stderr}".replace(scratch.path + "/", ""))
    ret[LOGS], ret[SAID] = logs(folder), "".join(said).encode()
    return ret


def write(folder, name, content):
    for suffix, output in made(replay.Scratch(), name, content).items():
        with lzma.open(os.path.join(folder, f"{name}.{suffix}.xz"), "wb", preset=9 | lzma.PRESET_EXTREME) as file:
            file.write(output)
