#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What `jankbpf serve` gives of a directory that is more than one part: counts are of all blocks, and the longest is always
there; a file of 200 MB of short records needs little memory."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "replay", "reference")]
import outputs  # noqa: E402
import replay  # noqa: E402
from field import SHORT, Field  # noqa: E402
from serve import WAIT_S, Events, Serve, until  # noqa: E402

BLOCKS, BYTES = 468, 90_000
WORST_NS = 7_040_000_000
LARGE_MB = 200
RSS_MAX_KB = 150 << 10


def wide(block, number):
    """The block with another id and so many samples that a record has BYTES."""
    samples, ret = block["samples"], []
    while samples and len(json.dumps(ret)) < BYTES:
        ret += [{**sample, "stack": [{**frame, "function": f"f_{number}_{len(ret)}"} for frame in sample.get("stack", [])]} for sample in samples]
    return {**block, "id": f"b-{number}", "samples": ret}


def parts(field, folder):
    """468 blocks of 42 MB, of which the longest is one of the first."""
    blocks = [record for name in ("threads", "given", "redis", "qt", "chains") for record in replay.records(outputs.read(name, outputs.RECORDS))
              if record["type"] == "block"]
    written = [wide(blocks[i % len(blocks)], i) for i in range(BLOCKS)]
    written[3].update(duration_ns=WORST_NS, delay_ns=WORST_NS)
    with open(folder + "/blocks.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in written)
    serve = Serve([replay.JANKBPF], folder)
    events = Events(serve)
    state = events.wait(lambda one: one["blocks"] == BLOCKS and not one["unparsed"])
    field.case("the state counts all blocks", state, events.states[-1:])
    newest = [one for _, one, _ in serve.blocks()]
    first = serve.lines()[0]["first"]
    worst = serve.ask(f"/data?worst={first}")
    rows = serve.ask("/faults")
    older = [one for _, one, _ in serve.blocks(f"?worst={first}")] if worst[0] == 200 else []
    field.case("they are more than one part", len(newest) < BLOCKS, len(newest))
    field.case("the longest, an old one, is there from the start", "b-3" in newest + older, len(newest), len(older))
    faults = json.loads(rows[2]) if rows[0] == 200 else []
    field.case("the figures of the faults are of all blocks", sum(row["blocks"] for row in faults) == BLOCKS
               and len(faults) == len({block["cause"]["signature"] for block in written}), len(faults))
    field.case("and their longest is the longest", faults and max(row["max_ns"] for row in faults) == WORST_NS, faults[:3])
    seen = set(newest + older)
    signatures = {block["cause"]["signature"] for block in written if block["id"] in seen}
    field.case("each fault has a block there", len(signatures) == len(faults), len(signatures))
    serve.stop()


def large(field, folder):
    """A file of 200 MB, of which each line is a block."""
    head = '{"type":"block","schema":"jankbpf/1","id":"%x","start_ns":1,"duration_ns":%d,"cause":{"signature":"%x"}}\n'
    path, cnt = folder + "/blocks.jsonl", 0
    with open(path, "w", encoding="ascii") as file:
        file.write(head % (0, WORST_NS, 1))
        while file.tell() < LARGE_MB * 1_000_000:
            cnt += 10000
            file.write("".join(head % (cnt + i, 30_000_000, i % 50) for i in range(10000)))
    serve = Serve([replay.JANKBPF], folder)
    events = Events(serve)
    state = until(lambda: next((one for one in events.states[-1:] if one["next"] > cnt and not one["unparsed"]), None), 20 * WAIT_S)
    field.case(f"{LARGE_MB} MB of short records: all are counted", state and state["blocks"] == cnt + 1, events.states[-1:])
    field.case("in little memory", serve.rss_kb() < RSS_MAX_KB, serve.rss_kb())
    seq, block, _ = next(iter(serve.blocks("?worst=2")), (0, "", False)) if serve.ask("/data?worst=2")[0] == 200 else (0, "", False)
    field.case("the longest, the first one, is there", block == f"{0:x}" and seq == 1, seq, block)
    field.case("the page is told what is left out", state and state.get("left", 0) > 0, state)
    _, said = serve.stop()
    field.case("and so is stderr", "the oldest are left out" in said, said)


def main():
    field = Field("serve: blocks of a directory")
    with tempfile.TemporaryDirectory(prefix="jank-serve-field-") as folder:
        for name in ("parts", "large"):
            os.mkdir(f"{folder}/{name}", 0o700)
        parts(field, folder + "/parts")
        if SHORT:
            field.skip(f"a file of {LARGE_MB} MB", "it takes minutes")
        else:
            large(field, folder + "/large")
    field.done()


main()
