# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of a block's record in each encoding: the blocks of the references, encoded again and
again."""

import glob
import json
import lzma
import os
import subprocess

from report import Table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFERENCES = os.path.join(ROOT, "tests", "replay", "reference", "*.jsonl.xz")


def records():
    parts = []
    for path in sorted(glob.glob(REFERENCES)):
        with lzma.open(path) as file:
            parts.append(file.read())
    return b"".join(parts)


def run(_scratch, rounds):
    us, size = Table("Encoding a block", "us of CPU time"), Table("A block's record", "bytes")
    figures, lines = {}, records()
    for _ in range(rounds):
        out = subprocess.run([os.environ["BENCH_ENCODING"]], input=lines, check=True, capture_output=True).stdout
        for name, pair in json.loads(out).items():
            if name != "blocks":
                figures.setdefault(name, []).append(pair)
    for name, pairs in figures.items():
        us.add(name, [pair[0] for pair in pairs], None, 1)
        size.add(name, [pair[1] for pair in pairs], None, 0)
    return {"encoding_us": us, "encoding_bytes": size}
