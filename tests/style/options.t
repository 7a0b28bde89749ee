#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""schema/options.py: refuses a table with a mistake; help and the man page have all that the table has."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "schema")]
import options  # noqa: E402
from tap import Tap  # noqa: E402

# what, text of the table, its replacement, expected message
WRONG = (
    ("a line of an unknown kind", "group RUNS", "grupp RUNS", "'grupp': neither group, command, section, option nor config"),
    ("an attribute that an option lacks", "\thelp     print the version\n", "\thulp     print the version\n",
     "'hulp': a line here is one of for, set, help, more, like"),
    ("an option without help", "\thelp     print the version\n", "", "no line `help`"),
    ("an option of no command", "\tfor      TRACES loops\n", "", "no line `for`"),
    ("an option of an unknown command", "\tfor      TRACES loops\n", "\tfor      TRACES loop\n", "not all of them are commands or groups"),
    ("an argument that no shell completes", "option -p --pid PID[,PID…]", "option -p --pid PROCESS",
     "'PROCESS': no such argument; add to KINDS"),
    ("a name without dashes", "option -p --pid", "option pid", "not [-LETTER] --NAME [ARG]"),
    ("rows of one name apart", "option --json\n", "option --pid\n", "--pid: rows of one name stand one after the other"),
    ("like an unknown option", "like     --clickhouse-proxy", "like     --clickhouse-agent", "'--clickhouse-agent': no such option above"),
    ("an unknown part of set", "min=1 max=1000\n", "min=1 most=1000\n", "only default=, min=, max=, value= and zero"),
    ("a key that is no option of agent", "config probe backend", "config probe workers backend count", "[probe] count: agent has no such option"),
    ("a command without an example", "\texample  jankbpf doctor\n", "", "'doctor': no line ['example']"),
    ("text that belongs to nothing", "group RUNS trace agent\n", "group RUNS trace agent\n\thelp     which?\n",
     "'help' belongs to no command, section or option"),
)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_wrong(tap, scratch):
    right = read(options.TABLE)
    for what, text, replacement, words in WRONG:
        path = os.path.join(scratch, "options.tbl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(right.replace(text, replacement, 1))
        try:
            options.Table(path)
            got = "no error"
        except options.Wrong as wrong:
            got = str(wrong)
        tap.check(text in right and re.match(r"\d+: ", got) and words in got, f"refused: {what}", got)


def test_help(tap, table):
    texts = {name: options.help_command(table, command) for name, command in table.commands.items()}
    for name, command in table.commands.items():
        text = "\n".join(texts[name])
        tap.check(all(f"jankbpf {usage}\n" in text for usage in command.usage), f"help {name} has its usage", text)
        tap.check(command.example in text, "… its example", text)
    for name, lines in [("help", options.help_all(table)), *texts.items()]:
        tap.check(max(map(len, lines)) <= 100, f"{name} fits into 100 columns", max(lines, key=len))


def test_man(tap, table):
    page = options.man(table, os.path.join(ROOT, "docs/jankbpf.8.in"), {"VERSION": "1.2.3"})
    missing = [option.name for option in table.options if f"\\fB\\-\\-{options.roff(option.name)}\\fR" not in page]
    tap.check(table.options and not missing, "the man page describes each option", missing)
    tap.check(all(f".SS {section.name}\n" in page for section in table.sections), "it has the sections")
    tap.check(all(f".B {name}\n" in page for name in table.commands), "it has the commands")
    tap.check(page.isascii() and "1.2.3" in page and not re.search("@[A-Z]+@", page), "it is ASCII and complete")


def test_values(tap):
    run = subprocess.run([sys.executable, os.path.join(ROOT, "schema/options.py"), "table", "METRICS_LISTEN=off"],
                         capture_output=True, text=True, check=False)
    row = re.search(r'"metrics-listen", "ADDRESS", "(\S+)"', run.stdout)
    tap.check(row and row[1] == "off" and "serve /metrics here; off: do not (default off)" in run.stdout,
              "what the build lacks changes a default and its text", run.stderr)


def main():
    tap, table = Tap(), options.Table()
    with tempfile.TemporaryDirectory(prefix="jank-options-") as scratch:
        test_wrong(tap, scratch)
    test_help(tap, table)
    test_man(tap, table)
    test_values(tap)
    tap.end()


main()
