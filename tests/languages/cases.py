# SPDX-License-Identifier: GPL-2.0
"""Programs with known stalls, one a language: what is blamed, and at which line, against what each does."""
import collections
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Moment, Trace, end, start  # noqa: E402


class Case:
    """What a program's stacks may have in a case, outwards; the first is to blame. And words of the sentence."""

    def __init__(self, functions, words=""):
        self.functions, self.words = functions.split(", "), words


# entry: only stacks with such a function count. outer: functions that are in each stack, outside of the handler.
# prefix: of its functions' names. inlines: a compiler may leave only the function into which it put another one.
Runtime = collections.namedtuple("Runtime", "program cases handler outer entry prefix inlines socket",
                                 defaults=((), "", "", False, False))

RUNTIMES = {
    "node": Runtime("stalls.js", {
        "busy": Case("until, compute, cases.busy"), "json": Case("parseCatalog", "JSON.parse ← parseCatalog"),
        "regex": Case("checkName", "a regular expression ← checkName"), "fifo": Case("loadConfig", "readFileSync ← loadConfig"),
        "lock": Case("takeLock"), "sort": Case("compareRows, sortRows"), "recursion": Case("descend, cases.recursion"),
        "method": Case("rebuild, cases.method"), "async": Case("finish"), "closure": Case("closure, perRequest"),
        "unnamed": Case("anonymous in unnamed #2, unnamed"), "collection": Case("grow")}, ["onCommand", "onDone"], entry="JSEntry"),
    "java": Runtime("Stalls.java", {
        "busy": Case("until, compute, busy"), "regex": Case("checkName"), "fifo": Case("loadConfig"), "lock": Case("takeLock"),
        "sort": Case("ByKey.compare, sortRows"), "recursion": Case("descend"), "method": Case("Catalog.rebuild, makeCatalog"),
        "inlined": Case("tax, total, invoice"), "lambda": Case("lambda$perRequest$1, perRequest"), "collection": Case("grow")},
        ["onCommand", "serve"], ("main", "serveAlways", "lambda$main$2"), prefix="Stalls[.$]", inlines=True, socket=True),
    "python": Runtime("stalls.py", {
        "busy": Case("until, compute, busy"), "json": Case("parse_catalog"),
        "regex": Case("check_name"), "fifo": Case("load_config"), "lock": Case("take_lock"),
        "sort": Case("sort_key, sort_rows"), "recursion": Case("descend, <lambda>"),
        "method": Case("Catalog.rebuild, make_catalog"), "async": Case("inner, finish"),
        "closure": Case("per_request.<locals>.closure, per_request"), "collection": Case("grow")},
        ["on_command", "main.<locals>.on_stdin"], ("<module>",)),
    "ruby": Runtime("stalls.rb", {
        "busy": Case("spin, compute, busy"), "json": Case("parse_catalog"), "regex": Case("check_name"), "fifo": Case("load_config"),
        "lock": Case("take_lock"), "sort": Case("compare_rows, sort_rows"), "recursion": Case("descend, recursion"),
        "method": Case("rebuild, make_catalog"), "closure": Case("per_request"), "collection": Case("grow")},
        ["on_command"], ("<main>",)),
}


def lines(path):
    """The line of each mark."""
    with open(path, encoding="utf-8") as file:
        return {mark: nr for nr, line in enumerate(file, 1) for mark in re.findall(r"@(\w+)$", line.rstrip())}


