#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""schema/generate.py refuses a schema and a table that disagree, and the generated pages are up to
date."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from tap import Tap  # noqa: E402

PYTHON = "/usr/bin/python3"  # the distribution's, which has python3-protobuf
FILES = ("blockinfo.proto", "fields.tbl", "generate.py")

# what, file, text, its replacement, expected message
WRONG = (
    ("a field without a row", "fields.tbl", "\tns_pid              id\n", "", "Block.ns_pid: no row in schema/fields.tbl"),
    ("a row without a field", "fields.tbl", "\tns_pid              id\n", "\tns_pid              id\n\tns_tid              id\n",
     "Block.ns_tid: a row in schema/fields.tbl, but no field"),
    ("a message without rows", "fields.tbl", "message Owner\n", "message Owners\n", "Owner.tid: no row in schema/fields.tbl"),
    ("rows without a message", "fields.tbl", "message Owner\n", "message Owners\n",
     "Owners: in schema/fields.tbl, but no message"),
    ("a field without a comment", "blockinfo.proto", "  // User id of the process.\n", "",
     "Block.uid: no comment in blockinfo.proto"),
    ("a double without decimals", "fields.tbl", "type pct        number min=0 decimals=1 unit=%",
     "type pct        number min=0 unit=%", "Cpu.total_pct: type 'pct' lacks decimals"),
    ("a string that is a number in the table", "fields.tbl", "\tprocess             text required",
     "\tprocess             id required", "Block.process: type 'id' is of JSON's integer"),
    ("a type that the table lacks", "fields.tbl", "\tuid                 id\n", "\tuid                 ident\n",
     "'ident': no such type"),
    ("an unknown kind of line", "fields.tbl", "message Owner\n", "massage Owner\n", "neither type, message nor rule"),
)


def generate(folder, page):
    """Runs the generator on the schema in a folder, as mk/schema.mk does."""
    descriptors = os.path.join(folder, "descriptors.pb")
    made = subprocess.run(["protoc", "--include_source_info", f"--descriptor_set_out={descriptors}", "schema/blockinfo.proto"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        return made
    return subprocess.run([PYTHON, "schema/generate.py", descriptors, page], cwd=folder, capture_output=True, text=True,
                          check=False)


def copy_of_schema(scratch, name):
    folder = os.path.join(scratch, name)
    os.makedirs(os.path.join(folder, "schema"))
    for file in FILES:
        shutil.copy(os.path.join(ROOT, "schema", file), os.path.join(folder, "schema"))
    return folder


def change(path, text, replacement):
    with open(path, encoding="utf-8") as file:
        content = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(content.replace(text, replacement, 1))
    return content.count(text)


def test_wrong(tap, scratch):
    for number, (what, file, text, replacement, words) in enumerate(WRONG):
        folder = copy_of_schema(scratch, f"wrong{number}")
        found = change(os.path.join(folder, "schema", file), text, replacement)
        for page in ("fields", "schema", "record", "losses"):
            run = generate(folder, page)
            tap.check(found and run.returncode == 1 and words in run.stderr and not run.stdout, f"{what}: no {page}", found,
                      run.returncode, run.stdout[:200], run.stderr)


def test_pages(tap, scratch):
    folder = copy_of_schema(scratch, "right")
    for page, name in ("record", "docs/record.md"), ("losses", "docs/losses.md"), ("losses_js", "web/losses.js"):
        run = generate(folder, page)
        path = os.path.join(ROOT, name)
        content = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                content = file.read()
        tap.check(run.returncode == 0 and run.stdout == content, f"{name} is generate.py's output (make docs-record)",
                  run.stderr)
    fields = generate(folder, "fields").stdout
    change(os.path.join(folder, "schema", "fields.tbl"), "decimals=4", "decimals=3")
    tap.check(fields and generate(folder, "fields").stdout not in ("", fields), "a change of the table changes the generated code")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-schema-") as scratch:
        test_wrong(tap, scratch)
        test_pages(tap, scratch)
    tap.end()


if __name__ == "__main__":
    main()
