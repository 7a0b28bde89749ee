# SPDX-License-Identifier: GPL-2.0
"""Checks whether a kernel's BTF resolves the CO-RE relocations of a BPF object. It loads nothing,
so objects and kernels can be of other machines."""
import json
import os
import shutil
import struct
import subprocess
import tempfile

BPFTOOL = shutil.which("bpftool") or "/usr/sbin/bpftool"
# enum bpf_core_relo_kind (linux/bpf.h)
FIELD_EXISTS, TYPE_EXISTS = 2, 8
FIELD_KINDS = range(0, 6)
SKIPPED = ("CONST", "VOLATILE", "RESTRICT", "TYPEDEF", "TYPE_TAG")


class Types:
    def __init__(self, path):
        done = subprocess.run([BPFTOOL, "-j", "btf", "dump", "file", path], stdout=subprocess.PIPE, check=True)
        self.by_id = {t["id"]: t for t in json.loads(done.stdout)["types"]}

    def resolved(self, type_id):
        while self.by_id.get(type_id, {}).get("kind") in SKIPPED:
            type_id = self.by_id[type_id]["type_id"]
        return self.by_id.get(type_id)

    def records(self, name):
        return [t for t in self.by_id.values() if t["kind"] in ("STRUCT", "UNION") and t["name"] == name]

    def member(self, record, name):
        """The type of a member, also inside anonymous structs and unions; None when there is
        none."""
        for member in record.get("members", ()):
            inner = self.resolved(member["type_id"])
            if member["name"] == name:
                return inner or {"kind": "VOID"}
            if member["name"] == "(anon)" and inner and self.member(inner, name):
                return self.member(inner, name)
        return None

    def answers(self, name, fields):
        """Does a record of that name have the fields, each inside the one before?"""
        for record in self.records(name):
            for field in fields:
                record = record and self.member(record, field)
            if record:
                return True
        return False


def section(path, name):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "section")
        subprocess.run(["llvm-objcopy", f"--dump-section={name}={out}", path, os.path.join(folder, "rest")], check=True)
        with open(out, "rb") as file:
            return file.read()


def strings(btf):
    _, _, _, header, _, _, offset, length = struct.unpack_from("<HBBIIIII", btf)
    return btf[header + offset:header + offset + length]


def relocations(path):
    """(kind, type id, access string) of each relocation, from .BTF.ext (struct btf_ext_header,
    btf_ext_info_sec)."""
    ext, names = section(path, ".BTF.ext"), strings(section(path, ".BTF"))
    header, = struct.unpack_from("<I", ext, 4)
    offset, length = struct.unpack_from("<II", ext, 24)
    at, end = header + offset, header + offset + length
    size, = struct.unpack_from("<I", ext, at)
    at += 4
    while at < end:
        _, count = struct.unpack_from("<II", ext, at)
        at += 8
        for _ in range(count):
            _, type_id, access, kind = struct.unpack_from("<IIII", ext, at)
            yield kind, type_id, names[access:names.index(b"\0", access)].decode()
            at += size


def path_of(types, type_id, access):
    """("task_struct", "se", "exec_start") of an access string; array indices have no name."""
    record = types.resolved(type_id)
    path = [record["name"]]
    for index in access.split(":")[1:]:
        if record["kind"] == "ARRAY":
            record = types.resolved(record["type_id"])
            continue
        member = record["members"][int(index)]
        if member["name"] != "(anon)":
            path.append(member["name"])
        record = types.resolved(member["type_id"])
    return tuple(path)


def paths(obj):
    """What the object reads, and what it first tests by bpf_core_field_exists."""
    types, read, asked = Types(obj), set(), set()
    for kind, type_id, access in relocations(obj):
        path = path_of(types, type_id, access if kind in FIELD_KINDS else "0")
        (asked if kind in (FIELD_EXISTS, TYPE_EXISTS) else read).add(path)
    return read - asked, asked


def unanswered(obj, kernel):
    """The sorted names that the object reads and the kernel's types lack. A type with a suffix
    (task_struct___old_state) is the layout of other kernels: its field (state) must exist only if
    the one that took its place (__state), for which the object tests, does not."""
    read, asked = paths(obj)
    missing = {path for path in read if not kernel.answers(path[0].split("___")[0], path[1:])}
    answered = {replaced(path) for path in asked if kernel.answers(path[0], path[1:])}
    return sorted(".".join(path) for path in missing if "___" not in path[0] or replaced(path) not in answered)


def replaced(path):
    return path[0].split("___")[0], path[-1].strip("_")
