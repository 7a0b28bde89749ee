# SPDX-License-Identifier: GPL-2.0
"""Figures of interleaved rounds: what is shown, and what the JSON keeps."""

import statistics


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "rounds": list(values)}


class Table:
    """Rows of one measurement; each figure is a median with what it ranged over."""

    def __init__(self, title, unit):
        self.title, self.unit, self.rows = title, unit, []

    def add(self, name, values, target=None, digits=0, absolute=False):
        """`absolute`: what the others are added to."""
        if values:
            self.rows.append({"name": name, "target": target, "digits": digits,
                              "absolute": absolute, **spread(values)})

    def note(self, name, why):
        self.rows.append({"name": name, "note": why})

    def verdict(self, row):
        if row["target"] is None:
            return ""
        word = "ok" if row["median"] <= row["target"] else "MISSED"
        return f"  target <= {row['target']:g}: {word}"

    def line(self, row, width):
        if "note" in row:
            return f"  {row['name']:<{width}}  – {row['note']}"
        digits = row["digits"]
        sign = "+" if self.unit.startswith("+") and not row["absolute"] else ""
        figure = f"{row['median']:{sign}12,.{digits}f}"
        ends = f"({row['min']:,.{digits}f} … {row['max']:,.{digits}f})"
        return f"  {row['name']:<{width}}{figure}  {ends:<26}{self.verdict(row)}".rstrip()

    def show(self):
        width = max((len(row["name"]) for row in self.rows), default=0)
        print(f"\n{self.title}, {self.unit}: median (min … max)")
        for row in self.rows:
            print(self.line(row, width))

    def json(self):
        return {"title": self.title, "unit": self.unit,
                "rows": [{key: value for key, value in row.items() if key not in ("digits", "absolute")}
                         for row in self.rows]}
