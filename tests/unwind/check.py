#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tests/unwind/check.py WALKER FOLDER…: walks the stacks of snapshots and prints a table.

A snapshot is a folder with maps.txt, regs.txt, stack.data or stack0.data …, the mapped files (also
as NAME.gz, or by links.txt), and output.txt, which has the expected frames. No such folder belongs to the project.

The code of most files of public snapshots was erased: it is zeros and ones. The walker asks whether
a call precedes a return address, so it is replaced by calls. The library of an archive without a directory is
cut out of it."""
import gzip, os, re, struct, subprocess, sys, tempfile

# The machine of 64 bits, bytes of an address, registers in the order of jank_abi.h.
MACHINES = {
    "x86_64": (62, 8, "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"),
    "x86": (62, 4, "eax edx ecx ebx esi edi ebp esp - - - - - - - - eip"),
    "arm64": (183, 8, " ".join(f"x{i}" for i in range(30)) + " lr sp pc"),
    "arm": (183, 4, " ".join(f"r{i}" for i in range(12)) + " ip sp lr - - - - - - - - - - - - - - - - sp pc"),
}
KINDS = {62: "x86_64", 3: "x86", 183: "arm64", 40: "arm"}
CALLS = {62: b"\xe8", 3: b"\xe8", 183: struct.pack("<I", 0xd63f0100), 40: struct.pack("<I", 0x47f047f0)}
RETURNS = {"x86_64": (1,), "x86": (1,), "arm64": (4,), "arm": (1, 2, 3, 4)} # Thumb addresses are odd there
ENDS = "unknown complete copy hole no-table astray deep".split()
FREE_PLACE = 0x10000000
SHF_EXECINSTR, SHT_NOBITS, PT_LOAD = 4, 8, 1


class Elf:
    """The parts of an ELF file that the comparison needs."""

    def __init__(self, data):
        self.loads, self.code = [], []
        self.ok = data[:4] == b"\x7fELF" and len(data) > 64
        if not self.ok:
            return
        wide = data[4] == 2
        self.machine = struct.unpack_from("<H", data, 18)[0]
        phoff, shoff = struct.unpack_from("<QQ" if wide else "<II", data, 0x20 if wide else 0x1c)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<4H", data, 0x36 if wide else 0x2a)
        for i in range(phnum):
            at = phoff + i * phentsize
            if wide:
                kind, _, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", data, at)
            else:
                kind, offset, vaddr, _, size = struct.unpack_from("<5I", data, at)
            if kind == PT_LOAD:
                self.loads.append((offset, vaddr, size))
        for i in range(shnum):
            at = shoff + i * shentsize
            if at + shentsize > len(data):
                return
            _, kind, flags, _, offset, size = struct.unpack_from("<IIQQQQ" if wide else "<6I", data, at)
            if flags & SHF_EXECINSTR and kind != SHT_NOBITS:
                self.code.append((offset, size))

    def vaddr(self, offset):
        for begin, vaddr, size in self.loads:
            if begin <= offset < begin + max(size, 4096):
                return offset - begin + vaddr
        return offset


def with_calls(data):
    elf = Elf(data)
    if not elf.ok or elf.machine not in CALLS:
        return data
    ret, call = bytearray(data), CALLS[elf.machine]
    for begin, size in elf.code:
        if set(data[begin:begin + size]) <= {0, 0xff}:
            ret[begin:begin + size] = (call * size)[:size]
        for run in re.finditer(rb"\0{256,}", data[begin:begin + size]):
            first, end = (run.start() + 3) & ~3, run.end() & ~3
            ret[begin + first:begin + end] = (call * size)[:end - first]
    return bytes(ret)


class Snapshot:
    def __init__(self, folder, work):
        self.folder, self.work, self.interprets, self.files, self.data = folder, work, None, {}, {}
        self.links = {}
        if os.path.exists(f"{folder}/links.txt"):
            for line in open(f"{folder}/links.txt"):
                if line.strip():
                    target, name = line.split()
                    self.links[name] = target
        self.read_maps()
        self.read_regs()
        self.expected, self.want_dex, self.jit_names = [], [], []
        for line in open(f"{folder}/output.txt"):
            self.expect(line)

    def read_regs(self):
        values = {}
        for line in open(f"{self.folder}/regs.txt"):
            name, _, value = line.partition(":")
            values[name.strip()] = int(value, 16)
        machines = [elf.machine for elf in map(Elf, self.data.values()) if elf.ok]
        self.kind = KINDS[machines[0] if machines else 40]
        self.machine, self.word, names = MACHINES[self.kind]
        self.regs = [values.get(name, 0) for name in names.split()]

    def content(self, name):
        """The content of a mapped file; None: the snapshot does not have it."""
        path = os.path.normpath(f"{self.folder}/{self.links.get(name, name)}")
        for to_open, path in ((open, path), (gzip.open, path + ".gz")):
            if os.path.isfile(path):
                with to_open(path, "rb") as f:
                    return f.read()
        return None

    def read_maps(self):
        self.maps = []
        for line in open(f"{self.folder}/maps.txt"):
            begin, end, perms, offset, name = re.match(
                r"(\w+)-(\w+) (\S+)\s+(\w+)\s+\S+ \S+\s*(.*)", line).groups()
            self.maps.append([int(begin, 16), int(end, 16), perms, int(offset, 16), name.strip()])
        for name in {m[4] for m in self.maps}:
            self.add_file(name)

    def add_file(self, name):
        first = min(m[3] for m in self.maps if m[4] == name)
        data, cut = self.content(name), 0
        if data is None and os.path.exists(f"{self.folder}/lib_mem.data") and name.endswith(".apk"):
            data, cut = open(f"{self.folder}/lib_mem.data", "rb").read()[8:], first # what memory had
        elif data and data[first:first + 4] == b"\x7fELF" and first and b"PK\5\6" not in data[-66000:]:
            data, cut = data[first:], first
        if data is None:
            return
        for m in self.maps:
            if m[4] == name:
                m[3] -= cut
        path = f"{self.work}/{'idle_' if self.is_idle(name) else ''}{name.replace('/', '_')}"
        with open(path, "wb") as f:
            f.write(with_calls(data))
        self.files[name], self.data[name] = path, data

    def memory(self):
        """ART's lists and their files. In one snapshot the files are where their methods' code was:
        they get another place, and their entries point to it."""
        data = {f: open(f"{self.folder}/{f}", "rb").read() for f in sorted(os.listdir(self.folder))
                if re.fullmatch(r"(descriptor|entry\d+|jit\d+)\.data", f)}
        moved = {}
        for f in data:
            at = struct.unpack_from("<Q", data[f])[0]
            if f.startswith("jit") and any(m[0] <= at < m[1] and "x" in m[2] and "anon" in m[4] for m in self.maps):
                moved[at] = FREE_PLACE + 0x10000 * len(moved)
                data[f] = struct.pack("<Q", moved[at]) + data[f][8:]
        for f in data:
            if f.startswith("entry") and moved:
                symfile = struct.unpack_from("<I", data[f], 16)[0]
                data[f] = data[f][:16] + struct.pack("<I", moved.get(symfile, symfile)) + data[f][20:]
        return data

    def is_idle(self, name):
        """One of two of ART's libraries, and not the one with the list that was recorded."""
        path = f"{self.folder}/descriptor.data"
        if not name.startswith("libart") or not os.path.exists(path):
            return False
        with open(path, "rb") as f:
            at = struct.unpack("<Q", f.read(8))[0]
        return not any(m[0] <= at < m[1] for m in self.maps if m[4] == name)

    def prepare(self):
        proc = f"{self.work}/proc/1"
        os.makedirs(f"{proc}/map_files")
        with open(f"{proc}/maps", "w") as f:
            for begin, end, perms, offset, name in self.maps:
                path, dev, inode = "", "00:00", 0
                if name in self.files:
                    st, path = os.stat(self.files[name]), self.files[name]
                    dev, inode = f"{os.major(st.st_dev):02x}:{os.minor(st.st_dev):02x}", st.st_ino
                    os.symlink(path, f"{proc}/map_files/{begin:x}-{end:x}")
                elif "anonymous" in name and os.path.exists(f"{self.folder}/descriptor.data"):
                    path = "[anon:dalvik-jit-code-cache]"
                elif "anonymous" not in name and not name.startswith(("[", "/dev/ashmem/dalvik-jit")):
                    path, inode = f"/nowhere/{name}", 1
                f.write(f"{begin:x}-{end:x} {perms} {offset:08x} {dev} {inode} {path}\n")
        with open(f"{self.work}/regs", "wb") as f:
            f.write(struct.pack(f"<{len(self.regs)}Q", *self.regs))

    def expect(self, line):
        """A frame as (name, address in its file); not one of its own: an interpreter's dex pc."""
        found = re.match(r"\s*#\d+ pc (\w+)\s+(\S+)(.*)", line)
        if not found:
            return
        pc, name, rest = int(found[1], 16), found[2], found[3]
        if ".dex" in name or name.endswith((".jar", ".vdex")) or (name == "<unknown>" and self.interprets):
            self.want_dex.append((len(self.expected) - 1, name, pc))
        elif name != "<unknown>" or not pc: # else the walk that made the list went astray
            self.expected.append((name.split("!")[0], pc))
            method = re.fullmatch(r" \((.*?)(\+\d+)?\)", rest)
            if "anonymous" in name and method:
                self.jit_names.append(method[1])
        self.interprets = re.search(r"terp", rest)

    def place(self, addr):
        """The address as expect gives it."""
        for begin, end, _, offset, name in self.maps:
            if begin <= addr < end:
                data = self.data.get(name)
                if data is None:
                    return name, addr - begin + (offset if name in self.files else 0)
                start = data[:offset + 4].rfind(b"\x7fELF") if data[:4] != b"\x7fELF" else 0
                elf = Elf(data[start:])
                return name, elf.vaddr(addr - begin + offset - start) if elf.ok else addr - begin
        return "<unknown>", addr

    def is_same(self, want, addr, is_leaf):
        name, rel = self.place(addr)
        if is_leaf:
            adjusts = (0, -1) if self.kind == "arm" else (0,)
        else: # the walker adds 1 to an interrupted address
            adjusts = {r + i for r in RETURNS[self.kind] + (0,) for i in (0, 1)}
        return name == want[0] and any(rel - a == want[1] for a in adjusts)

    def reachable(self):
        """The number of frames before one whose file is missing, or has no code. The leaf's is not needed."""
        for at, (name, pc) in enumerate(self.expected):
            data = self.data.get(name)
            no_code = data is None or (data[:2] != b"PK" and not Elf(data).loads)
            if no_code and name != "<unknown>" and "anonymous" not in name:
                return at or 1
        return len(self.expected)

    def walk(self, walker):
        self.prepare()
        stacks = sorted(f for f in os.listdir(self.folder) if re.fullmatch(r"stack\d?\.data", f))
        stacks = [f"{self.folder}/{f}" for f in stacks]
        if len(stacks) == 2 and not self.holds_sp(stacks[0]) and self.holds_sp(stacks[1]):
            stacks.reverse()
        bits = 39 if self.kind == "arm64" else 0 # Android's kernels
        memory = self.memory()
        for f in memory:
            with open(f"{self.work}/{f}", "wb") as file:
                file.write(memory[f])
        out = subprocess.run([walker, f"{self.work}/proc", str(self.machine), str(self.word),
                              str(bits), f"{self.work}/regs"] + stacks +
                             ["memory"] + [f"{self.work}/{f}" for f in memory], capture_output=True, text=True)
        if out.returncode:
            sys.exit(f"{self.folder}: the walker failed ({out.returncode}): {out.stderr}")
        lines = out.stdout.splitlines()
        self.addresses = [int(line, 16) for line in lines if re.fullmatch(r"[0-9a-f]+", line)]
        self.dex = [(int(index), int(pc, 16)) for index, pc in
                    (line.split()[1:] for line in lines if line.startswith("dex "))]
        self.names = [line[5:] for line in lines if line.startswith("name ")]
        self.end = next(line.split()[1:] for line in lines if line.startswith("end "))
        self.times = next(line.split()[1:] for line in lines if line.startswith("time "))

    def holds_sp(self, path):
        with open(path, "rb") as f:
            begin = struct.unpack("<Q", f.read(8))[0]
        sp = self.regs[31 if self.machine == 183 else 7]
        return begin <= sp < begin + os.path.getsize(path) - 8

    def dex_found(self):
        """The dex pcs that are right; another one counts against them."""
        found = {(index, *self.place(pc)) for index, pc in self.dex}
        return len(found & set(self.want_dex)) - len(found - set(self.want_dex))

    def jit_named(self):
        """Methods of JIT code with the name in output.txt, of those that have one and an entry; another name counts against
        them."""
        want = self.jit_names if self.memory() else []
        wrong = len(self.names) - len(want) if self.names != want else 0
        return len(want), sum(a == b for a, b in zip(self.names, want)) - max(wrong, 0)

    def compare(self):
        """Frames to find: all that the data can show; those found; others; dex pcs found."""
        want, found = self.expected[:self.reachable()], 0
        for at, addr in enumerate(self.addresses):
            if at >= len(want):
                return len(want), found, 0, self.dex_found() # the rest cannot be checked
            if not self.is_same(want[at], addr, at == 0):
                break
            found += 1
        return len(want), found, len(self.addresses) - found, self.dex_found()


