#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hostile target programs: mapped files that are not ELF, and invalid perf maps."""
import os
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok, skip

BACKENDS = ("kernel", "uprobe")
RSS_MAX_KB = 60 * 1024
# count_down(rdi): mov %rdi,%rax; dec %rax; jne; ret
COUNT_DOWN = bytes.fromhex("4889f848ffc875fbc3")
CODE_AT = 4096
TIMEOUT = 20
NOBODY = 65534
JIT_LOADS = 16000
MAP_BLOCKS = 4  # the map is read while they are named


def named(result, function, module=None):
    return [f for b in result.blocks() for s in b["samples"] for f in s["stack"]
            if f.get("function") == function and (not module or f.get("module", "").endswith(module))]


def code_file(name, head=b""):
    path = bad.scratch(name)
    with open(path, "wb") as file:
        file.write(head[:CODE_AT].ljust(CODE_AT, b"\0") + COUNT_DOWN.ljust(CODE_AT, b"\0"))
    return path


def elf_header(**fields):
    """Copies of a shared object, each with something wrong."""
    values = {"phoff": 64, "shoff": 64 + 56, "phnum": 1, "shnum": 8, "shstrndx": 1, "shentsize": 64, "phentsize": 56}
    values.update(fields)
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, values["phoff"], values["shoff"], 0, 64,
                       values["phentsize"], values["phnum"], values["shentsize"], values["shnum"], values["shstrndx"])


def section(kind, offset, size, link=2, entsize=24, addr=0):
    return struct.pack("<IIQQQQIIQQ", 1, kind, 0, addr, offset, size, link, 0, 8, entsize)


def load(offset=0, vaddr=0, size=8192):
    return struct.pack("<IIQQQQQQ", 1, 5, offset, vaddr, vaddr, size, size, 4096)


def hostile_elves():
    huge = 0xFFFFFFFFFFFFFFF0
    symtab, strtab, dynamic, note = 2, 3, 6, 7
    good = elf_header()
    yield "no ELF at all", b"#!/bin/sh\n"
    yield "a header alone", good
    yield "a header cut short", good[:40]
    yield "section headers beyond the end", elf_header(shoff=1 << 40)
    yield "section headers that wrap around", elf_header(shoff=huge)
    yield "program headers that wrap around", elf_header(phoff=huge, phnum=0xFFFF)
    yield "65535 sections of no size", elf_header(shnum=0xFFFF, shentsize=0)
    yield "a name section beyond the end", elf_header(shstrndx=0xFFFE)
    for what, kind, offset, size, entsize in (
            ("a huge symbol table", symtab, 512, 1 << 62, 24), ("symbols that wrap around", symtab, huge, 64, 24),
            ("symbols of size 0", symtab, 512, 480, 0), ("symbols of size 1", symtab, 512, 480, 1),
            ("a string table as symbols", strtab, 0, 8192, 24), ("a dynamic table of garbage", dynamic, 0, 8192, 16),
            ("a note of garbage", note, 64, 8000, 0)):
        yield what, good + load() + section(0, 0, 0) + section(strtab, 0, 64) + section(strtab, 0, 1 << 63) + b"".join(
            section(kind, offset, size, entsize=entsize) for _ in range(5))
    names = struct.pack("<IBBHQQ", 0xFFFFFFF0, 2, 0, 1, 4096, 4096) * 100
    yield "names beyond the string table", (good + load() + section(0, 0, 0) + section(strtab, 0, 64) + section(
        strtab, 0, 64) + section(symtab, 1024, len(names))).ljust(1024, b"\0") + names
    yield "a segment with wrong values", good + load(huge, huge, huge)


def test_hostile_elves():
    if os.uname().machine != "x86_64":
        return skip("hostile ELF files", "the code in them is x86-64's")
    wrong, seen = [], 0
    for what, head in hostile_elves():
        for backend in BACKENDS:
            process = bad.target("code", code_file("libc.so.6", head))
            result = bad.trace("--json", "-t", "10ms", "-n", "2", "--backend", backend, "-p", process.pid,
                               seconds=TIMEOUT)
            bad.end(process)
            modules = named_modules(result) if result.status == 0 else []
            seen += "libc.so.6" in modules
            if result.status != 0 or len(result.blocks()) != 2 or not bad.exact(result.blocks()):
                wrong.append((what, backend, str(result)[:600]))
    ok(not wrong and seen, f"hostile ELF files mapped as libc.so.6 ({seen} were in a stack)", wrong)
    return None


