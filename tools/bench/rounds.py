# SPDX-License-Identifier: GPL-2.0-or-later
"""Interleaved measuring: base, tracer, base, next tracer, base … Each is compared with the mean of
the two bases beside it, because the machine may be slower a second later."""


class Rounds:
    """Figures by key, of the base and of each tracer (by name). A tracer that cannot run is noted
    once."""

    def __init__(self, notes):
        self.base, self.pairs, self.notes = {}, {}, dict(notes)

    def measure_base(self, measure, keys):
        figures = measure(keys)
        for key, value in figures.items():
            self.base.setdefault(key, []).append(value)
        return figures

    def measure_traced(self, tracer, target, measure, keys):
        try:
            running = tracer.start(target)
        except (OSError, RuntimeError) as why:
            self.notes[tracer.name] = str(why)
            return None
        try:
            return measure(keys)
        finally:
            running.stop()

    def one(self, variants, target, measure):
        """One round of (tracer, keys); measure(keys) gives a figure for each key."""
        variants = [row for row in variants if row[0].name not in self.notes]
        everything = list(dict.fromkeys(key for _, keys in variants for key in keys))
        before = self.measure_base(measure, everything)
        for tracer, keys in variants:
            traced = self.measure_traced(tracer, target, measure, keys)
            after = self.measure_base(measure, everything)
            for key, value in (traced or {}).items():
                pair = (value, (before[key] + after[key]) / 2)
                self.pairs.setdefault((key, tracer.name), []).append(pair)
            before = after

    def added(self, key, name):
        return [traced - base for traced, base in self.pairs.get((key, name), [])]

    def per_cent(self, key, name):
        return [100 * (traced / base - 1) for traced, base in self.pairs.get((key, name), [])]
