#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tools/loops/reasons makes C tables of loops/wait_reasons.tbl, and refuses a table with an error, naming its line."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from tap import Tap  # noqa: E402

GOOD = "; a comment\n\n[kernel wait]\ndo_wait* = child\n[lock]\n*QMutex::lock = mutex\nVM Thread = safepoint\n"

# what, text, what is said of which line
WRONG = (
    ("an unknown head", GOOD + "[user wait]\n", "8: a table begins with [NAME] or [kernel NAME]"),
    ("a table twice", GOOD + "[lock]\n", "8: [lock] stands here twice"),
    ("a table without lines", "[lock]\n; none\n[gc]\nf = gc\n", "3: the table above has no line"),
    ("an empty table at the end", GOOD + "[gc]\n", "8: the table above has no line"),
    ("a line before the first table", "f = gc\n", "1: a [NAME] must come first"),
    ("a line without a reason", GOOD + "f =\n", "8: a line is PATTERN = REASON"),
    ("a reason of two words", GOOD + "f = file lock\n", "8: a line is PATTERN = REASON"),
    ("a quote", GOOD + 'f" = gc\n', "8: a line is PATTERN = REASON"),
    ("an indented line", GOOD + "\tf = gc\n", "8: a line is PATTERN = REASON"),
    ("a star within", GOOD + "f*g = gc\n", '8: "*" stands at the start or at the end of a name'),
    ("stars at both ends", GOOD + "*f* = gc\n", '8: "*" stands at the start or at the end of a name'),
    ("only a star", GOOD + "* = gc\n", '8: "*" stands at the start or at the end of a name'),
    ("a pattern twice", GOOD + "*QMutex::lock = mutex\n", "8: *QMutex::lock stands in this table twice"),
    ("nothing", "; nothing\n", "1: no table"),
)


def generate(path):
    return subprocess.run([os.path.join(ROOT, "tools", "loops", "reasons"), path], capture_output=True, text=True, check=False)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "reasons.tbl")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        write(GOOD)
        made = generate(path)
        tap.check(made.returncode == 0 and '{ "do_wait*", "child" }' in made.stdout
                  and '{ "VM Thread", "safepoint" }' in made.stdout
                  and "reasons_kernel_wait = { rules_kernel_wait, 1, true }" in made.stdout
                  and "reasons_lock = { rules_lock, 2, false }" in made.stdout, "two tables", made.stdout + made.stderr)
        for what, text, said in WRONG:
            write(text)
            made = generate(path)
            tap.check(made.returncode == 1 and made.stderr == f"{path}:{said}\n", what, made.stderr)
    table = os.path.join(ROOT, "loops", "wait_reasons.tbl")
    made = generate(table)
    with open(table, encoding="utf-8") as file:
        lines = re.findall(r"(?m)^[^;\[\n].*$", file.read())
    tap.check(made.returncode == 0 and made.stdout.count("\t{ ") == len(lines) > 200, "the project's table, line by line",
              made.stderr)
    tap.end()


if __name__ == "__main__":
    main()
