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


def load():
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"--proto_path={ROOT}", "--include_imports", f"--descriptor_set_out={out.name}",
                        "schema/journal.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool


POOL = load()


def message(name):
    descriptor = POOL.FindMessageTypeByName(f"jankbpf.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(POOL).GetPrototype(descriptor)