def named_modules(result):
    return {os.path.basename(f.get("module", "")) for b in result.blocks() for s in b["samples"] for f in s["stack"]}


def maps_of_perf(pid):
    """Hostile content of /tmp/perf-PID.map."""
    path = f"/tmp/perf-{pid}.map"

    def write(data):
        with open(path, "wb") as file:
            file.write(data)

    yield "garbage", lambda: write(os.urandom(1 << 20))
    yield "a line of 8 MB", lambda: write(b"0 ffffffffffff " + b"x" * (8 << 20))
    yield "a million lines", lambda: write(b"".join(b"%x 10 f%d\n" % (i << 4, i) for i in range(1000000)))
    yield "ten million tiny lines", lambda: write(b"".join(b"%x 1 a\n" % (i & 0xfff) for i in range(4096)) * 2500)
    yield "ranges that wrap around", lambda: write(b"ffffffffffffffff ffffffffffffffff all\n0 ffffffffffffffff all\n" * 99)
    yield "4 GB of nothing", lambda: (write(b""), os.truncate(path, 4 << 30))
    yield "a FIFO", lambda: os.mkfifo(path)
    yield "a directory", lambda: os.mkdir(path)
    yield "a symlink to /etc/shadow", lambda: os.symlink("/etc/shadow", path)
    yield "a symlink to itself", lambda: os.symlink(path, path)
    yield "a symlink to /dev/zero", lambda: os.symlink("/dev/zero", path)
    yield "another user's", lambda: (write(b"0 ffffffffffffff fake\n"), os.chown(path, 65534, 65534))


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def test_hostile_perf_maps():
    if os.uname().machine != "x86_64":
        return skip("hostile perf maps", "the code for it is x86-64's")
    process = bad.target("code", code_file("[jit]"))
    path = f"/tmp/perf-{process.pid}.map"
    with open("/etc/shadow", encoding="utf-8") as file:
        secret = file.readline().split(":")[0]
    for what, make in maps_of_perf(process.pid):
        make()
        try:
            tracer = bad.Tracer("--json", "-t", "10ms", "-p", process.pid)
            bad.wait_for(lambda tracer=tracer: tracer.stdout().count(b"\n") >= MAP_BLOCKS, TIMEOUT)
            rss = bad.rss_kb(tracer.pid)
            result = tracer.stop(seconds=TIMEOUT)
        finally:
            remove(path)
        fake = [f for f in named(result, "fake") + named(result, secret)]
        ok(result.status == 0 and result.blocks() and bad.exact(result.blocks()) and rss < RSS_MAX_KB and not fake,
           f"a perf map that is {what}: {rss} KiB", result)
    bad.end(process)
    return None


def jit_record(kind, body):
    return struct.pack("<IIQ", kind, 16 + len(body), 1) + body


def jit_load(addr, size, name):
    return jit_record(0, struct.pack("<IIQQQQ", 1, 1, addr, addr, size, 0) + name + b"\0")


def jit_moves(count):
    """`count` CODE_MOVE records within a range of loaded code, from one half to the other."""
    return b"".join(jit_record(1, struct.pack("<IIQQQQQ", 1, 1, 0, 0x10000000 + 16 * (i % JIT_LOADS),
                                              0x20000000 + 16 * (i % JIT_LOADS), 16, 0)) for i in range(count))


