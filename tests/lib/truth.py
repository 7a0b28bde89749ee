#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges jankbpf's blocks by simjank's truth.

Joins the records by thread and time, prints TAP with the figures as comments (or the figures alone as
JSON), and exits with 0 when all is within the tolerances, 1 when not, 2 when it cannot be judged.
"""
import argparse
import bisect
import collections
import json
import math
import re
import sys

from verdicts import Rate, Verdicts, frame_name

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "": 1e6}

# name: (figure, its part, True when more is better, default limit); None: report the figure, check
# nothing.
TOLERANCES = {
    "duration_p50": ("duration error", "p50", False, None),
    "duration_p99": ("duration error", "p99", False, 1e5),
    "duration_max": ("duration error", "max", False, None),
    "running_p50": ("|running_ns - CPU clock|", "p50", False, None),
    "running_p99": ("|running_ns - CPU clock|", "p99", False, None),
    "running_max": ("|running_ns - CPU clock|", "max", False, 1e6),
    "runnable_p50": ("|runnable_ns - run delay|", "p50", False, None),
    "runnable_p99": ("|runnable_ns - run delay|", "p99", False, None),
    "runnable_max": ("|runnable_ns - run delay|", "max", False, 2e6),
    "cpu_p50": ("|cpu_ns - CPU clock|", "p50", False, None),
    "cpu_p99": ("|cpu_ns - CPU clock|", "p99", False, None),
    "cpu_max": ("|cpu_ns - CPU clock|", "max", False, 1e6),
    "kind_rate": ("cause.kind right", "rate", True, 0.98),
    "frame_rate": ("cause.frame right", "rate", True, None),
}


def time_ns(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s|)", text)
    if not match:
        raise argparse.ArgumentTypeError(f'"{text}" is no time, such as 25ms')
    return int(float(match[1]) * UNITS[match[2]])


def tolerance(text):
    name, _, value = text.partition("=")
    if name not in TOLERANCES:
        raise argparse.ArgumentTypeError(f'"{name}" is none of {", ".join(TOLERANCES)}')
    if value == "none":
        return name, None
    if not name.endswith("_rate"):
        return name, time_ns(value)
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{value}" is no rate, such as 0.98') from None


def read_lines(path):
    """The records of a JSON Lines file. A torn or foreign line is an error, as for any reader."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                if not line.endswith("\n"):
                    raise ValueError("the last line is torn")
                if not isinstance(record, dict) or "type" not in record:
                    raise ValueError("no record")
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            yield record


def percentile(values, share):
    """Nearest rank of sorted values."""
    return values[math.ceil(share * len(values)) - 1]


class Spread:
    """Distance from the truth: p50, p99, max of absolute errors in ns."""

    def __init__(self):
        self.worst = collections.Counter()
        self.errors = []

    def add(self, error, scenario):
        self.errors.append(abs(error))
        self.worst[scenario] = max(self.worst[scenario], abs(error))

    def figures(self):
        errors = sorted(self.errors)
        if not errors:
            return {}
        return {"p50": percentile(errors, 0.5), "p99": percentile(errors, 0.99), "max": errors[-1],
                "worst": self.worst.most_common(1)[0][0]}


class Truth:
    """simjank's records, by thread and in order of time."""

    def __init__(self, path):
        self.threads = collections.defaultdict(list)
        self.summary = None
        for record in read_lines(path):
            if record["type"] == "summary":
                self.summary = record
            elif record["type"] == "dispatch":
                self.threads[record["tid"]].append(record)
        for dispatches in self.threads.values():
            dispatches.sort(key=lambda d: d["begin_ns"])
        self.begins = {tid: [d["begin_ns"] for d in ds] for tid, ds in self.threads.items()}

    def dispatches(self):
        return [d for ds in self.threads.values() for d in ds]

    def find(self, block):
        """The dispatch that the block overlaps most, or None."""
        begin, end = block["start_ns"], block["start_ns"] + block["duration_ns"]
        best, best_ns = None, 0
        dispatches = self.threads.get(block["tid"], [])
        at = bisect.bisect_right(self.begins.get(block["tid"], []), begin) - 1
        for dispatch in dispatches[max(at, 0):]:
            if dispatch["begin_ns"] >= end:
                break
            common_ns = min(end, dispatch["end_ns"]) - max(begin, dispatch["begin_ns"])
            if common_ns > best_ns:
                best, best_ns = dispatch, common_ns
        return best


def expected(dispatch, args):
    """True: there must be a block. False: there must be none. None: both are right."""
    over_ns = dispatch["duration_ns"] - args.threshold
    if abs(over_ns) <= args.guard:
        return None
    if over_ns < 0:
        return False
    if args.debugging:
        return True
    off_ns = dispatch["duration_ns"] - dispatch["cpu_ns"] - dispatch["run_delay_ns"]
    # the clock of a stop also runs while the thread waits for a CPU, before the stop and after it
    stopped_ns = min(dispatch["stopped_ns"], off_ns) - dispatch["duration_ns"] / 2
    return None if abs(stopped_ns) <= max(args.guard, 2e6) else stopped_ns < 0


