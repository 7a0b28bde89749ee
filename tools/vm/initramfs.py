# SPDX-License-Identifier: GPL-2.0-or-later
"""An initramfs with busybox, the requested modules, files and trees: cpio's newc format, written
here, so that a build needs neither root nor device nodes."""
import os
import stat

FOLDERS = ("bin", "dev", "etc", "lib", "modules", "out", "proc", "root", "run", "sbin", "sys", "tmp", "usr/bin",
           "usr/sbin", "var/tmp")
ETC = {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "hosts": "127.0.0.1 localhost\n"}


class Initramfs:
    def __init__(self):
        self.entries = {} # path: (mode, data)

    def folder(self, path, mode=0o755):
        path = path.strip("/")
        if path and path not in self.entries:
            self.folder(os.path.dirname(path))
            self.entries[path] = (stat.S_IFDIR | mode, b"")

    def data(self, path, data, mode=0o644):
        self.folder(os.path.dirname(path))
        self.entries[path.strip("/")] = (stat.S_IFREG | mode, data)

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.entries[path.strip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def file(self, source, path, mode=None):
        with open(source, "rb") as file:
            self.data(path, file.read(), os.stat(source).st_mode & 0o7777 if mode is None else mode)

    def tree(self, source, path):
        """A folder with its content; a link stays a link."""
        for parent, folders, files in os.walk(source):
            here = os.path.normpath(os.path.join(path, os.path.relpath(parent, source)))
            self.folder(here)
            for name in folders + files:
                full, to = os.path.join(parent, name), os.path.join(here, name)
                if os.path.islink(full):
                    self.link(to, os.readlink(full))
                elif os.path.isfile(full):
                    self.file(full, to)

    def write(self, path):
        with open(path, "wb") as out:
            for number, (name, (mode, data)) in enumerate(self.entries.items(), 1):
                write_entry(out, number, name, mode, data)
            write_entry(out, 0, "TRAILER!!!", 0, b"")


def write_entry(out, number, name, mode, data):
    name = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
    out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
    out.write(b"\0" * (-(110 + len(name)) % 4))
    out.write(data + b"\0" * (-len(data) % 4))


def base(kernel, modules):
    """What every guest has; `modules` are loaded in the order of their names."""
    fs = Initramfs()
    for folder in FOLDERS:
        fs.folder(folder, 0o1777 if folder.endswith("tmp") else 0o755)
    for name, text in ETC.items():
        fs.data("etc/" + name, text.encode())
    fs.file(kernel.busybox(), "bin/busybox", 0o755)
    fs.link("bin/sh", "busybox")
    fs.file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "init"), "init", 0o755)
    for number, path in enumerate(kernel.modules(modules)):
        fs.file(path, f"modules/{number:02}-{os.path.basename(path)}")
    return fs
