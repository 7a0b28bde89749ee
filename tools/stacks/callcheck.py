# SPDX-License-Identifier: GPL-2.0-or-later
"""Is a stack possible? The address of each frame but the innermost must come after a call. If the
call names its target, that must be the next inner frame, a linker's stub, or a function that jumps
there. So a missing or invented frame shows as a call to somewhere else."""
import bisect
import collections
import functools
import os
import re
import struct
import subprocess


JUMP = re.compile(r"^\s*([0-9a-f]+):\s+(?:notrack |bnd )?j\w+\s+([0-9a-f]+) <")
INDIRECT_JUMP = re.compile(r":\s+(?:notrack |bnd )?jmp\s+\*")
TAIL_DEPTH = 5
TAIL_SZ = 1 << 16  # of a function that is searched for jumps


class Image:
    """A file of code: its segments and functions, including those of a separate debug file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:5] != b"\x7fELF\x02" or self.data[18:20] != b"\x3e\x00":
            raise ValueError("not of x86-64")
        self.segments = list(self.loads())
        self.by_name, sizes = collections.defaultdict(set), {}
        for source in (path, self.debug_file()):
            for value, size, name in functions_of(source) if source else ():
                self.by_name[name].add(value)
                sizes[value] = max(size, sizes.get(value, 0))
        self.starts = sorted(sizes)
        self.sizes = sizes

    def loads(self):
        start, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for number in range(count):
            kind, _, offset, vaddr, _, file_sz = struct.unpack_from("<IIQQQQ", self.data, start + number * size)
            if kind == 1:
                yield offset, vaddr, file_sz

    def debug_file(self):
        notes = subprocess.run(["readelf", "-n", self.path], capture_output=True, text=True, check=False).stdout
        found = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", notes)
        path = f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug" if found else ""
        return path if os.path.exists(path) else None

    def vaddr(self, file_offset):
        return next((file_offset - offset + vaddr for offset, vaddr, size in self.segments
                     if offset <= file_offset < offset + size), None)

    def bytes_before(self, vaddr, count):
        for offset, begin, size in self.segments:
            if begin + count <= vaddr <= begin + size:
                return self.data[vaddr - begin + offset - count:vaddr - begin + offset]
        return b""

    def function_at(self, vaddr):
        """The function's begin, or None: it is in no known function (a stub)."""
        at = bisect.bisect_right(self.starts, vaddr) - 1
        if at < 0 or vaddr >= self.starts[at] + max(self.sizes[self.starts[at]], 1):
            return None
        return self.starts[at]


def functions_of(path):
    listing = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=False).stdout
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC", "NOTYPE") and words[6] != "UND" and int(words[1], 16):
            size = int(words[2], 16) if words[2].startswith("0x") else int(words[2])
            yield int(words[1], 16), size, words[7].partition("@")[0]


@functools.lru_cache(None)
def image_of(path):
    try:
        return Image(path) if os.path.isabs(path) else None
    except (OSError, ValueError, struct.error):
        return None


@functools.lru_cache(None)
def demangled(path):
    """The functions of a file, by the names that tools print."""
    image = image_of(path)
    names = list(image.by_name)
    found = collections.defaultdict(set)
    for options in ((), ("-p",)):
        plain = subprocess.run(["c++filt", *options], input="\n".join(names), capture_output=True, text=True, check=False).stdout
        for name, pretty in zip(names, plain.split("\n")):
            found[pretty] |= image.by_name[name]
    return found


def places(frame):
    """The places of a frame in its file: by name there may be more than one."""
    image = image_of(frame.module)
    if not image or frame.offset is None:
        return set()
    if not frame.function:
        vaddr = image.vaddr(frame.offset)
        return set() if vaddr is None else {vaddr}
    known = image.by_name.get(frame.function) or demangled(frame.module).get(frame.function, ())
    return {begin + frame.offset for begin in known}


