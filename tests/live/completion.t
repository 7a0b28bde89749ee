#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Completions in the real shells: bash, zsh and fish. Each query is a line with the cursor at its end."""
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from shells import SHELLS  # noqa: E402
from tap import Tap  # noqa: E402

JANK = os.path.abspath(os.environ.get("JANKBPF", "./jankbpf"))
COMMANDS = {"trace", "top", "agent", "replay", "loops", "symbolize", "report", "serve", "send", "fleet", "diff", "doctor", "completion", "help"}
PID = str(os.getpid())
USER = pwd.getpwuid(0).pw_name

# line: candidates that must be there, candidates that must not; "=": exactly these
QUERIES = (
    ("jankbpf ", COMMANDS, {"--pid"}),
    ("jankbpf re", "=", {"replay", "report"}),
    ("jankbpf help sy", "=", {"symbolize"}),
    ("jankbpf completion z", "=", {"zsh"}),
    ("jankbpf --thr", "=", {"--threshold"}),
    ("jankbpf -t 5ms --format ", "=", {"text", "json", "proto"}),
    ("jankbpf report --format ", "=", {"md", "html", "folded", "pprof", "perfetto", "speedscope", "blockcanary"}),
    ("jankbpf --format j", "=", {"json"}),
    ("jankbpf --format=pr", "=", {"proto"}),
    ("jankbpf replay --redact pe", "=", {"peers"}),
    ("jankbpf replay --redact paths,pe", "=", {"paths,peers"}),
    ("jankbpf replay r", {"run.jnl"}, {"blocks", "replay"}),
    ("jankbpf symbolize --debug-dir b", {"blocks"}, {"bad.txt"}),
    ("jankbpf -o b", {"blocks"}, {"bad.txt"}),
    ("jankbpf --journal r", {"run.jnl"}, {"replay"}),
    (f"jankbpf -p {PID}", {PID}, {"replay"}),
    (f"jankbpf loops -p 1,{PID}", {f"1,{PID}"}, set()),
    (f"jankbpf -a -u {USER[:3]}", {USER}, {"--uid"}),
    (f"jankbpf --as {USER[:3]}", {USER}, {"--as"}),
    ("jankbpf -l redi", "=", {"redis"}),
    ("jankbpf loops --loop glib,redi", "=", {"glib,redis"}),
    ("jankbpf -o replay --pi", "=", {"--pid"}),  # here replay is a directory
    ("jankbpf replay --pi", "=", set()),
    ("jankbpf doctor --thr", "=", set()),
    ("jankbpf -t 5ms -- slee", {"sleep"}, {"symbolize"}),
    ("jankbpf -- sh r", {"run.jnl"}, {"replay"}),
)


def plain(candidates):
    """Without what shells add: a slash, the option's own name before its value."""
    return {re.sub(r"^--[^=]*=(?=.)", "", word).rstrip("/ =") for word in candidates}


def check(tap, shell, query, first, second):
    got = plain(shell.complete(query))
    if first == "=":
        tap.check(got == second, f"{shell.name}: [{query}]", sorted(got)[:40], sorted(second))
    else:
        tap.check(first <= got and not second & got, f"{shell.name}: [{query}]", sorted(got)[:40])


def options_of(command):
    text = subprocess.run([JANK, "help", command], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?m)^  (?:-\w, |    )(--[a-z-]+)", text))


def check_options(tap, shell):
    """Each command's options, as its help has them."""
    for command in sorted(COMMANDS):
        got = {word for word in plain(shell.complete(f"jankbpf {command} --")) if word.startswith("--")}
        tap.check(got == options_of(command), f"{shell.name}: the options of {command}",
                  sorted(got ^ options_of(command)))


def run(tap, shell):
    for query in QUERIES:
        check(tap, shell, *query)
    check_options(tap, shell)
    tap.check(not shell.errors, f"{shell.name}: nothing on stderr", *shell.errors)


def check_words(tap):
    listed = subprocess.run([JANK, "--help"], capture_output=True, text=True, check=True).stdout
    tap.check(set(re.findall(r"(?m)^  ([a-z]+) +\S", listed)) == COMMANDS, "--help lists the commands of this test", listed)
    refused = subprocess.run([JANK, "completion", "bahs"], capture_output=True, text=True, check=False)
    tap.check(refused.returncode == 2 and "did you mean 'bash'?" in refused.stderr, "an unknown shell is refused", refused)


def main():
    tap = Tap()
    check_words(tap)
    folder = tempfile.mkdtemp(prefix="jank-completion-")
    try:
        for name in ("run.jnl", "bad.txt"):
            open(os.path.join(folder, name), "w", encoding="ascii").close()
        os.mkdir(os.path.join(folder, "blocks"))
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(JANK, os.path.join(folder, "bin/jankbpf"))
        for make in SHELLS:
            shell = make(JANK, folder)
            if shutil.which(shell.name):
                run(tap, shell)
            else:
                tap.skip(f"completions of {shell.name}", f"no {shell.name} here")
    finally:
        shutil.rmtree(folder)
    tap.end()


main()
