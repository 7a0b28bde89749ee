#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the page of the HTML report from the parts in web/: `bundle.py HEAD.inc TAIL.inc` writes what comes before
the data and what comes after, as C string literals.

The JavaScript files are ES modules, so that tools see their names. Here they become one script, each a function that
returns its exports; exported names must differ between files. The policy in the page has the hashes of script and
style; nothing else runs, and nothing can be loaded."""
import base64
import hashlib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# In the order of use; main.js starts the page.
MODULES = ("format", "dom", "data", "state", "copy", "list", "heatmap", "tip", "bar", "stacks", "flame", "timeline",
           "facts", "fault", "block", "keys", "main")
DATA = "@DATA@"


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def without_license(text):
    return re.sub(r"^(//|/\*) SPDX-License-Identifier.*\n", "", text)


def module(text):
    """A module without imports as an expression statement that defines its exports."""
    names = re.findall(r"^export (?:async )?(?:function|const) (\w+)", text, flags=re.M)
    text = re.sub(r"^import [^;]*;\n", "", text, flags=re.M)
    text = re.sub(r"^export ", "", text, flags=re.M)
    exports = "{ " + ", ".join(names) + " }"
    return f"const {exports} = (() => {{\n{text}return {exports};\n}})();\n"


def script():
    parts = [module(without_license(read(name + ".js"))) for name in MODULES]
    ret = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    assert "</script" not in ret and "<!--" not in ret
    return ret


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page():
    code, style = script(), without_license(read("report.css"))
    values = {"STYLE": style, "SCRIPT": code, "STYLE_HASH": digest(style), "SCRIPT_HASH": digest(code)}
    return re.sub("@(STYLE|SCRIPT|STYLE_HASH|SCRIPT_HASH)@", lambda found: values[found[1]],
                  read("report.html"))


def literal(text):
    """A C string literal for each line."""
    return "".join('"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"\n'
                   for line in text.splitlines()) or '""\n'


def main():
    head, tail = page().split(DATA + "\n")
    for path, text in zip(sys.argv[1:], (head, tail)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(literal(text))


main()
