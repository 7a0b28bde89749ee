#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`jankbpf report` on recorded runs: each format holds all time of the records, decodes by the
public form, and survives hostile names and damaged files."""
import copy
import json
import os
import pty
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "reference")]
import outputs  # noqa: E402
import replay  # noqa: E402
import reports  # noqa: E402
import schema  # noqa: E402

NAMES = ("threads", "given", "redis", "qt", "python-chain", "chains", "hang", "scheduling")
FORMATS = ("folded", "pprof", "perfetto", "speedscope", "md", "html")
EVIL = "a;b\n\x1b[31m{\"<c>\u2028 7"


def lines(records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def note(event, key):
    return reports.notes(event).get(key)


class Check:
    def __init__(self):
        self.tap, self.scratch = replay.Tap(), replay.Scratch()

    def report(self, *words, **how):
        return self.scratch.run("report", *words, **how)

    def made(self, name, path):
        return self.report("--format", name, path)

    # --- the content of each format

    def folded(self, what, records, path):
        want = sum(record["duration_ns"] for record in records) / 1000
        got = reports.folded(self.made("folded", path).stdout.decode())
        self.tap.check(got and abs(sum(us for _, us in got) - want) <= len(got) / 2 + 1,
                       f"{what}: folded stacks have the time of the blocks", want, sum(us for _, us in got))
        ends = {stack[-1] for stack, _ in got}
        self.tap.check(all(end[0] + end[-1] == "[]" for end in ends), f"{what}: each ends with a state", ends)

    def pprof(self, what, records, path):
        got = reports.profile(self.made("pprof", path).stdout)
        faults = list(reports.profile_faults(got))
        self.tap.check(not faults, f"{what}: the profile is whole", *faults[:3])
        self.tap.check(sum(sample.value[1] for sample in got.sample) == sum(record["duration_ns"] for record in records),
                       f"{what}: and has the time of the blocks, to the nanosecond")
        states = {got.string_table[label.str] for sample in got.sample for label in sample.label
                  if got.string_table[label.key] == "signature"}
        self.tap.check(states == {record["cause"]["signature"] for record in records if record.get("cause")},
                       f"{what}: by signature", states)
        builds = {frame["build_id"] for record in records for sample in record["samples"] for frame in sample["stack"]
                  if "build_id" in frame}
        self.tap.check(builds == {got.string_table[each.build_id] for each in got.mapping} - {""},
                       f"{what}: with the build ids of the records", builds)

    def perfetto(self, what, records, path):
        content = self.made("perfetto", path).stdout
        got = reports.trace(content)
        faults = list(reports.trace_faults(got))
        self.tap.check(not faults, f"{what}: the trace is whole", *faults[:3])
        slices = reports.Slices(got)
        self.tap.check(not slices.faults, f"{what}: slices nest", *slices.faults[:3])
        found = {note(event, "id"): (begin, end) for each in slices.by_track.values()
                 for _, begin, end, depth, event in each if not depth and note(event, "id")}
        want = {record["id"]: (record["start_ns"], record["start_ns"] + record["duration_ns"]) for record in records
                if record["duration_ns"]}
        self.tap.check(found == want, f"{what}: each dispatch is a slice, on its own clock", found, want)
        ticks = sum(packet.HasField("perf_sample") for packet in got.packet)
        self.tap.check(ticks == sum(1 for record in records for sample in record["samples"]
                                    if sample["state"] == "running" and "ns" not in sample and sample["stack"]),
                       f"{what}: each tick with a stack is a sample", ticks)
        self.tap.check(reports.decodes("perfetto", content), f"{what}: protoc decodes it")

    def speedscope(self, what, records, path):
        got, faults = reports.speedscope(self.made("speedscope", path).stdout)
        self.tap.check(not faults, f"{what}: the speedscope file is whole", *faults[:3])
        self.tap.check(sum(sum(each["weights"]) for each in got["profiles"]) == sum(record["duration_ns"] for record in records),
                       f"{what}: and has the time of the blocks, to the nanosecond")
        self.tap.check({each["name"].split()[0] for each in got["profiles"]} ==
                       {record.get("cause", {}).get("signature", "no") for record in records},
                       f"{what}: a profile for each fault")

    def md(self, what, records, path):
        text = self.made("md", path).stdout.decode()
        faults = {record.get("cause", {}).get("signature") for record in records}
        worst = max(records, key=lambda record: record["duration_ns"])
        self.tap.check(f"of {len(faults)} fault" in text, f"{what}: Markdown counts the faults", text[:200])
        self.tap.check("\x1b" not in text and text.count("```") == 2 * min(len(faults), 5),
                       f"{what}: with the stacks of the first five", text[:200])
        self.tap.check(worst.get("cause", {}).get("signature", "`?`") in "\n".join(text.splitlines()[:25]),
                       f"{what}: a long block is within the first lines")

    def html(self, what, records, path):
        page = reports.Page(self.made("html", path).stdout.decode())
        self.tap.check(not page.faults, f"{what}: the page is whole", *page.faults[:3])
        self.tap.check({block["id"] for block in page.blocks} == {record["id"] for record in records},
                       f"{what}: and has all blocks")
        got, want = page.weights(), [block["duration_ns"] for block in page.blocks]
        self.tap.check(got == want, f"{what}: their weights sum to the duration, to the nanosecond", want, got)
        if what in NAMES:
            by_id = {block["id"]: block for block in page.blocks}
            self.tap.check(all(by_id[record["id"]] == record for record in records), f"{what}: each as the record is")

    def content(self, what, records, path):
        counted = reports.dispatches(records)
        for name in FORMATS:
            getattr(self, name)(what, counted, path)

    def references(self):
        for name in NAMES:
            path = self.scratch.put(f"{name}.jsonl", outputs.read(name, outputs.RECORDS))
            self.content(name, replay.records(outputs.read(name, outputs.RECORDS)), path)

    # --- inputs

    def inputs(self):
        """The same run as a journal, as each kind of record file, in a directory, on stdin."""
        content = outputs.journal_of("threads")
        journal = self.scratch.put("threads.journal", content)
        folder = self.scratch.file("kept")
        json_lines = self.scratch.replay("--json", "-o", folder, journal).stdout
        stream = self.scratch.put("threads.pb", self.scratch.replay("--format", "proto", journal).stdout)
        plain = self.scratch.put("plain.jsonl", json_lines)
        want = self.report(plain).stdout
        self.tap.check(want and want == self.report(folder).stdout, "a directory of -o gives the same as its records")
        self.tap.check(want == self.report(stream).stdout, "so do protobuf records")
        judged = self.report(journal)
        self.tap.check(want == judged.stdout, "so does a journal, judged again", judged.stderr)
        with open(plain, "rb") as file:
            run = subprocess.run([self.scratch.program, "report", "-"], stdin=file, capture_output=True, check=False)
        self.tap.check(want == run.stdout, "so does stdin")
        records = json_lines.splitlines(True)
        rotated = self.scratch.file("rotated")
        os.mkdir(rotated)
        for name, part in (("blocks.1.jsonl", records[:2]), ("blocks.jsonl", records[2:])):
            self.scratch.put(os.path.join(rotated, name), b"".join(part))
        self.tap.check(want == self.report(rotated).stdout, "so does a directory with a rotated file")

    def filters(self):
        path = self.scratch.file("threads.jsonl")
        blocks = reports.dispatches(replay.records(outputs.read("threads", outputs.RECORDS)))
        signature = blocks[0]["cause"]["signature"]
        names = {each["name"].split()[0] for each in json.loads(
            self.report("--format", "speedscope", "--sig", signature, path).stdout)["profiles"]}
        self.tap.check(names == {signature}, "--sig leaves one fault", names)
        short = self.report("--sig", signature[:9], path).stdout
        self.tap.check(short == self.report("--sig", signature, path).stdout, "by its first digits, too")
        run = self.report("--sig", "123", path)
        self.tap.check(run.returncode == 1 and not run.stdout and "none of" in run.stderr and "123" in run.stderr,
                       "an unknown signature is an error", run.returncode, run.stderr)
        starts = sorted(block["start"] for block in blocks)
        trace = reports.trace(self.report("--format", "perfetto", "--since", starts[-1], path).stdout)
        ids = {note(packet.track_event, "id") for packet in trace.packet} - {None}
        self.tap.check(ids == {block["id"] for block in blocks if block["start"] == starts[-1]},
                       "--since with the start of the last block leaves that one", ids)
        run = self.report("--format", "folded", "--since", "1h", path)
        self.tap.check(run.returncode == 0 and not run.stdout and "--since" in run.stderr,
                       "--since 1h leaves none of an old run, and says so", run.stderr)
        local = self.report("--since", "2001-02-03 04:05:06", path)
        self.tap.check(local.stdout == self.report(path).stdout, "a local time is accepted", local.stderr)

    # --- hostile and damaged files

    def hostile(self):
        records = replay.records(outputs.read("chains", outputs.RECORDS))
        for record in reports.dispatches(records):
            record["process"], record["thread"] = EVIL, ";;"
            for sample in record["samples"]:
                for frame in sample["stack"]:
                    if "function" in frame:
                        frame["function"] += EVIL
                for frame in (sample.get("waker") or {}).get("stack", ()):
                    frame["module"] = EVIL
            record["cause"]["summary"] = EVIL
        path = self.scratch.put("hostile.jsonl", lines(records))
        self.content("hostile names", records, path)
        text = self.made("folded", path).stdout.decode()
        self.tap.check("\x1b" not in text and all(stack[0] == "a:b??[31m{\"<c>? 7" for stack, _ in reports.folded(text)),
                       "names cannot end a frame or a line", text[:200])

    def contradicting(self):
        """Times that no run can have: nothing overflows, slices nest."""
        records = replay.records(outputs.read("chains", outputs.RECORDS))
        block = next(record for record in records if record["type"] == "block")
        big = 2**63 - 1
        for i in range(20):
            odd = copy.deepcopy(block)
            odd["id"] = f"odd-{i}"
            for sample in odd["samples"]:
                sample.update({"t_ns": big if i % 2 else 1, "ns": big, "runnable_ns": big})
            odd["time"]["running_ns"] = odd["duration_ns"] = big if i % 3 else 0
            odd["start_ns"] = big if i % 5 else 0
            odd["start_delay_ns"] = big
            for link in odd.get("chain", ()):
                link.update({"t_ns": big, "ns": big})
            records.append(odd)
        path = self.scratch.put("odd.jsonl", lines(records))
        for name in FORMATS:
            run = self.made(name, path)
            self.tap.check(run.returncode == 0 and run.stdout, f"contradicting times: {name} is written", run.stderr)
        self.tap.check(reports.decodes("perfetto", self.made("perfetto", path).stdout), "contradicting times: it decodes")

    def damaged(self):
        content = outputs.read("threads", outputs.RECORDS)
        whole = content.splitlines(True)
        torn = self.scratch.put("torn.jsonl", content[:-1 - len(whole[-1]) // 2])
        run = self.report(torn)
        self.tap.check(run.returncode == 0 and run.stdout and f"'{torn}': line {len(whole)}" in run.stderr,
                       "a torn line is reported with its place, and the rest is used", run.returncode, run.stderr)
        middle = self.scratch.put("middle.jsonl", whole[0] + b"\xff\xfe\n{}\n" + b"".join(whole[1:]))
        run = self.report(middle)
        self.tap.check(run.stdout == self.report(self.scratch.file("threads.jsonl")).stdout and "line 2" in run.stderr and
                       "2 of" in run.stderr, "lines that are no records are left out", run.stderr)
        with open(self.scratch.file("threads.pb"), "rb") as file:
            stream = file.read()
        torn = self.scratch.put("torn.pb", stream[:-3])
        run = self.report(torn)
        self.tap.check(run.returncode == 0 and run.stdout and f"'{torn}': torn at byte" in run.stderr,
                       "so is a torn stream", run.returncode, run.stderr)
        torn = self.scratch.put("torn.journal", outputs.journal_of("threads")[:-5])
        run = self.report(torn)
        self.tap.check(run.returncode == 0 and run.stdout and "torn" in run.stderr, "so is a torn journal", run.stderr)
        empty = self.scratch.file("empty")
        os.mkdir(empty)
        for what, path, words in (("an empty directory", empty, "no blocks.jsonl"), ("a foreign file", replay.JANKBPF, "no record"),
                                  ("an empty file", self.scratch.put("nothing", b""), "no record"),
                                  ("a missing file", self.scratch.file("missing"), "No such file")):
            run = self.report("--format", "pprof", path)
            self.tap.check(run.returncode == 1 and not run.stdout and words in run.stderr and f"'{path}'" in run.stderr,
                           f"{what} is an error", run.returncode, run.stderr)

    # --- the output

    def output(self):
        path, out = self.scratch.file("threads.jsonl"), self.scratch.file("report.pb.gz")
        run = self.report("--format", "pprof", "-o", out, path)
        with open(out, "rb") as file:
            same = file.read() == self.made("pprof", path).stdout
        self.tap.check(run.returncode == 0 and not run.stdout and same and os.stat(out).st_mode & 0o777 == 0o600,
                       "-o writes the same to a file of its own, for its owner", run.stderr)
        run = self.report("--sig", "1", "-o", out, path)
        with open(out, "rb") as file:
            kept = file.read()
        self.tap.check(run.returncode == 1 and kept == self.made("pprof", path).stdout and
                       not [name for name in os.listdir(self.scratch.path) if name.startswith(".jankbpf")],
                       "a report that fails leaves the old file, and nothing else", run.stderr)
        run = self.report("-o", "/dev/null", path)
        self.tap.check(run.returncode == 1 and "regular file" in run.stderr, "a device is not replaced", run.stderr)
        with open("/dev/full", "wb") as full:
            run = self.report(path, stdout=full)
        self.tap.check(run.returncode == 1 and "No space left" in run.stderr, "a full disk is an error", run.stderr)
        run = self.report("--format", "json", path)
        self.tap.check(run.returncode == 2 and "folded" in run.stderr, "a format of records is wrong usage", run.stderr)
        leader, terminal = pty.openpty()
        run = self.report("--format", "perfetto", path, stdout=terminal)
        self.tap.check(run.returncode == 2 and "terminal" in run.stderr, "binary does not go to a terminal", run.stderr)
        os.close(terminal)
        os.close(leader)

    def run(self):
        self.references()
        self.inputs()
        self.filters()
        self.hostile()
        self.contradicting()
        self.damaged()
        self.output()
        self.tap.end()


if __name__ == "__main__":
    assert schema.ROOT
    Check().run()
