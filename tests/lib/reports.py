# SPDX-License-Identifier: GPL-2.0
"""Readers of the files that `jankbpf report` writes: what each holds, and whether it is whole."""
import base64
import collections
import gzip
import json
import os
import shutil
import subprocess
import tempfile

import schema

PROTOS = {"pprof": ("pprof.proto", "perftools.profiles.Profile"), "perfetto": ("perfetto.proto", "perfetto.protos.Trace")}


def message(name):
    """The class of a format's message, by python3-protobuf."""
    file, word = PROTOS[name]
    return schema.message_of(schema.load(f"schema/{file}"), word)


def decodes(name, content):
    """Does protoc know each field? An unknown one would be a number in its text."""
    file, word = PROTOS[name]
    done = subprocess.run(["protoc", f"--proto_path={schema.ROOT}/schema", f"--decode={word}", file], input=content,
                          capture_output=True, check=False)
    unknown = [line for line in done.stdout.splitlines() if line.lstrip()[:1].isdigit()]
    return done.returncode == 0 and not unknown and bool(done.stdout)


def folded(text):
    """(frames, µs) of each line."""
    lines = [line.rpartition(" ") for line in text.splitlines()]
    return [(stack.split(";"), int(us)) for stack, _, us in lines]


def profile(content):
    return message("pprof").FromString(gzip.decompress(content))


def profile_faults(prof):
    """Yields what no reader could resolve."""
    locations = {each.id: each for each in prof.location}
    functions = {each.id for each in prof.function}
    mappings = {each.id for each in prof.mapping} | {0}
    texts = len(prof.string_table)
    if prof.string_table[0]:
        yield "the first text is not empty"
    if not len(locations) == len(prof.location) == len({*locations}):
        yield "a location's id comes twice"
    for sample in prof.sample:
        if len(sample.value) != len(prof.sample_type):
            yield "a sample has another number of values"
        if not sample.location_id or not locations.keys() >= set(sample.location_id):
            yield "a sample has no location, or an unknown one"
        if any(not 0 < each.key < texts or not 0 < each.str < texts for each in sample.label):
            yield "a label has an unknown text"
    for location in prof.location:
        if not location.line or location.mapping_id not in mappings:
            yield "a location has no line, or an unknown mapping"
        if any(line.function_id not in functions for line in location.line):
            yield "a line has an unknown function"


def trace(content):
    return message("perfetto").FromString(content)


class Slices:
    """The slices of a trace's tracks: (name, begin, end, depth), and what does not nest."""

    def __init__(self, got):
        self.by_track, self.faults = collections.defaultdict(list), []
        open_ones = collections.defaultdict(list)
        events = [packet for packet in got.packet if packet.HasField("track_event")]
        for packet in sorted(events, key=lambda each: each.timestamp):  # stable, as the trace processor's
            event, stack = packet.track_event, open_ones[packet.track_event.track_uuid]
            if event.type == 1:
                stack.append((event.name, packet.timestamp, event))
            elif event.type == 2 and not stack:
                self.faults.append(f"an end without a begin at {packet.timestamp}")
            elif event.type == 2:
                name, begin, first = stack.pop()
                self.by_track[event.track_uuid].append((name, begin, packet.timestamp, len(stack), first))
        self.faults += [f"no end of {each}" for each in open_ones.values() if each]


def trace_faults(got):
    """Yields what the trace processor would complain about: ids before their entries, tracks
    without a descriptor, packets outside of the sequence."""
    first = got.packet[0]
    if not first.HasField("clock_snapshot") or not first.sequence_flags & 1 or first.trace_packet_defaults.timestamp_clock_id != 3:
        yield "the first packet does not set clocks and defaults"
    if not {3} <= {clock.clock_id for clock in first.clock_snapshot.clocks} or first.clock_snapshot.primary_trace_clock != 3:
        yield "the trace's clock is not in the snapshot"
    tracks, known, flows = set(), collections.defaultdict(set), set()
    for packet in got.packet:
        if packet.trusted_packet_sequence_id != 1 or not packet.sequence_flags & 2:
            yield "a packet of no sequence"
        if packet.sequence_flags & 1:
            known.clear()
        yield from interned_faults(packet.interned_data, known)
        if packet.HasField("track_descriptor"):
            parent = packet.track_descriptor.parent_uuid
            if parent and parent not in tracks:
                yield "a track before its parent"
            tracks.add(packet.track_descriptor.uuid)
        if packet.HasField("perf_sample") and packet.perf_sample.callstack_iid not in known["callstacks"]:
            yield "a sample without its callstack"
        if packet.HasField("track_event"):
            yield from event_faults(packet, tracks, known, flows)
    if flows:
        yield f"{len(flows)} flows without an end"


