#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes what depends on the schema: the C table of fields, the JSON Schema, two pages of documentation, columns.

    generate.py DESCRIPTORS fields|schema|record|losses|losses_js|sql >FILE

DESCRIPTORS is what `protoc --include_source_info --descriptor_set_out` wrote. Fails if schema/fields.tbl and
the descriptors do not have the same fields.
"""
import json
import os
import re
import sys

from google.protobuf import descriptor_pb2

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "fields.tbl")
SQL = os.path.join(os.path.dirname(HERE), "deploy", "clickhouse", "schema.sql")
INTERVALS = "CREATE TABLE IF NOT EXISTS jankbpf.intervals_local\n"
FIELD = descriptor_pb2.FieldDescriptorProto
INTEGERS = {FIELD.TYPE_UINT32: (0, 2**32 - 1), FIELD.TYPE_UINT64: (0, 2**64 - 1), FIELD.TYPE_INT32: (-2**31, 2**31 - 1)}
JSON_OF = {FIELD.TYPE_STRING: "string", FIELD.TYPE_BOOL: "boolean", FIELD.TYPE_DOUBLE: "number", FIELD.TYPE_MESSAGE: "object",
           **{kind: "integer" for kind in INTEGERS}}
ROOT = "Record"
TAKES = ("blocks", "times", "detail")  # enum loss_takes, there
REDACT = ("paths", "peers", "messages", "code", "sentence")  # enum redact of user/export/json/json.h


class Table:
    """schema/fields.tbl: types, rows by message and field, rules by message."""

    def __init__(self, path):
        self.types, self.rows, self.rules = {"object": {"json": "object"}}, {}, {}
        self.facts = {"column": [], "metric": [], "otlp": []}
        message = None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                word, _, rest = line.strip().partition(" ")
                if not word or word.startswith("#"):
                    continue
                if line[0].isspace():
                    kind, *flags = rest.split()
                    if kind not in self.types:
                        sys.exit(f"{path}:{number}: '{kind}': no such type; add a line `type {kind} …`")
                    message[word] = (kind, dict(flag.partition("=")[::2] for flag in flags))
                elif word == "rule":
                    name, _, text = rest.strip().partition(" ")
                    self.rules[name] = json.loads(text)
                elif word == "type":
                    name, kind, *options = rest.split()
                    self.types[name] = {"json": kind, **dict(option.split("=", 1) for option in options)}
                elif word == "message":
                    message = self.rows.setdefault(rest.strip(), {})
                elif word in self.facts:
                    words, _, text = rest.partition(" : ")
                    self.facts[word].append((words.split(), text.strip()))
                else:
                    sys.exit(f"{path}:{number}: '{word}': neither type, message nor rule")


def comments(file):
    """Leading comments of messages and fields by their path in the descriptor."""
    return {tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location}


class Field:
    """A field with all that is known about it."""

    def __init__(self, message, proto, row, table, text):
        self.message, self.name, self.proto, self.text = message, proto.name, proto, text
        self.kind, self.flags = row
        self.type = table.types[self.kind]
        self.repeated = proto.label == FIELD.LABEL_REPEATED
        self.object = proto.type_name.rsplit(".", 1)[-1] if proto.type == FIELD.TYPE_MESSAGE else None

    def check(self):
        where = f"{self.message}.{self.name}"
        wanted = "integer" if self.type["json"] == "hex" else self.type["json"]
        if JSON_OF.get(self.proto.type) != wanted:
            yield f"{where}: type '{self.kind}' is of JSON's {wanted}, the field is not"
        if self.type["json"] == "number" and "decimals" not in self.type:
            yield f"{where}: type '{self.kind}' lacks decimals"
        if (self.message == "Lost") != (self.flags.get("takes") in TAKES):
            yield f"{where}: a reason of loss, and nothing else, has takes={'|'.join(TAKES)}"
        if self.is_free_text() and "redact" not in self.flags:
            yield f"{where}: free text without redact=CLASS"
        if set(self.redact()) - set(REDACT):
            yield f"{where}: redact: not of {', '.join(REDACT)}"
        if not self.text:
            yield f"{where}: no comment in blockinfo.proto"

    def is_free_text(self):
        return self.type["json"] == "string" and not {"words", "pattern"} & set(self.type)

    def redact(self):
        """Classes of --redact that change the field."""
        return [name for name in self.flags.get("redact", "no").split(",") if name != "no"]

    def bounds(self):
        low, high = INTEGERS.get(self.proto.type, (0, 0))
        return int(self.type.get("min", low)), int(self.type.get("max", high))


def load(path):
    """The messages of blockinfo.proto in order: {name: (comment, fields)}; complains and exits if the table differs."""
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        files.ParseFromString(file.read())
    table, wrong, messages = Table(TABLE), [], {}
    proto = next(file for file in files.file if file.name.endswith("blockinfo.proto"))
    texts = comments(proto)
    for i, message in enumerate(proto.message_type):
        rows, fields = table.rows.get(message.name, {}), []
        for k, field in enumerate(message.field):
            if field.name not in rows:
                wrong.append(f"{message.name}.{field.name}: no row in schema/fields.tbl")
                continue
            fields.append(Field(message.name, field, rows[field.name], table, texts.get((4, i, 2, k), "")))
            wrong += fields[-1].check()
        wrong += [f"{message.name}.{name}: a row in schema/fields.tbl, but no field"
                  for name in rows if name not in {field.name for field in message.field}]
        messages[message.name] = (texts.get((4, i), ""), fields)
    wrong += [f"{name}: in schema/fields.tbl, but no message" for name in table.rows if name not in messages]
    if wrong:
        sys.exit("\n".join(wrong))
    return messages, table


def c_name(message):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", message).lower()


def innermost_first(messages):
    """The names of the messages, each after those that it holds."""
    done = []

    def visit(name):
        for field in messages[name][1]:
            if field.object and field.object not in done:
                visit(field.object)
        if name not in done:
            done.append(name)
    visit(ROOT)
    return done


def c_table(messages, table):
    """Rows of each message in the order of its descriptor, which is that of the numbers."""
    formats = {"integer": "NUMBER", "number": "FIXED", "string": "TEXT", "boolean": "BOOL", "hex": "HEX", "object": "OBJECT"}
    yield "/* SPDX-License-Identifier: GPL-2.0 */\n/* Made by schema/generate.py of blockinfo.proto and fields.tbl. */"
    yield '#include "export/facts.h"\n#include "export/json/json.h"'
    for name in innermost_first(messages):
        yield f"\nstatic const struct field {c_name(name)}_fields[] = {{"
        for field in sorted(messages[name][1], key=lambda field: field.proto.number):
            sub = f"{c_name(field.object)}_fields" if field.object else "NULL"
            low, high = field.bounds()
            redact = " | ".join(f"REDACT_{name.upper()}" for name in field.redact())
            yield (f"\t{{ FIELD_{formats[field.type['json']]}, {field.type.get('decimals', 0)}, {int('empty' in field.flags)}, "
                   f"{low}, {high}ull, {redact or 0}, {int('live' in field.flags)}, {sub} }}, /* {field.name} */")
        yield "};"
    yield f"\nconst struct field *const fields__of_record = {c_name(ROOT)}_fields;"
    yield f"\nconst struct field *const fields__of_block = {c_name('Block')}_fields;"
    yield "\nconst struct loss_meaning fields__of_losses[] = {"
    for field in messages["Lost"][1]:
        text = json.dumps(" ".join(field.text.split()))
        yield f"\t{{ {text}, LOSS_TAKES_{field.flags['takes'].upper()} }}, /* {field.name} */"
    yield "};"
    yield from fact_tables(messages, table)


def path_of(messages, dotted):
    """Places of a path's fields in their descriptors, and the last field's unit."""
    name, places, unit = "Interval", [], None
    for part in dotted.split("."):
        fields = sorted(messages[name][1], key=lambda field: field.proto.number) if name in messages else []
        place = next((i for i, field in enumerate(fields) if field.name == part), None)
        if place is None:
            sys.exit(f"schema/fields.tbl: '{dotted}': Interval has no such field")
        places.append(place)
        name, unit = fields[place].object, fields[place].type.get("unit")
    if len(places) > 2:
        sys.exit(f"schema/fields.tbl: '{dotted}': two levels at most")
    return "{ " + ", ".join(str(place) for place in (places + [-1])[:2]) + " }", unit


def fact_tables(messages, table):
    """Columns and metrics of an interval: user/export/facts.h."""
    units = {"ns": "FACT_NS", "KiB": "FACT_KB"}
    for kind, first in ("column", 2), ("metric", 2), ("otlp", 3):
        yield f"\nconst struct fact facts__{kind}s[] = {{"
        for words, text in table.facts[kind]:
            if len(words) <= first:
                sys.exit(f"schema/fields.tbl: '{kind} {' '.join(words)}': it has no PATH")
            name, dotted, options = words[0], words[first], words[first + 1:]
            options = dict(option.partition("=")[::2] for option in options)
            if set(options) - {"present", "is", "if"} or (kind == "metric" and words[1] not in ("counter", "gauge")) or \
                    (kind == "otlp" and words[1] not in ("sum", "gauge")):
                sys.exit(f"schema/fields.tbl: '{kind} {' '.join(words)}': it is no {kind}")
            if dotted == "-":
                continue
            path, unit = path_of(messages, dotted)
            shown = path_of(messages, options["if"])[0] if "if" in options else "{ -1, -1 }"
            form = "FACT_PRESENT" if "present" in options else units.get(unit, "FACT_COUNT")
            unit = json.dumps(words[2]) if kind == "otlp" else "NULL"
            word = json.dumps(options["is"]) if "is" in options else "NULL"
            yield (f"\t{{ {json.dumps(name)}, {json.dumps(text)}, {unit}, {word}, {form}, "
                   f"{int(words[1] in ('counter', 'sum'))}, {path}, {shown} }},")
        yield "\t{ NULL },\n};"
        yield f"const size_t facts__{kind}_cnt = sizeof(facts__{kind}s) / sizeof(*facts__{kind}s) - 1;"


def sql(table):
    """deploy/clickhouse/schema.sql with the columns of the table; those of a row's key stay."""
    with open(SQL, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(INTERVALS)
    head, key, rest = rest.partition("    nr UInt32,\n")
    _, end, rest = rest.partition("\n)\nENGINE")
    if not (begin and key and end):
        sys.exit(f"{SQL}: it has no table intervals_local as it is made")
    columns = []
    for number, (words, text) in enumerate(table.facts["column"], 1):
        line = f"    {words[0]} {words[1]}{',' if number < len(table.facts['column']) else ''}"
        columns.append(f"{line:<32}-- {text}" if text else line)
    return before + begin + head + key + "\n".join(columns) + end + rest


def schema_of_type(kind):
    """JSON Schema of a type of the table."""
    words = kind["words"].split(",") if "words" in kind else None
    if kind["json"] == "hex":
        return {"type": "string", "pattern": "^0x[0-9a-f]{1,16}$"}
    if words == ["true"]:
        return {"const": True}
    ret = {"type": kind["json"]}
    for key, name, convert in (("min", "minimum", int), ("max", "maximum", int), ("above", "exclusiveMinimum", int),
                               ("pattern", "pattern", str), ("length", "minLength", int)):
        if key in kind:
            ret[name] = convert(kind[key])
    if words:
        ret["enum"] = words
        del ret["type"]
    return ret


def schema_of_field(field):
    one = {"$ref": f"#/$defs/{field.object}"} if field.object else schema_of_type(field.type)
    if field.repeated:
        one = {"type": "array", "items": one}
        one.update({name: int(field.flags[key]) for key, name in (("min", "minItems"), ("max", "maxItems"))
                    if key in field.flags})
    return {"description": field.text, **one}


def merge(into, rule):
    for key, value in rule.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def json_schema(messages, table):
    """Record is flat in JSON: the member `type` has the name of its one field."""
    record = {field.name: field for field in messages[ROOT][1]}
    defs = {}
    for name, (text, fields) in messages.items():
        if name == ROOT:
            continue
        defs[name] = {"description": text, "type": "object",
                      "properties": {field.name: schema_of_field(field) for field in fields},
                      "required": [field.name for field in fields if "required" in field.flags],
                      "additionalProperties": False}
        merge(defs[name], table.rules.get(name, {}))
        kinds = [kind for kind, field in record.items() if field.object == name]
        if kinds:
            first = {"type": {"description": "Kind of record.", "enum": kinds},
                     "schema": {"description": record["schema"].text, "const": record["schema"].type["words"]}}
            defs[name]["properties"] = {**first, **defs[name]["properties"]}
            defs[name]["required"] = ["type", "schema", *defs[name]["required"]]
    for kind, field in record.items():
        if field.object:
            defs[kind] = {"description": field.text, "$ref": f"#/$defs/{field.object}",
                          "properties": {"type": {"const": kind}}}
    defs["hang"]["properties"]["severity"] = {"const": "hang"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": record["schema"].type["words"],
            "description": messages[ROOT][0],
            "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind, field in record.items() if field.object], "$defs": defs}


def type_words(field):
    """A field's type for people."""
    kind, unit = field.type, field.type.get("unit")
    words = f"[{field.object}](#{field.object.lower()})" if field.object else kind["json"]
    if kind["json"] == "hex":
        words = 'string "0x…"'
    elif "words" in kind and kind["json"] == "string" and len(kind["words"]) < 80:
        words = "one of " + ", ".join(f"`{word}`" for word in kind["words"].split(","))
    elif "words" in kind:
        words = "`true`" if kind["words"] == "true" else "a kind of wait, or " + ", ".join(
            f"`{word}`" for word in kind["words"].split(",futex")[0].split(","))
    elif unit or "decimals" in kind:
        words += ", " + ", ".join(filter(None, (unit, "decimals" in kind and f"{kind['decimals']} decimals")))
    return f"array of {words}" if field.repeated else words


def cell(text):
    return text.replace("|", "\\|")


def record_page(messages):
    yield "# The record\n"
    yield ("Made by `make docs-record` of [schema/blockinfo.proto](../schema/blockinfo.proto) and schema/fields.tbl: do not edit. "
           "How to read a stream: [contract.md](contract.md#records).\n")
    yield "**Bold** fields are always there.\n"
    for name, (text, fields) in messages.items():
        if name == "Lost":
            yield f"## {name}\n\n{text} The reasons have a page of their own: [losses.md](losses.md).\n"
            continue
        yield f"## {name}\n\n{text}\n\n| field | number | type | meaning |\n|---|---|---|---|"
        for field in fields:
            bold = "**" if "required" in field.flags else ""
            yield f"| {bold}`{field.name}`{bold} | {field.proto.number} | {cell(type_words(field))} | {cell(field.text)} |"
        yield ""


def losses_page(messages):
    text, fields = messages["Lost"]
    yield "# Losses\n"
    yield ("What jankbpf could not record is counted by reason: in `lost` of each record that it touched, in the summary, and on "
           "stderr. This page is made by `make docs-record` of the message Lost in "
           "[schema/blockinfo.proto](../schema/blockinfo.proto): do not edit.\n")
    yield f"{text}\n\n| word | what it means for you |\n|---|---|"
    for field in fields:
        yield f"| `{field.name}` | {cell(field.text)} |"


def losses_js(messages, table):
    yield "// SPDX-License-Identifier: GPL-2.0-or-later"
    yield "// The words of states; what a loss takes, and what it means. Made by `make docs-record` of schema/: do not edit.\n"
    yield f"export const STATES = {json.dumps(table.types['state']['words'].split(','))};\n"
    yield "export const LOSSES = {"
    for field in messages["Lost"][1]:
        yield f"  {field.name}: [{json.dumps(field.flags['takes'])}, {json.dumps(' '.join(field.text.split()))}],"
    yield "};"


def main(args):
    messages, table = load(args[0])
    pages = {"fields": lambda: c_table(messages, table), "record": lambda: record_page(messages),
             "losses": lambda: losses_page(messages), "losses_js": lambda: losses_js(messages, table), "sql": lambda: [sql(table)[:-1]],
             "schema": lambda: [json.dumps(json_schema(messages, table), indent=1, ensure_ascii=False)]}
    print("\n".join(pages[args[1]]()))


if __name__ == "__main__":
    main(sys.argv[1:])