class Stalls:
    """A program that does a case for each line, and answers when it is done. command: before the program's arguments."""

    def __init__(self, runtime, command, folder, *arguments):
        self.fifo = os.path.join(folder, f"fifo-{time.monotonic_ns()}")
        os.mkfifo(self.fifo)
        if runtime.socket:
            self.serve([*command], arguments)
        else:
            self.process = start([*command, self.fifo, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.files = [self.process.stdin, self.process.stdout]
        self.pid = self.process.pid
        self.files[1].readline()

    def serve(self, command, arguments):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.process = start([*command, str(server.getsockname()[1]), self.fifo, *arguments])
            server.settimeout(60)
            with server.accept()[0] as client:
                client.settimeout(None)
                self.files = [client.makefile(mode) for mode in "wr"]

    def do(self, case):
        if case == "fifo":
            threading.Thread(target=self.write_late, daemon=True).start()
        self.files[0].write(case + "\n")
        self.files[0].flush()
        if not self.files[1].readline():
            raise RuntimeError(f"{case}: the program has ended")

    def write_late(self):
        time.sleep(0.15)
        with open(self.fifo, "w", encoding="ascii") as file:
            file.write("x")

    def end(self):
        end(self.process)
        for file in self.files:
            file.close()


class Result:
    """Of a case: what is blamed, and the counts of stacks, frames and lines."""

    def __init__(self):
        self.blamed, self.summary, self.is_right, self.stacks, self.named, self.frames = None, "", False, 0, 0, 0
        self.missed, self.wrong_stacks = [], {}
        self.lines, self.off, self.wrong = (collections.Counter() for _ in range(3))


def own_name(runtime, frame):
    """A function of the program, without the class around all; None: another's."""
    if not frame.get("function") or os.path.basename(frame.get("file", "")) != runtime.program:
        return None
    return re.sub("^" + runtime.prefix, "", frame["function"])


def judge(runtime, case, block, where):
    result = Result()
    functions = runtime.cases[case].functions
    if not block:
        return result
    blamed = (block.get("cause") or {}).get("frame") or {}
    result.blamed, result.summary = own_name(runtime, blamed) or blamed.get("function"), block["cause"]["summary"]
    innermost = collections.Counter()
    for sample in block["samples"]:
        stack = [frame for frame in sample.get("stack", ()) if not frame.get("kernel")]
        is_in = any(runtime.entry in f.get("function", "") for f in stack) if runtime.entry else bool(stack)
        found = [(frame, own_name(runtime, frame)) for frame in stack if own_name(runtime, frame)]
        inner = [each for each in found if each[1] not in runtime.outer]
        innermost.update(name for _, name in inner[:1])
        result.stacks += is_in
        result.named += is_in and bool(inner)
        if is_in and not inner:
            result.missed.append([frame.get("function", frame.get("module")) for frame in stack])
        result.frames += len(found)
        allowed = [*functions, *([case] if runtime.entry else []), *runtime.handler, *runtime.outer]
        for name in (name for _, name in found if name not in allowed):
            result.wrong[name] += 1
            result.wrong_stacks.setdefault(name, [name for _, name in found])
        for frame, name in inner[:1]:
            if name == functions[0] and frame.get("line"):
                is_good = abs(frame["line"] - where[case]) <= 1
                result.lines[is_good] += 1
                result.off.update([] if is_good else [frame["line"]])
    # What a compiler put into its caller has no frame.
    inlined = runtime.inlines and innermost.most_common(1)[0:1] == [(result.blamed, innermost[result.blamed])]
    result.is_right = result.blamed in (functions if inlined else functions[:1])
    return result


def command_of(name, program, folder, options=()):
    """What runs the language's program; compiles it first if need be."""
    source = os.path.join(HERE, RUNTIMES[name].program)
    if name != "java":
        return [program, *options, source]
    if not os.path.exists(os.path.join(folder, "Stalls.class")):
        subprocess.run(["javac", "-nowarn", "--release", "11", "-d", folder, source], check=True)
    return [program, *options, "-cp", folder, "Stalls"]


def trace_cases(programs, kinds, repeat=2):
    """Does the cases in each of the programs. The trace, and by program {case: [Moment]}."""
    moments = [collections.defaultdict(list) for _ in programs]
    try:
        with Trace(*(program.pid for program in programs)) as trace:
            time.sleep(1)
            for case in [*kinds] * repeat:
                for program, each in zip(programs, moments):
                    with Moment() as moment:
                        program.do(case)
                    each[case].append(moment)
                    time.sleep(0.05)
    finally:
        for program in programs:
            program.end()
    return trace, moments


def block_of(moment, blocks):
    """The block of a moment; not the end of the one before, when it has none."""
    block = moment.block(blocks)
    return block if block and 2 * block["start_ns"] + block["duration_ns"] >= 2 * moment.begin_ns else None


def all_results_of(name, trace, program, moments):
    """{case: [Result of each of its runs]}."""
    where = lines(os.path.join(HERE, RUNTIMES[name].program))
    blocks = [block for block in trace.blocks if block["pid"] == program.pid]
    return {case: [judge(RUNTIMES[name], case, block_of(moment, blocks), where) for moment in each]
            for case, each in moments.items()}


def best_of(results):
    """{case: Result}: the better one of the runs of each case."""
    return {case: max(each, key=lambda r: (r.is_right, r.stacks)) for case, each in results.items()}


def run_all(name, path, warm, options=(), arguments=(), repeat=2):
    """{case: [Result]} of all cases of a language, and the trace."""
    with tempfile.TemporaryDirectory(prefix="jank-languages-", dir="/var/tmp") as folder:
        program = Stalls(RUNTIMES[name], command_of(name, path, folder, options), folder, *arguments)
        for case in [*RUNTIMES[name].cases] * 2 * warm:
            program.do(case)
        trace, (moments,) = trace_cases([program], RUNTIMES[name].cases, repeat)
    return all_results_of(name, trace, program, moments), trace


def run(*of, **options):
    """{case: Result} of the better one of the runs of a case, and the trace."""
    results, trace = run_all(*of, **options)
    return best_of(results), trace
