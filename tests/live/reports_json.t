#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""doctor --json and loops --json say the same as the text, in the members of docs/contract.md."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import JANKBPF, ROOT, Tap, end, need, start  # noqa: E402

DOCTOR = {"schema", "version", "system", "kernel", "arch", "cpus", "uid", "tracing", "checks"}
CHECK = {"part", "name", "status", "text", "remedy"}
KIND = {"loop", "id", "waits", "about", "note", "untested", "only_with_l", "known_by", "called_by", "parked_by", "over",
        "marks", "file", "line"}
PROCESS = {"pid", "process", "exe", "loops"}
LOOP = {"loop", "tid", "thread", "waits_in", "descriptors", "turns", "in_wait", "frames", "in_catalogue", "messages", "note",
        "only_with_l", "untested"}
TITLES = {"user": "User (uid", "kept": "Kept by a trace", "system": "System", "kernel": "Kernel (names"}
VERDICTS = {"no": "Tracing is not possible", "degraded": "Tracing is possible, less", "full": "Tracing is possible, with"}
NO_CAPS = ("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all")
LOOP_PROGRAM = """import select, sys
poll = select.epoll()
print("ready", flush=True)
while True:
    poll.poll(0.02)
"""
LOOP_FILE = """[engine]
about = an engine "of ours"
library = libnothing-of-ours.so*
wait = epoll
mark = engine_handle
"""