def test_hostile_jitdump():
    """Each CODE_MOVE is cheap, however many pieces of code there are. What is too much for one read
    is read later."""
    if os.uname().machine != "x86_64":
        return skip("a hostile jitdump", "the code in it is x86-64's")
    work = bad.scratch("jit")
    os.mkdir(work)
    os.chmod(bad.SCRATCH, 0o755)
    shutil.copy(bad.TARGET, f"{work}/target")
    path = f"{work}/jit-1.dump"
    skipped = jit_record(99, (bytes(CODE_AT - 56) + COUNT_DOWN).ljust(2 * CODE_AT - 56, b"\0"))
    with open(path, "wb") as file:
        file.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 0, 0) + skipped)
        file.write(b"".join(jit_load(0x10000000 + 16 * i, 16, b"f") for i in range(JIT_LOADS)) + jit_moves(800))
    os.chown(path, 65534, 65534)
    process = bad.target("--reuid", 65534, "--clear-groups", f"{work}/target", "code", path, exe="setpriv")
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
        code = next(int(line.split("-")[0], 16) for line in file if "jit-1.dump" in line) + CODE_AT
    victim = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "10ms", "-p", f"{process.pid},{victim.pid}")
    bad.wait_for(lambda: b'"pid":%d,' % process.pid in tracer.stdout(), TIMEOUT)
    with open(path, "ab") as file:  # 5 MB more, then the name of the code
        file.write(jit_moves(80000) + jit_load(code, 16, b"found_at_last"))
    before = len(tracer.stdout())
    ok(bad.wait_for(lambda: b'"pid":%d,' % victim.pid in tracer.stdout()[before:], TIMEOUT),
       "a hostile jitdump: blocks of another program come meanwhile", tracer.stderr())
    ok(bad.wait_for(lambda: b"found_at_last" in tracer.stdout(), 2 * TIMEOUT), "a hostile jitdump: all of it is read in the end",
       tracer.stderr())
    with open(path, "ab") as file:
        file.write(jit_moves(80000))
    result = tracer.stop(seconds=TIMEOUT)
    bad.end(process, victim)
    ok(result.status == 0 and bad.exact(result.blocks()), "a hostile jitdump: ended while there is more to read", result)
    return None


def other_user(work, code):
    """A process of nobody that runs `code`, a file; and the address of its function."""
    program = f"{work}/target"
    process = bad.target("--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", program, "code", code, exe="setpriv")
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
        begin = next(int(line.split("-")[0], 16) for line in file if line.rstrip("\n").endswith(code))
    return process, begin + CODE_AT


def as_nobody(*words):
    subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *words], check=True)


def test_other_users_link():
    """A process of another user cannot make us read a file for it: neither through a symbolic link,
    nor through a hard link, nor by a file that root left there."""
    if os.uname().machine != "x86_64":
        return skip("another user's links", "the code for it is x86-64's")
    work = bad.scratch("other")
    os.mkdir(work)
    os.chmod(bad.SCRATCH, 0o755)
    shutil.copy(bad.TARGET, f"{work}/target")
    code = code_file("code")
    os.chmod(code, 0o644)

    def give(secret, path):
        shutil.copy(secret, path)
        os.chown(path, NOBODY, NOBODY)

    ways = (("a file of its own", give, True, ""),
            ("a symbolic link to root's file", lambda secret, path: as_nobody("ln", "-s", secret, path), False,
             "symbolic link"),
            ("a hard link to root's file", os.link, False, "does not belong"),
            ("root's file", shutil.move, False, "does not belong"))
    for what, put, read, message in ways:
        process, function = other_user(work, code)
        path, secret = f"/tmp/perf-{process.pid}.map", f"/tmp/secret-{process.pid}"
        with open(secret, "w", encoding="utf-8") as file:
            file.write(f"{function:x} 10 root_only_secret\n")
        os.chmod(secret, 0o600)
        try:
            put(secret, path)
            result = bad.trace("--json", "-t", "10ms", "-n", "2", "-p", process.pid, seconds=TIMEOUT)
        finally:
            for name in (path, secret):
                remove(name)
        bad.end(process)
        ok(result.status == 0 and len(result.blocks()) == 2 and ("root_only_secret" in result.out) == read,
           f"another user's perf map that is {what}: {'read' if read else 'not read'}", result)
        ok(message in result.err and (read or result.summary()["lost"].get("files_unread") == 1),
           f"another user's perf map that is {what}: the message and the loss", result)
    return None


