# SPDX-License-Identifier: GPL-2.0
"""The tables of docs/verdicts.md: each is between two marker comments, has a row for each program
or kind, and ends with their sum. A run replaces its own rows; text outside the markers is written
by hand."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.environ.get("VERDICTS_PAGE") or os.path.join(ROOT, "docs", "verdicts.md")
NUMBER = re.compile(r"(\d+)(?: of (\d+))?")
SUM = "**all**"


def ratio(part, whole):
    return f"{part} of {whole}" if whole else ""


def not_run(name, head, why):
    """The row of a program without figures."""
    return [name, *[""] * (len(head) - 2), f"not run: {why.partition(':')[0]}"]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def sum_cell(cells):
    """Sums counts, and parts of a whole, which are shown as a share. A column with a word in it has
    no sum."""
    pairs = [NUMBER.fullmatch(cell) for cell in cells if cell]
    if not pairs or not all(pairs):
        return ""
    whole = sum(int(pair[2] or 0) for pair in pairs)
    part = sum(int(pair[1]) for pair in pairs)
    return f"{100 * part / whole:.1f} % of {whole:,}" if whole else f"{part:,}"


def render(head, rows):
    """Lines of the table. head: titles; rows: lists of cells, the first is the name."""
    if len(rows) > 1:
        rows = [*rows, [SUM, *(sum_cell(column) for column in list(zip(*rows))[1:])]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def rows_of(text, head):
    """The rows of an earlier run; none if its columns were others."""
    lines = [cells_of(line) for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in lines[2:] if cells[0] != SUM] if lines[:1] == [head] else []


def part_of(page, part):
    """The page's text before, in and after the table between <!-- PART --> and <!-- /PART -->,
    markers outside."""
    begin, end = f"<!-- {part} -->\n", f"<!-- /{part} -->"
    before, found, rest = page.partition(begin)
    table, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE}: no table {part}")
    return before + begin, table, end + after


def put(part, head, rows, order):
    """Writes the rows into the page's table. order: the names of all possible rows."""
    with open(PAGE, encoding="utf-8") as file:
        before, table, after = part_of(file.read(), part)
    merged = {cells[0]: cells for cells in (*rows_of(table, head), *rows) if cells[0] in order}
    table = render(head, sorted(merged.values(), key=lambda cells: order.index(cells[0])))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{before}{table}\n{after}")
