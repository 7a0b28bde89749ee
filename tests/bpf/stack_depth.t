#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Calls in the probes that an older kernel's verifier refuses, while this one's does not: chains that
need too much stack, and global functions in uprobes. Nothing is loaded."""
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
__attribute__((noinline)) int inner(void *of) { char room[%d]; asm volatile("" : : "r"(room) : "memory"); return room[0]; }
__attribute__((noinline)) int outer(void *of) { char room[200]; asm volatile("" : : "r"(room) : "memory"); return room[0] + inner(room); }
"""
UPROBE = """
%s __attribute__((noinline)) int callee(void) { asm volatile(""); return 1; }
__attribute__((section("uprobe"))) int probe(void *ctx) { return callee(); }
"""
STT_FUNC, STT_SECTION, SHT_SYMTAB, SHT_REL = 2, 3, 2, 9
STB_LOCAL, STV_DEFAULT = 0, 0 # libbpf makes a hidden function a static one
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
                          for name, kind, section, value, size, _ in self.symbols if kind == STT_FUNC}
        self.globals = {(section, value) for _, kind, section, value, _, is_global in self.symbols
                        if kind == STT_FUNC and is_global}

    def read_symbols(self):
        _, _, _, _, at, size, link, *_ = next(s for s in self.sections if s[1] == SHT_SYMTAB)
        for entry in range(at, at + size, 24):
            name, info, other, section, value, length = struct.unpack_from("<IBBHQQ", self.data, entry)
            is_global = info >> 4 != STB_LOCAL and other & 3 == STV_DEFAULT
            yield self.name_in(link, name), info & 15, section, value, length, is_global

    def name_in(self, table, offset):
        at = self.sections[table][4] + offset
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section_of(self, at):
        names, = struct.unpack_from("<H", self.data, 0x3e)
        return self.name_in(names, self.sections[at[0]][0])

    def read_relocations(self):
        for _, kind, _, _, at, size, _, of, *_ in self.sections:
            for entry in range(at, at + size if kind == SHT_REL else at, 16):
                offset, info = struct.unpack_from("<QQ", self.data, entry)
                if info & 0xffffffff == R_BPF_64_32:
                    yield (of, offset), self.symbols[info >> 32]

    def callee(self, section, at, imm):
        if (section, at) not in self.relocated:
            return section, at + (imm + 1) * 8
        _, kind, of, value, *_ = self.relocated[section, at]
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

    def programs(self):
        called = {at for *_, callees in self.functions.values() for at in callees}
        return [at for at in self.functions if at not in called]

    def chains(self):
        """The deepest chain of each program."""
        return [self.deepest(at) for at in self.programs()]

    def reached(self, at):
        """All that a function calls, and what that calls."""
        callees = self.functions[at][2]
        return callees.union(*map(self.reached, callees))

    def global_in_uprobes(self):
        """Calls that 6.12 refuses: uprobes run with preemption disabled (bpf/preempt.bpf.h)."""
        return sorted(f"{self.functions[at][0]} calls {self.functions[to][0]}"
                      for at in self.programs() if self.section_of(at) == "uprobe"
                      for to in self.reached(at) & self.globals)


def too_deep(chains):
    return [f"{size} bytes: " + ", ".join(chain) for size, chain in chains if size > MAX_STACK or len(chain) > MAX_FRAMES]


def check_object(tap, folder, name):
    path = os.path.join(ROOT, ".output", folder, name + ".bpf.o")
    name = os.path.join(folder, name)
    whats = (f"{name}: each chain of calls fits in {MAX_STACK} bytes", f"{name}: no uprobe calls a global function")
    if not os.path.exists(path):
        for what in whats:
            tap.skip(what, "not built")
        return
    bpf_object = Object(path)
    chains = bpf_object.chains()
    wrong = too_deep(chains)
    tap.check(not wrong, whats[0], *wrong)
    tap.note("the deepest has {} bytes: {}".format(*max(chains)))
    wrong = bpf_object.global_in_uprobes()
    tap.check(not wrong, whats[1], *wrong)


def compiled(source):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "seeded.o")
        subprocess.run(["clang", "--target=bpf", "-O1", "-w", "-c", "-x", "c", "-", "-o", path],
                       input=source, text=True, check=True)
        return Object(path)


def check_seeded(tap):
    for room, deep in ((288, False), (290, True)):
        chains = compiled(CHAIN % room).chains()
        tap.check(bool(too_deep(chains)) == deep, f"200 and {room} bytes: {'too much' if deep else 'enough room'}", chains)
    for kind, wrong in (("static", []), ("", ["probe calls callee"])):
        tap.check(compiled(UPROBE % kind).global_in_uprobes() == wrong,
                  f"a uprobe's {kind or 'global'} function is {'refused' if wrong else 'no fault'}")


def main():
    tap = live.Tap()
    for folder in ("", "arm64"):
        for name in OBJECTS:
            check_object(tap, folder, name)
    check_seeded(tap)
    tap.end()


main()
