# SPDX-License-Identifier: GPL-2.0
"""The messages of schema/*.proto: schema.message("Record") is the class of python3-protobuf.

If this Python lacks that package, the script runs again under the distribution's Python.
"""
import os
import subprocess
import sys
import tempfile

SYSTEM = "/usr/bin/python3"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    if os.path.realpath(sys.executable) == os.path.realpath(SYSTEM):
        raise
    os.execv(SYSTEM, [SYSTEM, *sys.argv])


def load(proto="schema/journal.proto"):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"--proto_path={ROOT}", "--include_imports", f"--descriptor_set_out={out.name}",
                        proto], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool


POOL = load()


def message_of(pool, name):
    descriptor = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def message(name):
    return message_of(POOL, f"jankbpf.{name}")