def account_error(block):
    time = block["time"]
    total = time.get("running_ns", 0) + time.get("runnable_ns", 0)
    return total + sum(time.get("blocked_ns", {}).values()) - block["duration_ns"]


def without_cpu_wait(block):
    return block["duration_ns"] - block["time"].get("runnable_ns", 0)


def describe(record):
    name = record.get("scenario") or (record.get("cause") or {}).get("kind")
    begin_ns = record.get("begin_ns", record.get("start_ns"))
    return f"{name} of {record['duration_ns'] / 1e6:.3f} ms, tid {record['tid']}, begin {begin_ns}"


class Judgement:
    """Compares the blocks with the truth, one by one."""

    def __init__(self, truth, args):
        self.truth, self.args = truth, args
        self.block_cnt = self.foreign_cnt = self.hang_cnt = self.late_cnt = self.starved_cnt = 0
        self.invented, self.twice, self.unsummed, self.wrong_loop = [], [], [], []
        self.stray_hangs, self.summary = [], None
        self.reported = {}
        self.spreads = {row[0]: Spread() for row in TOLERANCES.values() if row[1] != "rate"}
        self.rates = {"cause.kind right": Rate(), "cause.frame right": Rate()}
        self.per_scenario = collections.defaultdict(Rate)
        self.verdicts = Verdicts()
        self.hung = collections.Counter()

    def add(self, record):
        if record["type"] == "summary":
            self.summary = record
        elif record.get("phase") == "startup":
            pass  # it is before the first dispatch
        elif record["type"] in ("block", "hang") and record["pid"] != self.truth.summary["pid"]:
            self.foreign_cnt += 1
        elif record.get("start_delay_ns") and record["duration_ns"] <= self.args.threshold:
            self.late_cnt += 1  # by its start delay, which the truth does not have
        elif record["type"] == "hang":
            self.add_hang(record)
        elif record["type"] == "block":
            self.add_block(record)

    def add_hang(self, hang):
        self.hang_cnt += 1
        dispatch = self.truth.find(hang)
        if dispatch:
            self.hung[id(dispatch)] += 1
        if not dispatch or dispatch["duration_ns"] < self.args.hang - self.args.guard:
            self.stray_hangs.append(hang)

    def add_block(self, block):
        self.block_cnt += 1
        if account_error(block):
            self.unsummed.append(block)
        if block["loop"] != (self.args.loop or self.truth.summary["loop"]):
            self.wrong_loop.append(block)
        dispatch = self.truth.find(block)
        wanted = dispatch and expected(dispatch, self.args)
        if self.args.starved and not wanted and without_cpu_wait(block) <= self.args.threshold:
            self.starved_cnt += 1
        elif not dispatch or wanted is False:
            self.invented.append(block)
        elif id(dispatch) in self.reported:
            self.twice.append(block)
        else:
            self.reported[id(dispatch)] = block
            self.compare(dispatch, block)

    def compare(self, dispatch, block):
        name, time, cause = dispatch["scenario"], block["time"], block.get("cause") or {}
        duration_ns = block["duration_ns"] - dispatch["duration_ns"]
        if self.args.starved: # it waits for a CPU around the handler, too
            duration_ns = without_cpu_wait(block) - dispatch["duration_ns"] + dispatch["run_delay_ns"]
        errors = {
            "duration error": duration_ns,
            "|running_ns - CPU clock|": time.get("running_ns", 0) - dispatch["cpu_ns"],
            "|runnable_ns - run delay|": time.get("runnable_ns", 0) - dispatch["run_delay_ns"],
            "|cpu_ns - CPU clock|": block["cpu_ns"] - dispatch["cpu_ns"],
        }
        for figure, error in errors.items():
            self.spreads[figure].add(error, name)
        kind, frame = cause.get("kind"), frame_name(cause)
        right = kind == dispatch["kind"] or kind in dispatch["also"]
        self.rates["cause.kind right"].add(right, dispatch["kind"], kind)
        blamed = frame in dispatch["functions"]
        self.rates["cause.frame right"].add(blamed, dispatch["function"], frame)
        self.per_scenario[name].add(right, dispatch["kind"], kind)
        self.verdicts.add(dispatch, block)

    def missing(self):
        return [d for d in self.truth.dispatches()
                if expected(d, self.args) and id(d) not in self.reported]

    def hangs_missed(self):
        late_ns = self.args.hang + self.args.hang_guard
        return [d for d in self.truth.dispatches()
                if expected(d, self.args) is not False and d["duration_ns"] > late_ns
                and self.hung[id(d)] != 1]


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, text, details=()):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}")
        for detail in details[:10]:
            print(f"#   {detail}")
        if len(details) > 10:
            print(f"#   and {len(details) - 10} more")

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def check_records(tap, judgement, truth, args):
    wanted = [d for d in truth.dispatches() if expected(d, args)]
    lost = truth.summary["lost"]
    tap.check(lost == 0 and wanted, f"the truth is whole: {len(wanted)} dispatches to report, {lost} lost")
    lists = [
        (judgement.missing(), f"every dispatch over {args.threshold / 1e6:g} ms is reported"),
        (judgement.twice, "none is reported twice"),
        (judgement.invented, f"none of {judgement.block_cnt} blocks is invented"),
        (judgement.wrong_loop, f"the loop is {args.loop or truth.summary['loop']}"),
        (judgement.unsummed, "running + runnable + blocked is the duration, exactly"),
    ]
    if args.hang:
        lists += [(judgement.hangs_missed(), "every hang is reported once while it is open"),
                  (judgement.stray_hangs, f"none of {judgement.hang_cnt} hangs is invented")]
    for bad, text in lists:
        tap.check(not bad, text, [describe(record) for record in bad])


