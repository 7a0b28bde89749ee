#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks the source tree by each rule. First shows that each rule finds a seeded violation and
accepts good code."""

import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import rules  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
SPDX = "/* SPDX-License-Identifier: GPL-2.0 */\n"
LATER = "TO" + "DO"


def function(lines, head="int f(void)"):
    return SPDX + head + "\n{\n" + "\tg();\n" * (lines - 4) + "\treturn 0;\n}\n"


# rule, path, content, must the rule object?
SEEDS = (
    ("spdx", "user/base/a.c", "int a;\n", True),
    ("spdx", "user/base/a.c", SPDX + "int a;\n", True),
    ("spdx", "user/base/a.c", SPDX.replace("2.0", "2.0-or-later") + "int a;\n", False),
    ("spdx", "bpf/a.bpf.h", SPDX + "int a;\n", False),
    ("spdx", "bpf/a.bpf.h", SPDX.replace("2.0", "2.0-or-later") + "int a;\n", True),
    ("spdx", "vmlinux/a.h", "int a;\n", True),
    ("spdx", "mk/a.mk", "all:\n", True),
    ("spdx", "tests/live/a.t", "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n", False),
    ("spdx", "tools/gen", "#!/bin/sh\n", True),
    ("spdx", ".output/a.h", "int a;\n", False),
    ("noticed", "mk/a.mk", "LDLIBS += -lother\n", True),
    ("noticed", "mk/b.mk", "LDLIBS += $(if $(X),-lother)\n", True),
    ("noticed", "mk/a.mk", "\tln -sf a b; test -e c || test-link-l a-lb\n", False),
    ("layers", "user/base/a.c", '#include "model/block.h"\n', True),
    ("layers", "user/base/a.c", '#include "base/err.h"\n#include <bpf/libbpf.h>\n', False),
    ("layers", "user/base/a.h", '#include "bpf/jank_abi.h"\n', True),
    ("layers", "user/model/a.c", '#include "bpf/jank_abi.h"\n#include "base/err.h"\n', False),
    ("layers", "user/model/a.c", '#include "export/sink.h"\n', True),
    ("layers", "user/symbol/a.c", '#include "model/block.h"\n', False),
    ("layers", "user/symbol/a.c", '#include "verdict/stack.h"\n', True),
    ("layers", "user/probes/a.c", '#include "model/block.h"\n', True),
    ("layers", "user/intake/a.c", '#include "symbol/names/symbolize.h"\n', True),
    ("layers", "user/export/json/a.c", '#include "verdict/stack.h"\n', True),
    ("layers", "user/export/a.c", '#include "model/block.h"\n', True),
    ("layers", "user/export/text/a.h", '#include <user/model/block.h>\n', True),
    ("layers", "user/export/text/a.c", '#include "export/record/record.h"\n', True),
    ("layers", "user/export/text/a.c", '#include "model/unwatched.h"\n#include "export/sink.h"\n', False),
    ("layers", "user/export/record/a.c", '#include "model/block.h"\n#include "export/values.h"\n', False),
    ("layers", "user/export/a.c", '#include "options/options.h"\n', True),
    ("layers", "user/export/a.c", '#include "../options/options.h"\n', True),
    ("layers", "user/export/a.c", "  #  include <user/options/options.h>\n", True),
    ("layers", "user/probes/a.c", '#include "bpf/maps.bpf.h"\n', True),
    ("layers", "user/session/a.c", '#include "probes/loader.h"\n#include "export/sink.h"\n', False),
    ("layers", "user/other/a.c", "int a;\n", True),
    ("bpf_apart", "bpf/a.bpf.c", '#include "base/err.h"\n', True),
    ("bpf_apart", "bpf/a.bpf.c", '#include "bpf/jank_abi.h"\n#include <bpf/bpf_helpers.h>\n', False),
    ("bpf_apart", "tools/a.c", '#include "session/session.h"\n', True),
    ("bpf_apart", "tools/a.c", '#include "options/options.h"\n', False),
    ("skeleton", "user/session/a.c", '#include "jankbpf.skel.h"\n', True),
    ("skeleton", "user/probes/other.c", '#include "../.output/jankbpf.skel.h"\n', True),
    ("skeleton", "user/probes/loader.c", '#include "jankbpf.skel.h"\n', False),
    ("skeleton", "user/probes/loader_open.c", '#include "jankbpf.skel.h"\n', False),
    ("skeleton", "tests/bpf/a.c", '#include "jankbpf.skel.h"\n', False),
    ("skeleton", "tests/unit/a.c", '#include "jankbpf.skel.h"\n', True),
    ("silent", "user/model/a.c", 'void f(void)\n{\n\tfprintf(stderr, "x");\n}\n', True),
    ("silent", "user/model/a.c", 'void f(void)\n{\n\tprintf("x");\n}\n', True),
    ("silent", "user/export/a.c", 'void f(void)\n{\n\tperror("x");\n}\n', True),
    ("silent", "user/probes/a.c", 'void f(void)\n{\n\tlog__warn("x");\n}\n', True),
    ("silent", "user/session/a.c", 'void f(void)\n{\n\tlog__warn("x");\n}\n', False),
    ("silent", "user/model/a.c",
     '/* printf() to stderr */\nint f(const char *s, ...) __attribute__((format(printf, 1, 2)));\n'
     'void g(struct err *err)\n{\n\tf("printf(x)", err);\n\tsnprintf(s, 1, "x");\n}\n', False),
    ("opens", "user/procfs/a.c", 'int f(const char *p)\n{\n\treturn open(p, 0);\n}\n', True),
    ("opens", "user/files/file.c", 'int f(const char *p)\n{\n\treturn open(p, 0);\n}\n', False),
    ("opens", "user/procfs/a.c", '/* open(2) */\nint f(struct g *g)\n{\n\treturn g->open(g) + reopen(1);\n}\n', False),
    ("exits", "user/model/a.h", SPDX + "void a__on_exit(struct a *a, int pid);\n", True),
    ("exits", "user/model/a.h", SPDX + "void a__on_exit(int pid);\nstatic void f(int pid)\n{\n\ta__on_exit(pid);\n}\n", False),
    ("front_pages", "README.md", "a\n" * 201, True),
    ("front_pages", "README.md", "é" * 100 + "\n" * 200, False),
    ("front_pages", "README.md", "a" * 101 + "\n", True),
    ("front_pages", "README.md", "        ▸ main  main.c:3\n          +0x13c334  redis-check-rdb\n", True),
    ("front_pages", "README.md", "        ▸ main  main.c:3\n          f  redis-check-rdb\n", False),
    ("measured", "README.md", "One run of `make bench`\n", True),
    ("measured", "README.md", "of commit 0123456789: medians\n", False),
    ("guide", "HACKING.md", "see `user/base/gone.c`\n", True),
    ("guide", "HACKING.md", "see `make unit T=a`, `base/gone.c` and `struct user`\n", False),
    ("links", "docs/a.md", "see [b](b.md)\n", True),
    ("links", "docs/a.md", "# The end\n[b](#the-start)\n", True),
    ("links", "docs/a.md", "# The `end`, now\n[b](a.md#the-end-now) and [c](https://a.example/b.md)\n", False),
    ("links", "user/session/a.c", "/* docs/gone.md has figures */\n", True),
    ("words", "user/session/a.c", f"/* {LATER}: later */\n", True),
    ("words", "mk/a.mk", f"# {'FIX' + 'ME'}\n", True),
    ("words", "user/session/a.c", 'char t[] = "/tmp/a-XXXXXX"; int TODOS;\n', False),
    ("private_paths", "docs/a.md", "see " + "/wor" + "k/main/x\n", True),
    ("private_paths", "user/session/a.c", "/* .." + "/shared/models.md */\n", True),
    ("private_paths", "docs/a.md", "PREFIX/work/main and https://a.example/work/main\n", False),
    ("function_length", "user/session/a.c", function(60), False),
    ("function_length", "user/session/a.c", function(61), True),
    ("function_length", "bpf/a.bpf.h", function(61), True),
    ("function_length", "bpf/a.bpf.c", function(61, 'SEC("tp_btf/x")\nint BPF_PROG(on_x, int a)'), True),
    ("function_length", "user/session/a.c", function(61, "DEFINE_HANDLER(a, b)"), True),
    ("function_length", "user/session/a.c", SPDX + "static int t[] = {\n" + "\t1,\n" * 99 + "};\n", False),
    ("function_length", "tests/unit/test_a.c", function(61), True),
    ("comment_columns", "user/session/a.c", "/* " + "x" * 94 + " */\n", False),
    ("comment_columns", "user/session/a.c", "/* " + "x" * 95 + " */\n", True),
    ("comment_columns", "tests/unit/a.c", "/*\n * " + "x" * 98 + "\n */\n", True),
    ("comment_columns", "user/session/a.h", "\tint a; /* " + "x" * 80 + " */\n", True),
    ("comment_columns", "user/session/a.c", 'char a[] = "/* ' + "x" * 99 + '";\n', False),
    ("formatted", "user/session/a.c", "int f( void ){return 0;}\n", True),
    ("formatted", "user/session/a.c", "int f(void)\n{\n\treturn 0;\n}\n", False),
    ("formatted", "vmlinux/a.h", "int f( void );\n", False),
)

results = 0
failures = 0


def result(good, name, details=()):
    global results, failures
    results += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {results} - {name}")
    for line in [] if good else details:
        print(f"#   {line}")


def skip(reason):
    global results
    results += 1
    print(f"ok {results} # SKIP {reason}")


def by_name(name):
    return next(rule for rule in rules.RULES if rule.__name__ == name)


def write(root, path, content):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(content)
    if "." not in os.path.basename(path):
        os.chmod(full, 0o755)


def try_seed(name, path, content, objects):
    what = f"{name} {'objects to' if objects else 'accepts'} {path}: {content.strip().splitlines()[-1]}"
    with tempfile.TemporaryDirectory(prefix="jank-style-") as root:
        write(root, path, content)
        shutil.copy(os.path.join(ROOT, ".clang-format"), root)
        found = list(by_name(name)(root))
    right = len(found) == 1 and path in found[0] if objects else not found
    result(right, what.replace("#", "\\#"), found or ["found nothing"])


def attempt(check, *args):
    try:
        check(*args)
    except rules.Unavailable as reason:
        skip(reason)


def try_rule(rule):
    found = list(rule(ROOT))
    result(not found, f"{rule.__name__}: {rule.__doc__}", found)


def main():
    for seed in SEEDS:
        attempt(try_seed, *seed)
    seeded = {name for name, _, _, objects in SEEDS if objects}
    result(seeded == {rule.__name__ for rule in rules.RULES}, "every rule was seen to object")
    for rule in rules.RULES:
        attempt(try_rule, rule)
    print(f"1..{results}")
    return 1 if failures else 0


sys.exit(main())
