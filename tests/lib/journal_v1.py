# SPDX-License-Identifier: GPL-2.0
"""Converts journals of version 1 to today's version. The references were recorded in version 1, and
tests write journals in it, because JSON is easy to change. Its records were JSON; its THREAD
records (kind 5) counted durations by octave.

A count of [2^i, 2^(i+1)) ns is spread evenly over that time, to the octave's buckets by their
widths. So `log2` of a replay stays the same between 128 ns and 2^34 ns. The longest dispatch and
the threshold's edge are not known (0).

    journal_v1.py JOURNAL    prints it in today's version
"""
import json
import math
import struct
import sys

import schema

HEADER_SZ = 16
REC = "<IHHQIIII"
REC_SZ = struct.calcsize(REC)
VERSION = 2
OLD = {"session": 0x8001, "process": 0x8002, "load": 0x8003, "frames": 0x8004, "end": 0x8005, "message": 0x8006,
       "waited": 0x8007, "callers": 0x8008}
EVENTS = ((1, "in"), (2, "pri"), (4, "out"), (8, "err"), (16, "hup"), (0x2000, "rdhup"))
NEW = {"Session": 0x8011, "Process": 0x8012, "Frames": 0x8013, "Callers": 0x8014, "Answers": 0x8015, "End": 0x8016}
OF_BLOCK = ("load", "message", "waited")
PERCENT = ("total_pct", "process_pct", "user_pct", "system_pct", "iowait_pct", "steal_pct")
MEMORY = ("mem_total_kb", "mem_free_kb", "mem_available_kb")
OLD_THREAD, OLD_BUCKETS = 5, 40
THREAD, OCTAVE, FIRST, LAST = 14, 21, 7, 35  # as in bpf/jank_hist.h
BUCKETS = 1 + OCTAVE * (LAST - FIRST)
COUNT_MAX = (1 << 32) - 1
OLD_THREAD_SZ = REC_SZ + 8 * (3 + OLD_BUCKETS) + 8 + 16
MESSAGE_CLASS = {name: schema.message("Identity" if name == "Process" else f"Journal{name}") for name in NEW}


