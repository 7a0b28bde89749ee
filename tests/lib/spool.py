# SPDX-License-Identifier: GPL-2.0
"""What is in a spool: the records of its batches, and of the batch that is open. Reads the format by user/export/spool
on its own, so that a test does not ask the program that it tests."""
import glob
import os
import struct
import subprocess

import schema

SEGMENT = struct.Struct("<8sII")
BATCH = struct.Struct("<4sIQIIIIQQ")
TAIL = struct.Struct("<8sIIQ")
ENTRY = struct.Struct("<II")
Record = schema.message_of(schema.load("schema/blockinfo.proto"), "jankbpf.Record")


def split(data):
    """Records, each after its length as a varint."""
    found, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(Record.FromString(data[at:at + size]))
        at += size
    return found


def frames(path):
    """(number, records, bytes when unpacked, zstd frame) of each whole batch of a segment."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < SEGMENT.size:
        return
    at = SEGMENT.unpack_from(data)[2]
    while at + BATCH.size <= len(data):
        magic, head, number, count, raw, packed, *_ = BATCH.unpack_from(data, at)
        if magic != b"JBAT" or at + head + packed > len(data):
            break
        yield number, count, raw, data[at + head:at + head + packed]
        at += head + packed


def last_batch(folder):
    """Its number; 0: none."""
    return max((frame[0] for path in sorted(glob.glob(f"{folder}/*.spool"))[-2:] for frame in frames(path)), default=0)


def closed(folder):
    """{(batch, place in it): record} of all batches."""
    found = [frame for path in sorted(glob.glob(f"{folder}/*.spool")) for frame in frames(path)]
    plain = subprocess.run(["zstd", "-dc"], input=b"".join(frame[3] for frame in found), capture_output=True, check=True).stdout if found else b""
    ret, at = {}, 0
    for number, count, raw, _ in found:
        records = split(plain[at:at + raw])
        at += raw
        if len(records) != count:
            raise ValueError(f"batch {number} has {len(records)} records, not {count}")
        ret.update({(number, place): record for place, record in enumerate(records)})
    if at != len(plain):
        raise ValueError(f"{len(plain)} bytes in the batches, not {at}")
    return ret


def open_batch(folder):
    """(number, records) of open.tail."""
    path = f"{folder}/open.tail"
    data = b""
    if os.path.exists(path):
        with open(path, "rb") as file:
            data = file.read()
    if len(data) < TAIL.size:
        return 0, []
    _, _, at, number = TAIL.unpack_from(data)
    records = []
    while at + ENTRY.size <= len(data):
        size, _ = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        if at + size > len(data):
            break
        records += split(data[at:at + size])
        at += size
    return number, records


def stored(folder):
    """{(batch, place): record} of all that the spool has, also of the batch that is open."""
    ret = closed(folder)
    number, records = open_batch(folder)
    if (number, 0) not in ret:  # else it was closed, and a kill left the file
        ret.update({(number, place): record for place, record in enumerate(records)})
    return ret


def is_row(record):
    """True if a table of blocks has a row of it."""
    return record.HasField("block") or record.HasField("hang")


def rows(records):
    return {key: record for key, record in records.items() if is_row(record)}


def block_of(record):
    return record.block if record.HasField("block") else record.hang
