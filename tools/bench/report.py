# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of interleaved rounds: what is printed, and what the JSON keeps."""

import math
import statistics


def interval(values):
    """Between these two of the values, in order, lies the median of all possible ones with a probability of 95 %
    (binomial distribution); None: fewer than six do not say."""
    cnt, values = len(values), sorted(values)
    below = 0
    while sum(math.comb(cnt, i) for i in range(below + 1)) <= 0.025 * 2 ** cnt:
        below += 1
    return [values[below - 1], values[cnt - below]] if below else None


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "interval": interval(values), "rounds": list(values)}


class Table:
    """Rows of one measurement; each figure is a median with its range."""

    def __init__(self, title, unit):
        self.title, self.unit, self.rows, self.base = title, unit, [], None

    def add(self, name, values, target=None, digits=0):
        if values:
            row = {"name": name, "target": target, "digits": digits, **spread(values)}
            if self.base:
                row["per_cent_of_base"] = 100 * row["median"] / self.base
            self.rows.append(row)

    def add_base(self, values):
        """The value to which the other rows add; a slower machine has another, hence the ratios."""
        self.add("base", values)
        if values:
            self.rows[-1]["absolute"] = True
            self.base = self.rows[-1]["median"]

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
        sign = "+" if self.unit.startswith("+") and "absolute" not in row else ""
        figure = f"{row['median'] + 0.0:{sign}12,.{digits}f}"
        if "per_cent_of_base" in row:
            figure += f" {row['per_cent_of_base']:+7,.0f} %"
        elif "absolute" in row:
            figure += " " * 10
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
