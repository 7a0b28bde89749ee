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
FILES = ("schema/blockinfo.proto", "schema/fields.tbl", "schema/generate.py", "deploy/clickhouse/schema.sql")

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
# Likewise, of the tables of facts.
WRONG_FACTS = (
    ("a column of no field", "column hangs            UInt64        hangs\n", "column hangs UInt64 hang\n",
     "'hang': Interval has no such field"),
    ("a column of a field of no message", " cost.bpf_ns\n", " hangs.bpf_ns\n", "'hangs.bpf_ns': Interval has no such field"),
    ("a metric of an unknown kind", "metric paused            gauge ", "metric paused            gauges ", "it is no metric"),
    ("a metric with an unknown option", "gauge   paused_ns present", "gauge   paused_ns presence", "it is no metric"),
    ("a metric without a path", "sum   {hang}    hangs :", "sum   {hang} :", "it has no PATH"),
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
    for file in FILES:
        os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, file), os.path.join(folder, file))
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


def test_wrong_facts(tap, scratch):
    for number, (what, text, replacement, words) in enumerate(WRONG_FACTS):
        folder = copy_of_schema(scratch, f"facts{number}")
        found = change(os.path.join(folder, "schema", "fields.tbl"), text, replacement)
        run = generate(folder, "fields")
        tap.check(found and run.returncode == 1 and words in run.stderr and not run.stdout, what, found, run.returncode,
                  run.stdout[:200], run.stderr)


def test_new_column(tap, scratch):
    folder = copy_of_schema(scratch, "column")
    change(os.path.join(folder, "schema", "fields.tbl"), "column rss_kb  ", "column steps UInt64 governor_steps : taken\ncolumn rss_kb  ")
    made = generate(folder, "sql").stdout
    tap.check("    cpu_ns UInt64,\n    steps UInt64,               -- taken\n    rss_kb UInt64\n)" in made,
              "a row of the table is a column of ClickHouse", made[-3000:])
    with open(os.path.join(folder, FILES[-1]), encoding="utf-8") as file:
        tap.check(made.replace("    steps UInt64,               -- taken\n", "") == file.read(), "and the rest stays")


def test_pages(tap, scratch):
    folder = copy_of_schema(scratch, "right")
    for page, name in ("record", "docs/record.md"), ("losses", "docs/losses.md"), ("losses_js", "web/losses.js"), \
            ("sql", "deploy/clickhouse/schema.sql"):
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
        test_wrong_facts(tap, scratch)
        test_new_column(tap, scratch)
        test_pages(tap, scratch)
    tap.end()


if __name__ == "__main__":
    main()
