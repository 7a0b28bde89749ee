# SPDX-License-Identifier: GPL-2.0-or-later
"""A user stack, taken by any tool, and the rule by which all are judged. Complete: its outermost
frame is the thread's first function (or main, or its caller). Named: each of its frames has a
function."""
import collections
import functools
import os
import re
import struct
from typing import NamedTuple

FIRST = re.compile(r"(_start|_start_c|_dl_start|_dl_start_user|main|__libc_start_call_main|__libc_start_main(_impl|_stage2)?|"
                   r"(__GI_)?_*clone3?|(__pthread_)?start_thread|thread_start|runtime\.(goexit|mstart|rt0_go|mcall|morestack)|"
                   r"_rt0_\w+)(@@?[\w.]+)?(\.abi0)?")
ENTRY_SZ = 0x40  # of _start


class Frame(NamedTuple):
    function: str | None
    module: str
    offset: int | None  # from the function's begin; without a function, in the file
    inlined: bool = False
    language: str | None = None  # an interpreter's own frame


class Sample(NamedTuple):
    tid: int
    frames: tuple  # of the program, innermost first
    on_cpu: bool
    lost: bool = False  # the tool itself reports that this stack ends early


@functools.lru_cache(None)
def entry_offset(path):
    """Where a program's first instruction is in its file, or None."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\x02":
                return None
            entry, start = struct.unpack_from("<QQ", head, 24)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(start)
            for _ in range(count):
                kind, _, offset, vaddr, _, file_sz = struct.unpack("<IIQQQQ", file.read(size)[:40])
                if kind == 1 and vaddr <= entry < vaddr + file_sz:
                    return entry - vaddr + offset
    except (OSError, struct.error):
        pass
    return None


def is_first(frame):
    if frame.function:
        return bool(FIRST.fullmatch(frame.function))
    entry = entry_offset(frame.module) if os.path.isabs(frame.module) else None
    return entry is not None and frame.offset is not None and entry <= frame.offset <= entry + ENTRY_SZ


def is_complete(sample):
    return bool(sample.frames) and is_first(sample.frames[-1])


def is_named(sample):
    return bool(sample.frames) and all(frame.function for frame in sample.frames)


def label(frame):
    return f"{frame.function or '?'} ({os.path.basename(frame.module)})"


def judge(samples):
    """The number of samples, and the shares of the complete, the named and both; where the others
    end."""
    ends, unnamed = collections.Counter(), collections.Counter()
    complete = named = both = frames = named_frames = 0
    for sample in samples:
        whole, all_named = is_complete(sample), is_named(sample)
        complete, named, both = complete + whole, named + all_named, both + (whole and all_named)
        frames += len(sample.frames)
        named_frames += sum(frame.function is not None for frame in sample.frames)
        if not whole:
            ends[label(sample.frames[-1]) if sample.frames else "no frame"] += 1
        if not all_named:
            unnamed.update({label(frame) for frame in sample.frames if not frame.function})
    count = len(samples) or 1
    return {"samples": len(samples), "on_cpu": sum(sample.on_cpu for sample in samples),
            "complete": complete / count, "named": named / count, "both": both / count, "depth": frames / count,
            "frames_named": named_frames / max(frames, 1),
            "ends": ends.most_common(5), "unnamed": unnamed.most_common(5)}
