#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of docs/verdicts.md are in the format of tests/verdicts/tables.py, and a run replaces
its own rows only."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "verdicts")]
import tables  # noqa: E402
from tap import Tap  # noqa: E402

HEAD = ["program", "found", "invented", "blamed"]
ORDER = ["a", "b", "c"]


def read():
    with open(tables.PAGE, encoding="utf-8") as file:
        return file.read()


def check_page(tap):
    for part in "kinds", "servers", "desktop", "late", "idle":
        text = tables.part_of(read(), part)[1]
        lines = [tables.cells_of(line) for line in text.splitlines()]
        head = lines[0] if lines else []
        tap.check(len(lines) > 2 and tables.render(head, tables.rows_of(text, head)) + "\n" == text,
                  f"the table {part} has the sum of its rows", text)


def check_put(tap, folder):
    tables.PAGE = shutil.copy(tables.PAGE, folder)
    with open(tables.PAGE, "w", encoding="utf-8") as file:
        file.write("before\n<!-- part -->\nold\n<!-- /part -->\nafter\n")
    tables.put("part", HEAD, [["b", "4 of 5", "1", "`f` 2"], ["a", "5 of 5", "0", ""]], ORDER)
    tables.put("part", HEAD, [["c", "1 of 2", "0", ""], ["b", "5 of 5", "2", ""]], ORDER)
    tables.put("part", HEAD, [["b", "", "", "not run"]], ORDER)
    tap.check(read() == """before
<!-- part -->
| program | found | invented | blamed |
| --- | --- | --- | --- |
| a | 5 of 5 | 0 |  |
| b |  |  | not run |
| c | 1 of 2 | 0 |  |
| **all** | 85.7 % of 7 | 0 |  |
<!-- /part -->
after
""", "rows are replaced by name, put in order, and summed", read())
    tables.put("part", [*HEAD, "more"], [["a", "1 of 1", "0", "", "x"]], ORDER)
    tap.check("| b |" not in read() and "| a | 1 of 1 |" in read(), "other columns begin a new table", read())
    try:
        tables.put("none", HEAD, [], ORDER)
        tap.check(False, "a part that the page does not have is refused")
    except ValueError as error:
        tap.check("none" in str(error), "a part that the page does not have is refused")


def check_field(tap, folder):
    """tests/field/table counts the cases of a kind, and keeps the column of the other build."""
    results = os.path.join(folder, "results")
    with open(tables.PAGE, "w", encoding="utf-8") as file:
        file.write("<!-- field -->\n<!-- /field -->\n")
    for column, right in (("before", 1), ("now", 3)):
        with open(results, "w", encoding="utf-8") as file:
            file.write(json.dumps({"kind": "k", "case": "a", "right": right, "tried": 4}) + "\n")
            file.write(json.dumps({"kind": "k", "case": "b", "right": 1, "tried": 1}) + "\n")
        done = subprocess.run([os.path.join(HERE, "..", "field", "table"), column, results], check=False,
                              env={**os.environ, "VERDICTS_PAGE": tables.PAGE}, capture_output=True, text=True)
        tap.check(done.returncode == 0, f"tests/field/table {column}", done.stderr)
    tap.check("| k | 2 of 5 | 4 of 5 | a |" in read(), "cases are counted by kind, each build in its column", read())


def main():
    tap = Tap()
    check_page(tap)
    with tempfile.TemporaryDirectory(prefix="tables-") as folder:
        check_put(tap, folder)
        check_field(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