def test_perf_map():
    """A valid perf map is used."""
    if os.uname().machine != "x86_64":
        return skip("a perf map", "the code for it is x86-64's")
    with open(bad.scratch("anon"), "wb") as file:
        file.write(bytes(CODE_AT) + COUNT_DOWN.ljust(CODE_AT, b"\0"))
    process = bad.target("code", bad.scratch("anon"), "anonymous")
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
        begin = [int(line.split("-")[0], 16) for line in file if " rwxp " in line]
    path = f"/tmp/perf-{process.pid}.map"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{begin[0] + CODE_AT:x} 10 LazyCompile:~slow \"x\" \x1b[1m app.js:7\n")
    result = bad.trace("--json", "-t", "10ms", "-n", "2", "-p", process.pid, seconds=TIMEOUT)
    os.unlink(path)
    bad.end(process)
    names = {f.get("function", "") for b in result.blocks() for s in b["samples"] for f in s["stack"]}
    ok(any('slow "x"' in name for name in names), "a good perf map names the code", f"{names} {result}")
    return None


def test_control_characters():
    """A thread's name with U+009B, which a terminal obeys as it does ESC [: replaced wherever it
    goes."""
    csi = b"\xc2\x9b"
    process = bad.start([bad.TARGET, "loop", "40"], stdout=subprocess.PIPE, env={"TARGET_COMM": "a" + csi.decode() + "2Jb"})
    process.stdout.readline()
    outputs = {}
    for form in ("json", "text"):
        folder = bad.scratch(f"records-{form}")
        result = bad.trace("--format", form, "-o", folder, "-v", "-t", "10ms", "-n", "1", "-p", process.pid,
                           seconds=3 * TIMEOUT)
        outputs[form] = result.raw
        outputs[form + ", stderr"] = result.err.encode()
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                outputs[f"{form}, {name}"] = file.read()
    bad.end(process)
    ok(b"a?2Jb" in outputs["json"] and b"a?2Jb" in outputs["text"], "U+009B in a thread's name is replaced", outputs)
    bare = [what for what, text in outputs.items() if csi in text or csi in os.fsencode(what)]
    ok(len(outputs) > 6 and not bare, "U+009B is in no output and in no file's name", bare)


def cgroup_mount():
    """Of version 2's hierarchy, if cgroups can be made there; or None."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        found = [line.split()[1] for line in file if line.split()[2] == "cgroup2"]
    return found[0] if found and os.access(found[0], os.W_OK) else None


def container_of(path, pid):
    """The identity of the container in the blocks of a process that is moved to this cgroup."""
    with open(f"{path}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(pid))
    result = bad.trace("--json", "-t", "10ms", "-n", "1", "-p", pid, seconds=3 * TIMEOUT)
    return {(b.get("container"), b.get("names_uid")) for b in result.of("block")}


def test_forged_container():
    """A user with a cgroup of its own gives a child the name of a container: the record says who
    could have invented it."""
    mount = cgroup_mount()
    if not mount:
        return skip("a forged container", "no cgroups can be made here")
    container = "3f8a2c1b9d7e" + "0" * 52
    top = f"{mount}/jankbpf-test-{os.getpid()}"
    own, roots = f"{top}/delegated", f"{top}/docker-{container}.scope"
    process = bad.target("loop", 40)
    try:
        for path in (top, own, roots):
            os.mkdir(path)
        os.chown(own, NOBODY, NOBODY)
        as_nobody("mkdir", f"{own}/docker-{container}.scope")
        ok(container_of(roots, process.pid) == {(container, None)}, "root's container: nobody else could invent its name")
        ok(container_of(f"{own}/docker-{container}.scope", process.pid) == {(container, NOBODY)},
           "a forged container: its inventor is in the record")
    finally:
        bad.end(process)
        for path in (f"{own}/docker-{container}.scope", own, roots, top):
            bad.wait_for(lambda path=path: not os.path.isdir(path) or not remove_cgroup(path))
    return None


def remove_cgroup(path):
    """True while it is busy: its last process has just ended."""
    try:
        os.rmdir(path)
    except OSError:
        return True
    return False


bad.need_tracing()
test_forged_container()
test_control_characters()
test_hostile_elves()
test_perf_map()
test_other_users_link()
test_hostile_perf_maps()
test_hostile_jitdump()
bad.done()