def json_of(record):
    """The JSON of an old record; a damaged record may have none."""
    try:
        value = json.loads(record[REC_SZ:].rstrip(b"\0"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def json_record(name, value):
    """An old record with that JSON."""
    body = json.dumps(value).encode()
    body += b"\0" * (8 - len(body) % 8)
    return struct.pack(REC, REC_SZ + len(body), OLD[name], 0, 0, 0, 0, 0, 0) + body


def record_of(name, message, stamp=0):
    """A record of today's version."""
    body = message.SerializeToString()
    pad = -len(body) % 8
    return struct.pack(REC, REC_SZ + len(body) + pad, NEW[name], pad, stamp, 0, 0, 0, 0) + body + b"\0" * pad


def message_of(record, name):
    """The message of a record of today's version."""
    return MESSAGE_CLASS[name].FromString(record[REC_SZ:len(record) - struct.unpack_from("<H", record, 6)[0]])


def fill(message, value, keys=None):
    """The members of value that the message has, too."""
    for key in keys or value:
        field = message.DESCRIPTOR.fields_by_name.get(key)
        each = value.get(key)
        if field is None or each is None:
            continue
        if field.message_type is None:
            setattr(message, key, each)
        else:
            getattr(message, key).SetInParent()
            fill(getattr(message, key), each)
    return message


def below(i):
    """The part of an octave below its bucket i: the inverse of i = OCTAVE * m * (4 - m) / 3."""
    return 2 - math.sqrt(4 - 3 * i / OCTAVE)


def spread(octaves):
    """Counts by octave, converted to counts by bucket."""
    counts = [0] * BUCKETS
    for octave, count in enumerate(octaves):
        if octave < FIRST:
            counts[0] += count
        else:
            begin = 1 + (min(octave, LAST - 1) - FIRST) * OCTAVE
            seen = [round(count * below(i)) for i in range(OCTAVE + 1)]
            for i in range(OCTAVE):
                counts[begin + i] += seen[i + 1] - seen[i]
    if max(counts) > COUNT_MAX:
        raise ValueError("a count of more than 32 bits")
    return counts


def thread(record):
    """A record of kind 5, converted to kind 14."""
    if len(record) != OLD_THREAD_SZ:
        raise ValueError(f"a THREAD record of {len(record)} bytes, not {OLD_THREAD_SZ}")
    head = struct.unpack_from(REC, record)
    octaves = struct.unpack_from(f"<{OLD_BUCKETS}Q", record, REC_SZ + 24)
    hist = struct.pack(f"<3Q{BUCKETS}II", 0, 0, 0, *spread(octaves), 0)
    body = record[REC_SZ:REC_SZ + 24] + hist + record[REC_SZ + 24 + 8 * OLD_BUCKETS:]
    return struct.pack(REC, REC_SZ + len(body), THREAD, *head[2:]) + body


def session(value):
    ret = fill(MESSAGE_CLASS["Session"](), value)
    fill(ret.host, value, ("name", "kernel", "arch", "cpus"))
    return "Session", ret


def process(value):
    return "Process", fill(MESSAGE_CLASS["Process"](), value)


def frames(value):
    ret = MESSAGE_CLASS["Frames"](pid=value["pid"], key=int(value["address"], 16))
    for each in value["frames"]:
        frame = fill(ret.frames.add(), each, ("function", "offset", "module", "build_id", "file", "line", "language",
                                              "inlined", "kernel"))
        ret.app.append(each.get("app", False))
        if not each.get("line"):
            frame.ClearField("line")
    return "Frames", ret


def callers(value):
    ret = fill(MESSAGE_CLASS["Callers"](), value, ("tid", "start_ns", "hang"))
    for each in value["stacks"]:
        stack = fill(ret.stacks.add(), each, ("tid", "t_ns", "end", "end_module"))
        stack.addresses.extend(int(word, 16) for word in each.get("addresses", "").split())
        words = [int(word, 16) for word in each.get("script", "").split()]
        for code, instr, flags, check in zip(*[iter(words)] * 4):
            stack.script.add(code=code, instr=instr, flags=flags, check=check)
    return "Callers", ret


def end(value):
    ret = fill(MESSAGE_CLASS["End"](), value, ("elapsed_ns", "lost"))
    ret.lost.SetInParent()
    for each in value.get("loops", ()):
        ret.loops.add(**each)
    return "End", ret


def add_load(ret, value):
    block = ret.block
    fill(ret, value, ("left_out", "real_offset_ns"))
    fill(block, value, ("loop",))
    fill(block.host, value, MEMORY)
    for key in PERCENT:
        if value.get(key, -1) >= 0:
            setattr(block.cpu, key, value[key])
    for key in ("cpu", "memory", "io"):
        if value.get(f"psi_{key}_pct", -1) >= 0:
            setattr(block.cpu.psi, key, value[f"psi_{key}_pct"])
    if value.get("missed_frames"):
        block.frames.missed, block.frames.crtc = value["missed_frames"], value["crtc"]
        if value.get("refresh_hz", 0) > 0:
            block.frames.refresh_hz = value["refresh_hz"]


def words_of(events):
    """epoll's bits as a record has them; no journal of version 1 that the tests have has others."""
    return "|".join(word for bit, word in EVENTS if events & bit)


def add_message(ret, value):
    message = ret.block.message
    fill(message, value, ("what", "handler", "callback", "source", "queued_ns"))
    message.ready = value.get("ready_cnt", 0)
    if value.get("too_many_fds"):
        message.too_many_fds = True
    for number, each in enumerate(value.get("fds", ())):
        fd = message if number == 0 else message.also_ready.add()
        if each.get("fd", -1) >= 0:
            fd.fd = each["fd"]
        if "target" in each:
            fd.fd_target = each["target"]
        if each.get("fd", -1) >= 0 and each.get("events"):
            fd.events = words_of(each["events"])


def add_wait(waited_for, value):
    value = value.get("waited")
    if not value:
        return
    fill(waited_for, value, ("target", "path", "device", "peer", "peer_task"))
    if "owner" in value:
        fill(waited_for.futex_owner, value["owner"], ("tid", "comm"))
    waited_for.SetInParent()


def add_waited(ret, value):
    block = ret.block
    known = {key: each for key, each in value.items() if each} # 0 meant unknown
    fill(block.scheduling, known, ("cpu_capacity", "cpu_khz", "cpu_max_khz", "thermal_throttled", "quota_cgroup", "quota_ns",
                                   "quota_period_ns"))
    for each in value.get("spans", ()):
        add_wait(block.samples.add(t_ns=each["t_ns"]).waited_for, each)
    for each in value.get("links", ()):
        link = fill(block.chain.add(), each, ("tid", "t_ns", "process"))
        add_wait(link.waited_for, each)
        for task in each.get("cgroups", ()):
            link.preemptors.add(**task)
    for task in value.get("cgroups", ()):
        block.preemptors.add(**task)


def answers(parts):
    """One message from what used to be up to three records: {kind: value}."""
    first = next(iter(parts.values()))
    ret = fill(MESSAGE_CLASS["Answers"](), first, ("tid", "start_ns", "hang"))
    for kind, add in (("load", add_load), ("message", add_message), ("waited", add_waited)):
        if kind in parts:
            add(ret, parts[kind])
    return record_of("Answers", ret)


def split(journal):
    """(kind, record) of each whole record, and the torn rest."""
    at, found = HEADER_SZ, []
    while at + REC_SZ <= len(journal):
        size, kind = struct.unpack_from("<IH", journal, at)
        if size < REC_SZ or at + size > len(journal):
            break
        found.append((kind, journal[at:at + size]))
        at += size
    return found, journal[at:]


def convert(journal):
    """The journal in today's version. The answers of a block take the place of the last of its
    records."""
    records, rest = split(journal)
    names = {code: name for name, code in OLD.items()}
    whole = {"session": session, "process": process, "frames": frames, "callers": callers, "end": end}
    pending, out = {}, []
    for kind, record in records:
        name = names.get(kind)
        value = json_of(record) if name else None
        if name in OF_BLOCK and value is not None:
            key = (value["tid"], value["start_ns"], value["hang"])
            out.append(key)
            pending.setdefault(key, {})[name] = value
        elif name and value is not None:
            stamp = struct.unpack_from("<Q", record, 8)[0]
            out.append(record_of(*whole[name](value), stamp))
        else:
            out.append(thread(record) if kind == OLD_THREAD else record)
    last = {key: number for number, key in enumerate(out) if isinstance(key, tuple)}
    body = [each if isinstance(each, bytes) else answers(pending[each]) if last[each] == number else b""
            for number, each in enumerate(out)]
    return journal[:8] + struct.pack("<I", VERSION) + journal[12:HEADER_SZ] + b"".join(body) + rest


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        sys.stdout.buffer.write(convert(file.read()))
