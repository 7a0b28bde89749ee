# SPDX-License-Identifier: GPL-2.0
"""The rules for the source that a machine can check. Each takes the root of a source tree and
yields one line per violation. style.t runs them on this tree, and on seeded violations."""

import os
import re
import shutil
import subprocess

CODE = (".c", ".h", ".cc")
TEXT = CODE + (".py", ".sh", ".t", ".pl", ".pm", ".mk", ".js", ".lua")
FUNCTION_LINES_MAX = 60
COLUMNS_MAX = 100
FRONT_PAGES = {"README.md": 200, "HACKING.md": 250}  # with the maximum number of lines
CLANG_FORMAT_MAJOR = "14"  # versions format differently with the same options

# What a room may include besides itself and the C library (docs/design.md, "Rooms of user/"). No
# room includes one that includes it, directly or not.
LAYERS = {
    "base": set(),
    "files": {"base"},
    "model": {"base"},
    "symbol": {"model", "files", "base"},
    "name": {"symbol", "model", "files", "base"},
    "verdict": {"model", "base"},
    "intake": {"model", "base"},
    "export": {"model", "files", "base"},
    "procfs": {"model", "files", "base"},
    "options": {"procfs", "files", "base"},
    "journal": {"export", "model", "files", "base"},
    "serve": {"export", "files", "base"},
    "send": {"export", "options", "files", "base"},
    "fleet": {"send", "export", "model", "files", "base"},
    "deliver": {"serve", "send", "journal", "export", "options", "symbol", "files", "base"},
    "catalogue": {"symbol", "procfs", "model", "files", "base"},
    "uprobes": {"catalogue", "symbol", "procfs", "files", "base"},
    "probes": {"uprobes", "catalogue", "options", "files", "base"},
    "enrich": {"probes", "catalogue", "symbol", "procfs", "intake", "model", "files", "base"},
    "session": {"deliver", "send", "name", "enrich", "probes", "uprobes", "catalogue", "options", "journal", "export", "intake", "verdict", "symbol",
                "procfs", "model", "files", "base"},
    "cli": {"fleet", "serve", "send", "session", "deliver", "name", "probes", "catalogue", "options", "journal", "export", "intake", "symbol", "model", "files", "base"},
}
# A sink knows the record, not the model from which user/export/record makes it. These headers have
# only data, words and sums.
SINK_MODEL = {"model/unwatched.h", "model/not_shown.h", "model/durations.h", "model/pid.h", "export/record/faults.h"}
WIRE = ("bpf/jank_abi.h", "bpf/futex.h")  # of both sides; base may include neither
TALKERS = ("cli", "session", "deliver", "send", "name", "options", "enrich")  # who may print
SKELETON = "jankbpf.skel.h"
SKELETON_OWNERS = ("user/probes/loader.c", "user/probes/loader_attach.c", "user/probes/loader_open.c")

# Files that may open a path themselves. Any other path that a traced program could have chosen goes
# through files/openfile, which does not wait for a lease and opens no device.
OPENERS = {
    "user/files/file.c": "/proc, /sys and the user's own files, without waiting",
    "user/files/own_path.c": "directories of our own output",
    "user/files/apart.c": "with O_PATH, by the separate process",
    "user/files/broker.c": "/proc and /sys, for the process that makes names",
    "user/files/openfile.c": "files that a traced program names, with O_PATH",
    "user/uprobes/mapped_files.c": "with O_PATH; /proc; directories, and handles with O_PATH",
    "user/files/proc.c": "/proc",
    "user/procfs/cgroup_find.c": "directories of cgroupfs",
    "user/procfs/host.c": "/sys",
    "user/probes/btf_file.c": "named by the user",
    "user/probes/kernel_types.c": "/sys",
    "user/cli/cmd_symbolize.c": "named by the user",
    "user/cli/report_input.c": "named by the user",
    "user/export/report/report_out.c": "our own output",
    "user/journal/journal.c": "named by the user",
    "user/cli/main.c": "/dev/null",
    "user/export/retention.c": "our own output", "user/export/dir.c": "our own output",
    "user/export/record_file.c": "our own output", "user/export/blockcanary/log_file.c": "our own output",
    "user/export/record_file.c": "our own output",
    "user/serve/record_index.c": "files of the DIR that the user named", "user/serve/marks.c": "likewise",
    "user/serve/removal.c": "likewise", "user/serve/block_log.c": "likewise", "user/serve/serve.c": "likewise",
    "user/deliver/metrics_sink.c": "our own output", "user/export/spool/spool_dir.c": "our own output",
    "user/deliver/records_user.c": "our own output",
    "user/export/record/record_redact.c": "the key, named by the user",
}

