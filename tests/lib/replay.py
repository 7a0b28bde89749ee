# SPDX-License-Identifier: GPL-2.0
"""Shared by the replay tests: TAP, replays by a user without privileges, and a parser of
journals."""
import json
import os
import shutil
import struct
import subprocess
import tempfile

from tap import Tap  # noqa: F401 (tests import it from here)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JANKBPF = os.path.realpath(os.environ.get("JANKBPF", os.path.join(ROOT, "jankbpf")))
HEADER_SZ = 16
NOBODY = 65534
KINDS = {"loop": 1, "block": 2, "hang": 3, "stack": 4, "thread": 14, "exec": 6}
# fields that a replay cannot know
COST = ("start_cpu_ns", "bpf_ns", "bpf_runs", "ns_per_dispatch", "user_cpu_ns", "rss_kb", "pss_kb")


class Scratch:
    """A folder that the user `nobody` can use, with a copy of the program. `nobody` may have no
    access to the checkout."""

    def __init__(self):
        self.temp = tempfile.TemporaryDirectory(prefix="jank-replay-")
        self.path = self.temp.name
        self.program = shutil.copy(JANKBPF, self.path)
        os.chmod(self.path, 0o777)

    def file(self, name):
        return os.path.join(self.path, name)

    def put(self, name, content):
        with open(self.file(name), "wb") as out:
            out.write(content)
        os.chmod(self.file(name), 0o644)
        return self.file(name)

    def replay(self, *options, **how):
        return self.run("replay", *options, **how)

    def run(self, command, *options, **how):
        """Runs as the user `nobody` without capabilities if we are root, else as the current
        user."""
        command = [self.program, command, *options]
        if os.getuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                       "--inh-caps=-all", "--bounding-set=-all", *command]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **how}
        run = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, **how)
        run.stderr = (run.stderr or b"").decode(errors="replace")
        return run


def records(output):
    """The objects of JSON Lines; each line must be whole."""
    if isinstance(output, bytes):
        output = output.decode()
    if output and not output.endswith("\n"):
        raise ValueError("the last line is torn")
    return [json.loads(line) for line in output.split("\n")[:-1]]


def ids(found):
    return [(record["type"], record.get("id")) for record in found]


def without_cost(record):
    """A record without what only the tracer itself can know."""
    ret = dict(record)
    if "cost" in ret:
        ret["cost"] = {key: value for key, value in ret["cost"].items() if key not in COST}
    return ret


def lacks(got, want, path=""):
    """Yields each difference of got from want. got may have more members: fields may be added."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key, value in want.items():
            if key not in got:
                return f"{path}.{key} is missing"
            found = lacks(got[key], value, f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        found = (lacks(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(got, want)))
        return next((text for text in found if text), None)
    return None if got == want else f"{path} is {got!r}, not {want!r}"


def split_journal(content):
    """The header, and the records as (kind, bytes)."""
    at, found = HEADER_SZ, []
    while at < len(content):
        size, kind = struct.unpack_from("<IH", content, at)
        found.append((kind, content[at:at + size]))
        at += size
    return content[:HEADER_SZ], found
