# SPDX-License-Identifier: GPL-2.0
"""A file system whose daemon can leave chosen requests unanswered. It speaks FUSE's protocol
without a library.

A caller of an unanswered request sleeps until the connection ends. The connection ends with the
daemon; leaving `with Fuse(...)` ends it.
"""
import ctypes
import os
import signal
import stat
import struct
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, INIT, OPENDIR, INTERRUPT = 1, 2, 3, 14, 15, 17, 18, 26, 27, 36
BATCH_FORGET, RELEASEDIR, ACCESS = 42, 29, 34
ENOENT, ENOSYS = 2, 38
IN_HEADER = struct.Struct("<IIQQIIII")
ROOT, FIRST = 1, 2
VALID_S = 0  # nothing is cached: each access is a request


def mount(path, fd):
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40755,user_id=0,group_id=0,allow_other"
    if libc.mount(b"stuck", path.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {path}: {os.strerror(ctypes.get_errno())}")


class Daemon:
    """files: name -> bytes. hangs(pid, comm, name, opcode): True leaves this request unanswered."""

    def __init__(self, fd, files, hangs):
        self.fd, self.hangs = fd, hangs
        self.names = dict(enumerate(files, FIRST))
        self.data = {node: files[name] for node, name in self.names.items()}

    def attributes(self, node):
        size = len(self.data.get(node, b""))
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """(error, payload), or None: no reply."""
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0) + bytes(28)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
            found = [n for n, known in self.names.items() if known == name]
            if not found:
                return ENOENT, b""
            return 0, struct.pack("<QQQQII", found[0], 0, VALID_S, VALID_S, 0, 0) + self.attributes(found[0])
        if opcode == GETATTR:
            return 0, struct.pack("<QII", VALID_S, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, self.data[node][offset:offset + size]
        if opcode in (RELEASE, RELEASEDIR):
            return 0, b""
        if opcode == STATFS:
            return 0, bytes(80)
        return ENOSYS, b""

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except InterruptedError:
                continue
            except OSError:
                return
            length, opcode, unique, node, _, _, pid, _ = IN_HEADER.unpack_from(request)
            if opcode not in (FORGET, BATCH_FORGET, INTERRUPT, INIT) and self.hangs(
                    pid, comm_of(pid), self.names.get(node, ""), opcode):
                continue
            reply = self.answer(opcode, node, request[IN_HEADER.size:length])
            if reply:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(reply[1]), -reply[0], unique) + reply[1])


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


class Fuse:
    """Mounts at path, which it creates. A child process serves the mount until the end."""

    def __init__(self, path, files, hangs):
        self.path = path
        os.makedirs(path, exist_ok=True)
        fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount(path, fd)
        self.pid = os.fork()
        if not self.pid:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                Daemon(fd, files, hangs).serve()
            finally:
                os._exit(0)
        os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends the connection, which wakes every process that waits for an answer."""
        if not self.pid:
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0
        libc = ctypes.CDLL(None, use_errno=True)
        for _ in range(100):
            if not libc.umount2(self.path.encode(), 2):
                return
            time.sleep(0.05)


def available():
    return os.access("/dev/fuse", os.R_OK | os.W_OK)