LINKED = re.compile(r"(?<![^\s,(])-l([a-z][\w+-]*)(?![^\s,)])")
OWN_LIBRARIES = {"follow"}  # built by mk/follow.mk

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


class Unavailable(Exception):
    """A rule that cannot be checked here, with the reason."""


def files(root, suffixes, *tops):
    """Paths of source files below root: nothing built, nothing of git's."""
    found = []
    for top in tops or (".",):
        for where, dirs, names in os.walk(os.path.join(root, top)):
            dirs[:] = [d for d in dirs if d not in (".git", ".output", "__pycache__")]
            found += [os.path.relpath(os.path.join(where, n), root) for n in names]
    return sorted(path for path in found if path.endswith(suffixes) or is_script(root, path, suffixes))


def is_script(root, path, suffixes):
    """Makefiles, and executables without a suffix if any text is wanted."""
    if suffixes is not TEXT or "." in os.path.basename(path):
        return False
    full = os.path.join(root, path)
    if os.path.basename(path) == "Makefile":
        return True
    if os.path.islink(full) or not os.access(full, os.X_OK):
        return False
    with open(full, "rb") as file:
        return file.read(2) == b"#!"


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blank(match):
    return "\n" * match.group().count("\n")


def without_comments(text):
    """Removes strings too: callers search code."""
    return COMMENT.sub(blank, text)


def includes(root, path):
    text = read(root, path)
    for match in INCLUDE.finditer(text):
        yield line_of(text, match.start()), match.group(1)


def spdx(root):
    """Each source file has its SPDX licence, user space's or the kernel's, in its first three lines."""
    for path in files(root, TEXT):
        licence = "GPL-2.0-or-later" if path.startswith(("user/", "tools/", "web/")) else "GPL-2.0"
        head = read(root, path).split("\n")[:3]
        if not any(re.search(rf"SPDX-License-Identifier: {licence}(?: \*/)?$", line) for line in head):
            yield f"{path}: no SPDX line, or not {licence}"


def noticed(root):
    """NOTICE has every library that a makefile links, with its licence."""
    listed = os.path.join(root, "NOTICE")
    known = set(re.findall(r"(?m)^ +-l(\S+) ", read(root, "NOTICE"))) if os.path.exists(listed) else set()
    for path in files(root, TEXT):
        if os.path.basename(path) != "Makefile" and not path.endswith(".mk"):
            continue
        text = read(root, path)
        for match in LINKED.finditer(text):
            if match.group(1) not in known | OWN_LIBRARIES:
                yield f"{path}:{line_of(text, match.start())}: {match.group().strip()} is not in NOTICE"


def allowed(layer, target):
    if target in WIRE:
        return layer != "base"
    first = target.split("/")[0]
    if first in LAYERS:
        return first == layer or first in LAYERS[layer] or target in LAYERS[layer]
    return first not in ("bpf", "tests", "tools") or is_libbpf(target)


def is_beyond_record(path, target):
    """A file of a sink includes the model, or the code that makes records of it."""
    if not path.startswith("user/export/") or path.startswith("user/export/record/"):
        return False
    return target.startswith(("model/", "export/record/")) and target not in SINK_MODEL


def is_libbpf(target):
    return target in ("bpf/bpf.h", "bpf/btf.h", "bpf/libbpf.h", "bpf/libbpf_common.h")


def layers(root):
    """Rooms of user/ include one way only. Sinks do not include the model."""
    for path in files(root, CODE, "user"):
        layer = path.split("/")[1]
        if layer not in LAYERS:
            yield f"{path}: user/{layer} is no layer"
            continue
        for line, target in includes(root, path):
            target = target[5:] if target.startswith("user/") else target
            if ".." in target.split("/"):
                yield f"{path}:{line}: {target}: includes are relative to user/ and the root"
            elif not allowed(layer, target):
                yield f"{path}:{line}: {layer} includes {target}"
            elif is_beyond_record(path, target):
                yield f"{path}:{line}: a sink includes {target}"


def bpf_apart(root):
    """bpf/ includes nothing of user space. tools/ include no upper room except the option table."""
    for path in files(root, CODE, "bpf"):
        for line, target in includes(root, path):
            first = target.split("/")[0]
            if first in LAYERS or first in ("user", "tests", "tools", ".."):
                yield f"{path}:{line}: bpf includes {target}"
    for path in files(root, CODE, "tools"):
        for line, target in includes(root, path):
            if re.match(r"(\.\./)*(user/)?(cli|session|options)/(?!options(_table)?\.h$)", target):
                yield f"{path}:{line}: tools include {target}"


