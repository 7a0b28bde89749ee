#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""No chain of calls in the probes needs more stack than the oldest kernel's verifier allows. Newer
verifiers round less, so a chain that loads here may be refused there. Nothing is loaded."""
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402

# check_max_stack_depth of kernel/bpf/verifier.c in 5.10; later round_up_stack_depth rounds a frame of
# a JIT's program up to 16 only
MAX_STACK, MAX_FRAMES, ROUND = 512, 8, 32
OBJECTS = ("jankbpf", "jankbpf_plain", "calibrate")
CHAIN = """
int inner(void *of) { char room[%d]; asm volatile("" : : "r"(room) : "memory"); return room[0]; }
int outer(void *of) { char room[200]; asm volatile("" : : "r"(room) : "memory"); return room[0] + inner(room); }
"""
STT_FUNC, STT_SECTION, SHT_SYMTAB, SHT_REL = 2, 3, 2, 9
FRAME, CALL_CLOBBERED = 10, range(0, 6)
LDX, ST, STX = 1, 2, 3
MOV64, ADD64_IMM, CALL, LD_IMM64, PSEUDO_CALL = 0xbf, 0x07, 0x85, 0x18, 1
R_BPF_64_32 = 10


class Object:
    """The functions of a BPF object: {(section, offset): (name, depth in bytes, callees)}."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        at, = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3a)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size) for i in range(count)]
        self.symbols = list(self.read_symbols())
        self.relocated = dict(self.read_relocations())
        self.functions = {(section, value): (name, *self.walk(section, value, size))
                          for name, kind, section, value, size in self.symbols if kind == STT_FUNC}

    def read_symbols(self):
        _, _, _, _, at, size, link, *_ = next(s for s in self.sections if s[1] == SHT_SYMTAB)
        names = self.sections[link][4]
        for entry in range(at, at + size, 24):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self.data, entry)
            end = self.data.index(b"\0", names + name)
            yield self.data[names + name:end].decode(), info & 15, section, value, length

    def read_relocations(self):
        for _, kind, _, _, at, size, _, of, *_ in self.sections:
            for entry in range(at, at + size if kind == SHT_REL else at, 16):
                offset, info = struct.unpack_from("<QQ", self.data, entry)
                if info & 0xffffffff == R_BPF_64_32:
                    yield (of, offset), self.symbols[info >> 32]

    def callee(self, section, at, imm):
        if (section, at) not in self.relocated:
            return section, at + (imm + 1) * 8
        _, kind, of, value, _ = self.relocated[section, at]
        return of, (imm + 1) * 8 if kind == STT_SECTION else value

    def walk(self, section, start, size):
        """The lowest address below the frame that a function uses, and the functions that it calls."""
        base, at = self.sections[section][4], start
        depth, callees, offsets = 0, set(), {FRAME: 0} # registers that point into the frame
        while at < start + size:
            code, regs, off, imm = struct.unpack_from("<BBhi", self.data, base + at)
            to, of, kind = regs & 15, regs >> 4, code & 7
            if code == MOV64 and of in offsets:
                offsets[to] = offsets[of]
            elif code == ADD64_IMM and to in offsets:
                offsets[to] += imm
                depth = max(depth, -offsets[to])
            elif kind in (ST, STX):
                depth = max(depth, -(offsets[to] + off)) if to in offsets else depth
            elif code == CALL:
                for reg in CALL_CLOBBERED:
                    offsets.pop(reg, None)
                if of == PSEUDO_CALL:
                    callees.add(self.callee(section, at, imm))
            else:
                if kind == LDX and of in offsets:
                    depth = max(depth, -(offsets[of] + off))
                offsets.pop(to, None)
            offsets[FRAME] = 0
            at += 16 if code == LD_IMM64 else 8
        return depth, callees

    def deepest(self, at):
        """(bytes, [frame, ...]) of the chain of calls from a function that needs most."""
        name, depth, callees = self.functions[at]
        below, chain = max(map(self.deepest, callees), default=(0, []))
        return -(-max(depth, 1) // ROUND) * ROUND + below, [f"{name} {depth}", *chain]

    def chains(self):
        """The deepest chain of each program."""
        called = {at for *_, callees in self.functions.values() for at in callees}
        return [self.deepest(at) for at in self.functions if at not in called]


def too_deep(chains):
    return [f"{size} bytes: " + ", ".join(chain) for size, chain in chains if size > MAX_STACK or len(chain) > MAX_FRAMES]


def check_seeded(tap, room, deep):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.o")
        subprocess.run(["clang", "--target=bpf", "-O1", "-fno-inline", "-w", "-c", "-x", "c", "-", "-o", path],
                       input=CHAIN % room, text=True, check=True)
        chains = Object(path).chains()
        tap.check(bool(too_deep(chains)) == deep, f"200 and {room} bytes: {'too much' if deep else 'enough room'}", chains)


def main():
    tap = live.Tap()
    for folder in ("", "arm64"):
        for name in OBJECTS:
            path = os.path.join(ROOT, ".output", folder, name + ".bpf.o")
            what = f"{os.path.join(folder, name)}: each chain of calls fits in {MAX_STACK} bytes"
            if not os.path.exists(path):
                tap.skip(what, "not built")
                continue
            chains = Object(path).chains()
            wrong = too_deep(chains)
            tap.check(not wrong, what, *wrong)
            tap.note("the deepest has {} bytes: {}".format(*max(chains)))
    check_seeded(tap, 288, False)
    check_seeded(tap, 290, True)
    tap.end()


main()