def show(value, part):
    if part == "rate":
        return f"{100 * value:.2f} %"
    return f"{value / 1e3:.1f} us" if part in ("p50", "p99", "max") else str(value)


def check_figures(tap, figures, limits):
    for name, (figure, part, more, _) in TOLERANCES.items():
        limit = limits[name]
        if limit is None:
            continue
        value = figures[figure].get(part)
        good = value is not None and (value >= limit if more else value <= limit)
        text = "nothing to judge by" if value is None else show(value, part)
        tap.check(good, f"{figure}: {part} {text}, wanted {'>=' if more else '<='} {show(limit, part)}")


def figures_of(judgement, truth):
    figures = {name: spread.figures() for name, spread in judgement.spreads.items()}
    figures.update({name: rate.figures() for name, rate in judgement.rates.items()})
    figures["kinds"] = judgement.rates["cause.kind right"].confusion()
    figures["frames"] = judgement.rates["cause.frame right"].confusion()
    figures["scenarios"] = {name: rate.figures() for name, rate in sorted(judgement.per_scenario.items())}
    figures["verdicts"] = judgement.verdicts.figures()
    figures["blocks"] = judgement.block_cnt
    figures["foreign"] = judgement.foreign_cnt
    figures["hangs"] = judgement.hang_cnt
    figures["late"], figures["starved"] = judgement.late_cnt, judgement.starved_cnt
    figures["truth_dispatches"] = truth.summary["dispatches"]
    figures["dispatches"] = judgement.summary.get("dispatches") if judgement.summary else None
    return figures


def print_comments(figures):
    for name in dict.fromkeys(t[0] for t in TOLERANCES.values()):
        shown = (f"{part} {show(value, part)}" for part, value in figures[name].items())
        print(f"# {name}: {', '.join(shown)}")
    for key, title in (("kinds", "kind"), ("frames", "function")):
        for wanted, got in figures[key].items():
            print(f"# {title} {wanted}: {', '.join(f'{name} {n}' for name, n in got.items())}")
    print(f"# dispatches: {figures['dispatches']} by the tracer, {figures['truth_dispatches']} in truth")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth", help="simjank's --truth file")
    parser.add_argument("blocks", help="jankbpf's --json output or blocks.jsonl")
    parser.add_argument("--threshold", type=time_ns, default=time_ns("25ms"))
    parser.add_argument("--guard", type=time_ns, default=time_ns("0.1ms"),
                        help="this near the threshold either is right (default 0.1ms)")
    parser.add_argument("--loop", help="the kind of loop wanted (default: as the truth says)")
    parser.add_argument("--debugging", action="store_true", help="jankbpf ran with --debugging")
    parser.add_argument("--starved", action="store_true",
                        help="the machine is too busy: the loop may wait for a CPU outside of simjank's handlers")
    parser.add_argument("--hang", type=time_ns, default=0, help="jankbpf's --hang: check those too")
    parser.add_argument("--hang-guard", type=time_ns, default=time_ns("100ms"),
                        help="so late a hang may be reported (default 100ms)")
    parser.add_argument("--tolerance", type=tolerance, action="append", default=[],
                        metavar="NAME=VALUE", help=", ".join(
                            f"{n} ({'none' if t[3] is None else show(t[3], t[1])})"
                            for n, t in TOLERANCES.items()).replace("%", "%%"))
    parser.add_argument("--verdicts", action="store_true", help="show the verdicts, compared with the truth")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, no TAP")
    return parser.parse_args()


def main():
    args = parse_args()
    limits = {name: row[3] for name, row in TOLERANCES.items()} | dict(args.tolerance)
    truth = Truth(args.truth)
    if not truth.summary:
        raise ValueError(f"{args.truth}: no summary: simjank did not end well")
    judgement = Judgement(truth, args)
    for record in read_lines(args.blocks):
        judgement.add(record)
    figures = figures_of(judgement, truth)
    if args.json:
        print(json.dumps(figures, indent=1))
        return 0
    tap = Tap()
    check_records(tap, judgement, truth, args)
    check_figures(tap, figures, limits)
    print_comments(figures)
    for line in judgement.verdicts.lines() if args.verdicts else ():
        print(f"# {line}")
    return tap.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"truth.py: {error}", file=sys.stderr)
        sys.exit(2)