def skeleton(root):
    """Only the loader includes the skeleton. The tests of the BPF programs have their own."""
    for path in files(root, CODE):
        for line, target in includes(root, path):
            if os.path.basename(target) != SKELETON or path in SKELETON_OWNERS:
                continue
            if not path.startswith("tests/bpf/"):
                yield f"{path}:{line}: only {SKELETON_OWNERS[0]} and what belongs to it includes {SKELETON}"


def silent(root):
    """Library code fills a struct err and prints nothing."""
    noise = re.compile(r"\b(?:stderr\b|(?:perror|v?printf|puts|putchar|v?warnx?|v?errx?|log__\w+)\s*\()")
    for path in files(root, CODE, "user"):
        if path.split("/")[1] in TALKERS or path.startswith(("user/base/log.", "user/base/must.")):
            continue
        text = without_comments(read(root, path))
        for match in noise.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group().rstrip('( ')} in a room that is silent"


def opens(root):
    """One module opens the paths that a traced program names; it cannot be made to wait."""
    opening = re.compile(r"(?<![\w>.])(?:open|openat|fopen|freopen|creat|open_by_handle_at)\s*\(")
    for path in files(root, CODE, "user"):
        if path in OPENERS:
            continue
        text = without_comments(read(root, path))
        for match in opening.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group().rstrip('( ')} outside files/openfile.c"


def exits(root):
    """Who keeps state for each process hears of its end: an on_exit that is declared is called, as from a table of modules."""
    texts = {path: without_comments(read(root, path)) for path in files(root, (".c", ".h"), "user")}
    for path, text in texts.items():
        for match in re.finditer(r"(?m)^\w[^;{}=]*?\b(\w+__on_exit)\([^;{}]*\);", text):
            if not any(re.search(rf"(?m)^[ \t].*\b{match.group(1)}\b", other) for other in texts.values()):
                yield f"{path}:{line_of(text, match.start())}: {match.group(1)} is called by nobody"


def front_pages(root):
    """The front pages are short, and the frames in their example output have names."""
    for path, most in FRONT_PAGES.items():
        if not os.path.exists(os.path.join(root, path)):
            continue
        lines = read(root, path).splitlines()
        if len(lines) > most:
            yield f"{path}: {len(lines)} lines, {most} are the most"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                yield f"{path}:{number}: {len(line)} columns, {COLUMNS_MAX} are the most"
            if re.match(r"\s+(?:▸ )?\+?0x[0-9a-f]+(?:\s|$)", line):
                yield f"{path}:{number}: a frame without a name: {line.strip()}"


# Commits of the probes after which the README's figures are measured again.
MEASURED_COMMITS = 60


def measured(root):
    """The README's table of cost is of a build that is not much older."""
    if not os.path.exists(os.path.join(root, "README.md")):
        return
    found = re.search(r"\bof\s+commit\s+([0-9a-f]+)", read(root, "README.md"))
    if not found:
        yield "README.md: no commit of the table of cost: make bench-readme writes it"
        return
    if not os.path.exists(os.path.join(root, ".git")):
        return
    git = subprocess.run(["git", "-C", root, "rev-list", "--count", f"{found[1]}..HEAD", "--", "bpf"],
                         capture_output=True, text=True, check=False)
    if git.returncode:
        raise Unavailable(f"measured: commit {found[1]} of the README's table is not in this history")
    if int(git.stdout) > MEASURED_COMMITS:
        yield f"README.md: the table of cost is {git.stdout.strip()} commits of bpf/ old: make bench-readme"


def guide(root):
    """The files that HACKING.md names exist."""
    if not os.path.exists(os.path.join(root, "HACKING.md")):
        return
    for number, line in enumerate(read(root, "HACKING.md").splitlines(), 1):
        for path in re.findall(r"`((?:bpf|docs|loops|mk|schema|tests|tools|user|vmlinux)/[^`\s]*)`", line):
            if not os.path.exists(os.path.join(root, path)):
                yield f"HACKING.md:{number}: no {path}"