def run(*words, before=()):
    done = subprocess.run([*before, JANKBPF, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def one_object(tap, text, what):
    """The object; it is alone on its line."""
    good = text.count("\n") == 1 and text.endswith("\n")
    try:
        value = json.loads(text)
    except ValueError as error:
        value, good = {}, tap.note(str(error))
    tap.check(good, f"{what}: one object on one line", text[-300:])
    return value


# --- doctor

def line_of(check):
    remedy = "; " + check["remedy"] if "remedy" in check else ""
    return f"  {check['status']:8}  {check['name']:20} {check['text']}{remedy}"


def wrong_parts(checks, lines):
    """Checks that are not below their part's title in the text."""
    title, under = "", {}
    for line in lines:
        title = title if line.startswith("  ") else line
        under[line] = title
    return [c for c in checks if not under.get(line_of(c), "").startswith(TITLES[c["part"]])]


def test_doctor(tap, what, *options, before=()):
    text_rc, text, _ = run("doctor", *options, before=before)
    rc, out, err = run("doctor", "--json", *options, before=before)
    report = one_object(tap, out, what)
    checks = report.get("checks", [])
    tap.check([line_of(c) for c in checks] == [line for line in text.splitlines() if line.startswith("  ")],
              f"{what}: {len(checks)} checks as in the text", out, text)
    tap.check(not wrong_parts(checks, text.splitlines()), f"{what}: in the parts of the text", wrong_parts(checks, text.splitlines()))
    tap.check(VERDICTS[report["tracing"]] in text and rc == text_rc == (77 if report["tracing"] == "no" else 0) and not err,
              f"{what}: the verdict is {report['tracing']}", rc, text_rc, err)
    tap.check(set(report) == DOCTOR and all(CHECK - {"remedy"} <= set(c) <= CHECK for c in checks), f"{what}: the members", out)
    head = text.splitlines()[0]
    wanted = f"jankbpf {report['version']} on {report['system']} {report['kernel']}, {report['arch']}, {report['cpus']} CPUs"
    tap.check(head == wanted and f"(uid {report['uid']})" in text, f"{what}: the machine", head, wanted)
    return checks


def test_doctors(tap):
    test_doctor(tap, "doctor")
    checks = test_doctor(tap, "doctor without uprobes", "--disable-feature", "uprobe")
    tap.check([c["status"] for c in checks if c["name"] == "uprobe"] == ["degraded"], "uprobe is degraded", checks)
    checks = test_doctor(tap, "doctor without ringbuf", "--disable-feature", "ringbuf")
    tap.check(all("remedy" in c for c in checks if c["name"] == "ringbuf"), "what is missing has a remedy", checks)
    checks = test_doctor(tap, "doctor without privilege", before=NO_CAPS)
    tap.check({"CAP_BPF", "CAP_PERFMON"} <= {c["name"] for c in checks if c["status"] == "missing" and "remedy" in c},
              "without privilege: the capabilities are missing", checks)
    full = subprocess.run(["sh", "-c", '"$0" doctor --json >/dev/full', JANKBPF], capture_output=True, check=False)
    tap.check(full.returncode == 1, "a report that cannot be written fails", full)


# --- loops

def kind_line(kind):
    flags = (" (untested)" if kind["untested"] else "") + (" (only with -l)" if kind["only_with_l"] else "")
    return f"{kind['loop']:16} {','.join(kind['waits']):16} {kind.get('about', '')}{flags}"


def test_kinds(tap, what, *options):
    _, text, _ = run("loops", *options)
    rc, out, err = run("loops", "--json", *options)
    report = one_object(tap, out, what)
    kinds = report["kinds"]
    tap.check(rc == 0 and not err and set(report) == {"schema", "kinds"} and report["schema"] == "jankbpf-loops/1",
              f"{what}: the members of the object", rc, err, sorted(report))
    tap.check([kind_line(k) for k in kinds] == text.splitlines()[1:], f"{what}: {len(kinds)} rows as in the text",
              *[kind_line(k) for k in kinds], text)
    tap.check(all(set(k) <= KIND for k in kinds), f"{what}: the members of a row", [set(k) - KIND for k in kinds])
    return kinds


def test_marks_of_kinds(tap, kinds):
    _, text, _ = run("loops", "-v")
    marks = re.findall(r"(?m)^    message  ([^:\n]+)(?:: (.*))?$", text)
    got = [(m.get("function") or m["address"], ", ".join(m["fields"])) for k in kinds for m in k["marks"]]
    tap.check(got == marks and marks, f"{len(marks)} marks as in loops -v", got[:5], marks[:5])


def test_loop_file(tap):
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"jank-reports-{os.getpid()}.loop")
    with open(path, "w", encoding="ascii") as file:
        file.write(LOOP_FILE)
    try:
        kinds = test_kinds(tap, "loops of a file", "--loop-file", path, "-l", "engine")
        tap.check([(k["file"], k["line"], k["known_by"], k["marks"][0]["function"]) for k in kinds]
                  == [(path, 1, [{"library": "libnothing-of-ours.so*"}], "engine_handle")], "a row of --loop-file", kinds)
    finally:
        os.unlink(path)


TEXT_PROCESS = re.compile(r"^(\S.*) \(pid (\d+)\)(?: (.*))?$")
TEXT_LOOP = re.compile(r"^  (\S+) +thread (\d+) (.*)$")
TEXT_WAIT = re.compile(r"^      waits in (\w+)(?: for (\d+) descriptors)?")
TEXT_MARKS = re.compile(r"^      messages: by (\d+) of (\d+) functions$")


def from_text(text):
    """[(process, pid, exe, loop, tid, thread, call, probed)] of the text."""
    rows, process = [], None
    for line in text.splitlines():
        if match := TEXT_PROCESS.match(line):
            process = (match[1], int(match[2]), match[3])
        elif match := TEXT_LOOP.match(line):
            rows.append([*process, match[1], int(match[2]), match[3], None, None])
        elif match := TEXT_WAIT.match(line):
            rows[-1][6] = match[1]
        elif match := TEXT_MARKS.match(line):
            rows[-1][7] = (int(match[1]), int(match[2]))
    return rows


def from_json(report):
    rows = []
    for process in report["processes"]:
        before = None
        for loop in process["loops"]:
            messages = loop.get("messages", {})
            shown = (messages["probed"], messages["functions"]) if messages.get("probed") and before != loop["loop"] else None
            before = loop["loop"]
            rows.append([process["process"], process["pid"], process["exe"], loop["loop"], loop["tid"], loop["thread"],
                         loop.get("waits_in"), shown])
    return rows


def test_processes(tap, programs):
    pids = ",".join(str(p.pid) for p in programs)
    _, text, _ = run("loops", "-q", "-p", pids)
    rc, out, err = run("loops", "--json", "-q", "-p", pids)
    report = one_object(tap, out, "loops -p")
    tap.check(rc == 0 and not err and set(report) == {"schema", "processes", "complete"} and report["complete"] is True,
              "loops -p: the members of the object", rc, err, sorted(report))
    tap.check(from_json(report) == from_text(text) and len(report["processes"]) == len(programs),
              "loops -p: processes, threads, calls and counts as in the text", from_json(report), text)
    loops = [loop for process in report["processes"] for loop in process["loops"]]
    tap.check(all(set(p) == PROCESS for p in report["processes"]) and all(set(loop) <= LOOP for loop in loops),
              "loops -p: the members of processes and loops", out)
    tap.check(all(loop["frames"] and all(set(f) <= {"function", "module"} for f in loop["frames"]) for loop in loops),
              "loops -p: frames with function and module", out)
    tap.check(all(loop["in_catalogue"] == ("messages" in loop) for loop in loops), "loops -p: messages of each row", out)


def test_no_process(tap):
    rc, out, err = run("loops", "--json", "-p", "4194303")
    tap.check(rc == 1 and not out and err.count("\n") == 1, "loops --json on no process: a message, no object", rc, out, err)
    rc, out, err = run("symbolize", "--json", "x")
    tap.check(rc == 2 and "--json does not go with symbolize" in err, "--json goes with no other command", err)


def test_contract(tap):
    with open(os.path.join(ROOT, "docs/contract.md"), encoding="utf-8") as file:
        text = file.read().partition("## JSON of `doctor` and `loops`")[2].partition("\n## ")[0]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    tap.check(not (DOCTOR | CHECK | KIND | PROCESS | LOOP) - words, "docs/contract.md has each member",
              (DOCTOR | CHECK | KIND | PROCESS | LOOP) - words)


def main():
    need()
    tap = Tap()
    test_contract(tap)
    test_doctors(tap)
    kinds = test_kinds(tap, "loops")
    test_kinds(tap, "loops -l", "-l", "redis,node")
    test_marks_of_kinds(tap, kinds)
    test_loop_file(tap)
    programs = [start([os.path.join(ROOT, "simjank"), "--quiet", "--wait", "--threads", "2", "--duration", "60s"]),
                start([sys.executable, "-c", LOOP_PROGRAM], stdout=subprocess.PIPE)]
    try:
        programs[1].stdout.readline()
        test_processes(tap, programs)
    finally:
        for program in programs:
            end(program)
    test_no_process(tap)
    tap.end()


main()
