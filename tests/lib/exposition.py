# SPDX-License-Identifier: GPL-2.0
"""A strict reader of Prometheus' text format 0.0.4 and of OpenMetrics 1.0, as far as jankbpf writes them."""
import re

LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
VALUE = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?$")
TYPES = ("counter", "gauge", "histogram")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}
LABEL_BYTES_MAX = 300


class Bad(Exception):
    """The text is not valid."""


def need(good, what):
    if not good:
        raise Bad(what)


def labels_of(text):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        need(match and match[1] not in found, f"labels {text!r}")
        need(len(match[2].encode()) <= LABEL_BYTES_MAX and not re.search(r"[\x00-\x1f\x7f]", match[2]), f"value {match[2]!r}")
        need(match[3] or match.end() == len(text), f"labels {text!r}")
        found[match[1]], at = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[2]), match.end()
    return found


def check_histogram(samples):
    """Of one family: buckets rise, the last is +Inf and the count, each label set has all edges."""
    sets = {}
    for (name, labels), value in samples.items():
        key = tuple(sorted((k, v) for k, v in labels if k != "le"))
        one = sets.setdefault(key, {"buckets": []})
        if name.endswith("_bucket"):
            one["buckets"].append((float(dict(labels)["le"]), value))
        else:
            one[name.rpartition("_")[2]] = value
    for key, one in sets.items():
        edges = [edge for edge, _ in one["buckets"]]
        counts = [count for _, count in one["buckets"]]
        need(edges == sorted(set(edges)) and edges[-1] == float("inf"), f"edges of {key}")
        need(counts == sorted(counts) and counts[-1] == one["count"], f"counts of {key}")
        need(one["sum"] >= 0 and (one["sum"] > 0) == (one["count"] > 0), f"sum of {key}")


class Exposition:
    """samples[(name, frozenset of labels)] = value"""

    def __init__(self, text, openmetrics=False):
        self.samples, self.types = {}, {}
        need(text.endswith("\n"), "the last line has no end")
        lines = text.split("\n")[:-1]
        if openmetrics:
            need(lines and lines.pop() == "# EOF", "no # EOF")
        self.family, self.kind, self.openmetrics = None, None, openmetrics
        helped = None
        for line in lines:
            if line.startswith("# HELP "):
                helped = line.split(" ")[2]
                need(helped not in self.types and len(line.split(" ", 3)) == 4, line)
            elif line.startswith("# TYPE "):
                self.begin(line, helped)
            else:
                need(self.family == helped, f"a sample after HELP: {line}")
                self.take(line)
        for family, kind in self.types.items():
            if kind == "histogram":
                check_histogram({k: v for k, v in self.samples.items() if k[0].rpartition("_")[0] == family})

    def begin(self, line, helped):
        words = line.split(" ")
        need(len(words) == 4 and words[2] == helped and words[3] in TYPES and helped not in self.types, line)
        self.family, self.kind = words[2], words[3]
        self.types[self.family] = self.kind
        need(self.kind != "counter" or self.family.endswith("_total") != self.openmetrics, f"a counter's family: {line}")

    def take(self, line):
        match = SAMPLE.match(line)
        need(match and VALUE.match(match[3]), line)
        names = [self.family + suffix for suffix in SUFFIXES.get(self.kind, ("",))]
        if self.kind == "counter" and self.openmetrics:
            names = [self.family + "_total"]
        need(match[1] in names, f"not of {self.family}: {line}")
        key = match[1], frozenset(labels_of(match[2] or "").items())
        need(key not in self.samples, f"twice: {line}")
        need(all(name not in ("pid", "tid", "path") for name, _ in key[1]), line)
        self.samples[key] = float(match[3])

    def of(self, name, **labels):
        """The sum of the samples that have these labels."""
        return sum(value for (each, have), value in self.samples.items() if each == name and set(labels.items()) <= have)
