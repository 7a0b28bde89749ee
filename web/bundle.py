#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the pages from the parts in web/, as C string literals: `bundle.py HEAD.inc TAIL.inc SERVE.inc POLICY.inc` writes
what of the HTML report comes before the data and what comes after; the page of `jankbpf serve`; and its policy, for a header.

The JavaScript files are ES modules, so that tools see their names. Here they become one script, each a function that
returns its exports; exported names must differ between files. The policy in the page has the hashes of script and
style; nothing else runs, and nothing can be loaded, but by serve's page from its own server."""
import base64
import hashlib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# In the order of use; the last of a page starts it.
MODULES = ("format", "dom", "losses", "data", "weights", "state", "copy", "list", "heatmap", "tip", "bar", "stacks", "flame",
           "timeline", "facts", "fault", "block", "keys", "page")
SERVE_MODULES = ("serve_api", "serve_newest", "serve_actions", "serve_bar", "serve")
DATA = "@DATA@"


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def without_license(text):
    return re.sub(r"^(//|/\*) SPDX-License-Identifier.*\n", "", text)


def module(text):
    """A module without imports as an expression statement that defines its exports."""
    names = re.findall(r"^export (?:async )?(?:function\*?|const) (\w+)", text, flags=re.M)
    text = re.sub(r"^import [^;]*;\n", "", text, flags=re.M)
    text = re.sub(r"^export ", "", text, flags=re.M)
    exports = "{ " + ", ".join(names) + " }"
    return f"const {exports} = (() => {{\n{text}return {exports};\n}})();\n"


def script(modules):
    parts = [module(without_license(read(name + ".js"))) for name in modules]
    ret = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    assert "</script" not in ret and "<!--" not in ret
    return ret


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def policy(code, style, more):
    return (f"default-src 'none'; style-src 'sha256-{digest(style)}'; script-src 'sha256-{digest(code)}'; {more}"
            "base-uri 'none'; form-action 'none'")


def page(modules, style, more, title):
    code = script(modules)
    values = {"STYLE": style, "SCRIPT": code, "POLICY": policy(code, style, more), "TITLE": title}
    return re.sub("@(STYLE|SCRIPT|POLICY|TITLE)@", lambda found: values[found[1]], read("report.html")), values["POLICY"]


def literal(text):
    """A C string literal for each line."""
    return "".join('"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"\n'
                   for line in text.splitlines()) or '""\n'


def main():
    style = without_license(read("report.css"))
    report, _ = page((*MODULES, "main"), style, "", "jankbpf report")
    head, tail = report.split(DATA + "\n")
    serve, header = page((*MODULES, *SERVE_MODULES), style + without_license(read("serve.css")), "connect-src 'self'; ",
                         "jankbpf serve")
    texts = (head, tail, serve.replace(DATA + "\n", ""), header + "; frame-ancestors 'none'")
    for path, text in zip(sys.argv[1:], texts):
        with open(path, "w", encoding="utf-8") as file:
            file.write(literal(text) if "\n" in text else f'"{text}"\n')


main()
