# SPDX-License-Identifier: GPL-2.0-or-later
"""Tools that take stacks of a running process; each returns a list of samples."""
import json
import re
import signal
import subprocess
import tempfile
import threading
import time

from frames import Frame, Sample

FREQUENCY = "199"
SETTLE_S = 1.0
KERNEL_BIT = 1 << 63
SYMBOL = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")
HEAD = re.compile(r"\S.*?\s(\d+)/(\d+)\s")


class Jankbpf:
    """The jankbpf of this checkout, or of another."""

    def __init__(self, path, name="jankbpf"):
        self.path, self.name = path, name
        self.cost = None

    def start(self, pid, options):
        self.out = tempfile.NamedTemporaryFile(prefix="stacks-", suffix=".jsonl")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([self.path, "-v", "--json", "-F", FREQUENCY, "-t", "20ms", "-p", str(pid), *options],
                                        stdout=self.out, stderr=subprocess.PIPE, text=True)
        ready = threading.Event()
        self.reader = threading.Thread(target=self.drain, args=(ready,), daemon=True)
        self.reader.start()
        if not ready.wait(30):
            raise RuntimeError(f"{self.path} does not trace")

    def drain(self, ready):
        for line in self.process.stderr:
            if "tracing;" in line:
                ready.set()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        with open(self.out.name, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        self.out.close()
        self.blocks = [record for record in records if record["type"] == "block"]
        self.summary = next((record for record in records if record["type"] == "summary"), None)
        return [sample_of(block, sample) for block in self.blocks for sample in block["samples"]]


def sample_of(block, sample):
    frames = tuple(Frame(frame.get("function"), frame.get("module", "?"), frame.get("offset"), frame.get("inlined", False),
                         frame.get("language")) for frame in sample["stack"] if not frame.get("kernel"))
    return Sample(block["tid"], frames, sample["state"] == "running")


class Perf:
    def __init__(self, graph):
        self.graph, self.name = graph, f"perf {graph}"

    def start(self, pid, _options):
        self.data = tempfile.NamedTemporaryFile(prefix="stacks-", suffix=".perf")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", FREQUENCY, "--call-graph", self.graph,
                                         "-o", self.data.name, "-p", str(pid)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(SETTLE_S)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        script = subprocess.run(["perf", "script", "-i", self.data.name, "--no-inline", "-F", "comm,pid,tid,time,ip,sym,symoff,dso"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                                timeout=600, check=False).stdout
        self.data.close()
        return list(self.parse(script))

    def parse(self, script):
        tid, frames = None, []
        for line in [*script.splitlines(), ""]:
            if not line.strip():
                if tid is not None:
                    yield Sample(tid, tuple(frames), True)
                tid, frames = None, []
            elif tid is None:
                head = HEAD.match(line)
                tid = int(head[2]) if head else -1
            else:
                frames += self.frame(line, 1 if frames and self.graph == "dwarf" else 0)

    def frame(self, line, less):
        """less: by how much its unwinder moves callers' addresses. Addresses are those in the file,
        if there is one."""
        match = SYMBOL.match(line)
        if not match or int(match[1], 16) & KERNEL_BIT or match[3].startswith("[kernel"):
            return []
        if match[3] == "[unknown]":
            return [Frame(None, "?", None)]
        address, symbol, module = int(match[1], 16) + less, match[2], match[3]
        name, _, offset = symbol.rpartition("+0x")
        if symbol == "[unknown]" or not name:
            return [Frame(None, module, address)]
        return [Frame(name.partition("@@")[0], module, int(offset, 16) + less)]


def file_bases(pid):
    """(begin, end, offset in the file) of a process's mappings of files."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if len(words) > 5 and words[5].startswith("/"):
                low, high = (int(word, 16) for word in words[0].split("-"))
                found.add((low, high, int(words[2], 16)))
    return found