def call_before(image, vaddr):
    """The target of the call that ends there: a number, or "indirect"; None: there is no call."""
    code = image.bytes_before(vaddr, 8)
    if len(code) >= 5 and code[-5] == 0xe8:
        return (vaddr + struct.unpack("<i", code[-4:])[0]) & ((1 << 64) - 1)
    for length in range(2, 8):
        if len(code) >= length and code[-length] == 0xff and (code[-length + 1] >> 3) & 7 == 2:
            return "indirect"
    return "syscall" if code[-2:] == b"\x0f\x05" else None


@functools.lru_cache(None)
def jumps_of(path, begin):
    """The places outside itself to which a function jumps; True among them: its code does not say
    where."""
    image = image_of(path)
    size = min(image.sizes.get(begin, 0) or 64, TAIL_SZ)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={begin:#x}",
                              f"--stop-address={begin + size:#x}", path], capture_output=True, text=True, check=False).stdout
    found = set()
    for line in listing.splitlines():
        match = JUMP.match(line)
        if match and not begin <= int(match[2], 16) < begin + size:
            found.add(int(match[2], 16))
        elif INDIRECT_JUMP.search(line):
            found.add(True)
    return frozenset(found)


def leads_to(image, target, callee_image, callee):
    """Does a call of target reach the function with the address callee?"""
    wanted = callee_image.function_at(callee)
    seen, level = set(), {target}
    for _ in range(TAIL_DEPTH):
        beyond = set()
        for at in level - seen:
            begin = image.function_at(at)
            if begin is None:
                return "stub" # the linker's: to anywhere
            if callee_image is image and (begin == wanted or wanted is None and abs(callee - begin) < TAIL_SZ):
                return "direct"
            jumps = jumps_of(image.path, begin)
            if True in jumps:
                return "jump"
            beyond |= jumps
        seen, level = seen | level, beyond
    return None


@functools.lru_cache(None)
def judge_link(callee, caller):
    """Two neighbours in a stack: how one calls the other; "wrong"; "unknown": not available."""
    image, callee_image = image_of(caller.module), image_of(callee.module)
    verdict = "unknown"
    # a runtime writes other addresses there than return addresses of calls
    if caller.function and "goexit" in caller.function:
        return "first"
    for place in places(caller):
        call = call_before(image, place)
        if call is None or call == "syscall":
            verdict = "wrong"
            continue
        if call == "indirect":
            return "indirect"
        if not callee_image or not places(callee):
            return "unknown"
        found = next(filter(None, (leads_to(image, call, callee_image, at) for at in places(callee))), None)
        if found:
            return found
        verdict = "wrong"
    return verdict


def physical(sample):
    return [frame for frame in sample.frames if not frame.inlined and not frame.language]


def links(sample):
    """Neighbours in a stack; native frames with an interpreter's own frames between them are
    none."""
    own = [frame for frame in sample.frames if not frame.inlined]
    return [(callee, caller) for callee, caller in zip(own, own[1:]) if not callee.language and not caller.language]


def check(samples):
    """The number of links, of which kind, and the wrong ones."""
    kinds, wrong, bad_samples = collections.Counter(), collections.Counter(), 0
    for sample in samples:
        verdicts = [(judge_link(callee, caller), callee, caller) for callee, caller in links(sample)]
        kinds.update(verdict for verdict, _, _ in verdicts)
        bad = [(callee, caller) for verdict, callee, caller in verdicts if verdict == "wrong"]
        wrong.update(f"{tell(callee)} <- {tell(caller)}" for callee, caller in bad)
        bad_samples += bool(bad)
    return {"links": sum(kinds.values()), "wrong": kinds.get("wrong", 0), "bad_samples": bad_samples, "kinds": dict(kinds),
            "worst": wrong.most_common(6)}


def tell(frame):
    return f"{frame.function or '?'}+{frame.offset or 0:#x} ({os.path.basename(frame.module)})"