def interned_faults(data, known):
    for name in ("function_names", "build_ids", "mapping_paths", "source_paths"):
        known[name].update(each.iid for each in getattr(data, name))
    for mapping in data.mappings:
        known["mappings"].add(mapping.iid)
        if not set(mapping.path_string_ids) <= known["mapping_paths"]:
            yield "a mapping without its path"
        if mapping.build_id and mapping.build_id not in known["build_ids"]:
            yield "a mapping without its build id"
    for frame in data.frames:
        known["frames"].add(frame.iid)
        if frame.function_name_id not in known["function_names"] or frame.mapping_id not in known["mappings"]:
            yield "a frame without its name or mapping"
        if frame.source_path_iid and frame.source_path_iid not in known["source_paths"]:
            yield "a frame without its source file"
    for stack in data.callstacks:
        known["callstacks"].add(stack.iid)
        if not stack.frame_ids or not set(stack.frame_ids) <= known["frames"]:
            yield "a callstack without its frames"


def event_faults(packet, tracks, known, flows):
    event = packet.track_event
    if event.track_uuid not in tracks:
        yield "an event before its track"
    if not packet.timestamp:
        yield "an event without a time"
    if event.callstack_iid and event.callstack_iid not in known["callstacks"]:
        yield "an event without its callstack"
    for flow in event.terminating_flow_ids:
        if flow not in flows:
            yield "a flow that ends before its begin"
    flows.update(event.flow_ids)
    flows.difference_update(event.terminating_flow_ids)


def notes(event):
    return {note.name: note.string_value or note.uint_value for note in event.debug_annotations}


def speedscope(text):
    """The file, and what its schema does not allow."""
    got, faults = json.loads(text), []
    frames = got["shared"]["frames"]
    if got["$schema"] != "https://www.speedscope.app/file-format-schema.json":
        faults.append("no $schema")
    if any(set(frame) - {"name", "file", "line", "col"} or "name" not in frame for frame in frames):
        faults.append("a frame of another form")
    for each in got["profiles"]:
        if each["type"] != "sampled" or each["unit"] != "nanoseconds" or len(each["samples"]) != len(each["weights"]):
            faults.append("a profile of another form")
        if each["endValue"] - each["startValue"] != sum(each["weights"]):
            faults.append("a profile that does not end at its sum")
        if not all(stack and 0 <= min(stack) <= max(stack) < len(frames) for stack in each["samples"]):
            faults.append("a stack with an unknown frame")
    return got, faults


def dispatches(records):
    """The records that a report counts: blocks, and the last hang of a dispatch without one."""
    last = {}
    for record in records:
        if record["type"] == "block" or (record["type"] == "hang" and last.get(record["id"], record)["type"] == "hang"):
            last[record["id"]] = record
    return list(last.values())


# --- HTML

SUM_WEIGHTS = """
import { readFileSync } from "node:fs";
import { readLines, report } from "./data.js";
import { weightsOf } from "./weights.js";
readLines(readFileSync(0, "utf8"));
console.log(JSON.stringify(report.blocks.map((block) => weightsOf([block]).reduce((sum, { ns }) => sum + ns, 0))));
"""


class Page:
    """The records of an HTML report; `faults` are contradictions."""
    BEGIN = '<script type="application/gzip" id="data">\n'

    def __init__(self, text):
        self.faults = []
        head, _, rest = text.partition(self.BEGIN)
        data, _, tail = rest.partition("</script>")
        if "default-src 'none'" not in head or "<script" in head:
            self.faults.append("the head has no policy, or a script")
        if tail.count("<script>") != 1 or not tail.rstrip().endswith("</html>"):
            self.faults.append("the page has another end")
        self.data = gzip.decompress(base64.b64decode(data.replace("\n", ""), validate=True))
        self.records = [json.loads(line) for line in self.data.splitlines()]
        self.blocks = [record for record in self.records if record["type"] in ("block", "hang")]

    def weights(self):
        """For each block the time of its stacks in ns, as the page's own code (web/weights.js) sums it."""
        with tempfile.TemporaryDirectory(prefix="jankbpf-page-") as folder:
            for name in ("data", "format", "losses", "weights"):
                shutil.copy(os.path.join(schema.ROOT, "web", name + ".js"), folder)
            with open(folder + "/package.json", "w", encoding="ascii") as file:
                file.write('{"type": "module"}')
            with open(folder + "/run.js", "w", encoding="ascii") as file:
                file.write(SUM_WEIGHTS)
            run = subprocess.run(["node", folder + "/run.js"], input=self.data, capture_output=True, check=True)
        return json.loads(run.stdout)