def anchors(text):
    """What links to headings of a page end in."""
    titles = re.findall(r"^#+ (.*)", text, re.M)
    return {"#" + re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def named_pages(path, text):
    """(match, page, heading) of each page of ours that a page or a comment names."""
    for match in re.finditer(r"(?<![\w./-])docs/[a-z_/-]+\.md\b", text):
        yield match, match.group(), None
    if path.endswith(".md"):
        for match in re.finditer(r"\]\(([^\s():#]*\.md)?(#[^\s()]+)?\)", text):
            page = os.path.join(os.path.dirname(path), match.group(1)) if match.group(1) else path
            yield match, os.path.normpath(page), match.group(2)


def links(root):
    """Each page that a page or a comment names exists, and each heading that a link names."""
    for path in files(root, TEXT + (".md",)):
        if path == "tests/style/style.t":
            continue
        text = read(root, path)
        for match, page, heading in named_pages(path, text):
            exists = os.path.exists(os.path.join(root, page))
            if not exists or heading and heading not in anchors(read(root, page)):
                yield f"{path}:{line_of(text, match.start())}: no {page}{heading or ''}"


def words(root):
    """No unfinished work."""
    unfinished = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
    for path in files(root, TEXT):
        text = read(root, path)
        for match in unfinished.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group()}"


def private_paths(root):
    """No path of a developer's machine."""
    private = re.compile(r"(?<![\w.])/(?:work/(?:main|shared)|tmp/brief)\b|\.\./" + r"shared/")
    for path in files(root, TEXT + (".md", ".txt", ".json", ".in")):
        text = read(root, path)
        for match in private.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group()}"


def tagged_functions(root, paths):
    """(path, name, first line, last line) of each function, by ctags."""
    if not shutil.which("ctags"):
        raise Unavailable("no ctags: install universal-ctags")
    command = ["ctags", "--quiet", "--options=NONE", "--languages=C", "--langmap=C:.c.h",
               "--kinds-C=f", "--fields=+ne", "-f", "-", *paths]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"ctags is not universal-ctags: {done.stderr.strip()}")
    for tag in done.stdout.splitlines():
        name, path, *rest = tag.split("\t")
        lines = dict(field.split(":", 1) for field in rest if field.startswith(("line:", "end:")))
        if "end" in lines:
            yield path, name, int(lines["line"]), int(lines["end"])


def braced_functions(root, paths):
    """The same by braces in the first column: finds what ctags misses behind a macro."""
    for path in paths:
        lines = read(root, path).split("\n")
        begin = None
        for number, line in enumerate(lines, 1):
            if line == "{":
                begin = number
            elif line.startswith("}") and begin:
                yield path, lines[begin - 2].strip(), begin - 1, number
                begin = None


def function_length(root):
    """Functions are short enough to see whole, also those of tests."""
    paths = files(root, (".c", ".h"), "user", "bpf", "tests", "tools")
    if not paths:
        return
    seen = set()
    for path, name, first, last in [*tagged_functions(root, paths), *braced_functions(root, paths)]:
        if last - first + 1 > FUNCTION_LINES_MAX and (path, last) not in seen:
            seen.add((path, last))
            yield f"{path}:{first}: {name} has {last - first + 1} lines, {FUNCTION_LINES_MAX} are the most"


def comment_columns(root):
    """Lines with a comment fit into the columns of the code: clang-format does not break comments."""
    for path in files(root, (".c", ".h"), "user", "bpf", "tests", "tools"):
        text = read(root, path)
        lines, commented = text.split("\n"), set()
        for match in COMMENT.finditer(text):
            if match.group().startswith("/"):
                commented.update(range(line_of(text, match.start()), line_of(text, match.end()) + 1))
        for number in sorted(commented):
            columns = len(lines[number - 1].expandtabs(8))
            if columns > COLUMNS_MAX:
                yield f"{path}:{number}: a comment ends in column {columns}, {COLUMNS_MAX} is the last"


def find_clang_format():
    for name in ("clang-format-" + CLANG_FORMAT_MAJOR, "clang-format"):
        if not shutil.which(name):
            continue
        version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
        if re.search(rf"version {CLANG_FORMAT_MAJOR}\.", version.stdout):
            return name
    raise Unavailable(f"no clang-format {CLANG_FORMAT_MAJOR}, and versions differ")


def formatted(root):
    """Every file is formatted by clang-format."""
    paths = files(root, CODE, "user", "bpf", "tools", "tests")
    if not paths:
        return
    done = subprocess.run([find_clang_format(), "--dry-run", "-Werror", *paths], cwd=root,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        yield from sorted({line.split(":")[0] + ": not formatted"
                           for line in done.stderr.splitlines() if ": error:" in line})


RULES = (spdx, noticed, layers, bpf_apart, skeleton, silent, opens, exits, front_pages, measured, guide, links, words, private_paths, function_length, comment_columns, formatted)