def main():
    walker, totals, false = sys.argv[1], {}, 0
    folders = sorted({d for top in sys.argv[2:] for d, _, files in os.walk(top)
                      if {"maps.txt", "regs.txt", "output.txt"} <= set(files)})
    if not folders:
        print("check-unwind: no snapshots; give their folder: make check-unwind CORPUS=DIR")
        return
    top = os.path.commonpath([os.path.dirname(d) for d in folders])
    print(f"{'snapshot':44} machine frames found other dex  end       first ms  next us")
    for folder in folders:
        with tempfile.TemporaryDirectory() as work:
            snapshot = Snapshot(folder, work)
            snapshot.walk(walker)
            want, found, other, dex = snapshot.compare()
            end = ENDS[int(snapshot.end[0])]
            is_false = end == "complete" and found < len(snapshot.expected)
            false += is_false
            jit, named = snapshot.jit_named()
            total = totals.setdefault(snapshot.kind, [0, 0, 0, 0, 0, 0])
            for i, value in enumerate((want, found, len(snapshot.want_dex), dex, jit, named)):
                total[i] += value
            print(f"{os.path.relpath(folder, top):44} {snapshot.kind:7} {want:6} {found:5} {other:5}"
                  f" {dex}/{len(snapshot.want_dex)}  {end:9} {int(snapshot.times[0]) / 1e6:8.1f} {int(snapshot.times[1]) / 1e3:8.1f}"
                  f"{' FALSE' if is_false else ''}")
            if os.environ.get("SHOW") and os.environ["SHOW"] in folder:
                for at, addr in enumerate(snapshot.addresses):
                    print(f"   {addr:x}", *snapshot.place(addr), snapshot.expected[at:at + 1], file=sys.stderr)
                print(snapshot.end, snapshot.names, snapshot.jit_names, file=sys.stderr)
    for kind, (want, found, dex, dex_found, jit, named) in totals.items():
        print(f"{kind}: {found} of {want} frames ({100 * found / want:.1f} %), {dex_found} of {dex} dex pcs, "
              f"{named} of {jit} frames of JIT code with a name")
    print(f"complete without all frames: {false}")


main()
