# SPDX-License-Identifier: GPL-2.0
"""What a virtual machine of tests/vm takes in, and what it leaves behind."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "vm"))
import apt  # noqa: E402
import qemu  # noqa: E402

STARVED = 0.05 # share of its time; then waits for a CPU spoil the times of a trace


def out_folder(arch=None):
    """The build folder for an architecture; by default this machine's."""
    name = {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    return os.path.join(ROOT, ".output", "" if arch in (None, name) else arch)


def static(arch, name):
    """The path of a statically linked program."""
    return os.path.join(out_folder(arch), "static", name)


def need_built(paths, targets):
    """Raises Unavailable, with the make targets, if one of the files does not exist."""
    missing = [os.path.relpath(path, ROOT) for path in paths if not os.path.exists(path)]
    if missing:
        raise apt.Unavailable(f"not built: {', '.join(missing)} (make {targets})")


def text(path):
    """The text of a file that a guest may have left."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def boot(kernel, script, folder, files, *trees, **more):
    """Runs a script in a guest. `files` is a list of (path, path in the guest), for files and
    folders. The guest's output goes to `folder`. `more` goes to qemu.Guest."""
    path = os.path.join(folder, "script")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    return qemu.run(qemu.Guest(kernel, path, list(files), list(trees), **more), folder)


def starved(result):
    """Why times in a guest are not ours, or None. Its clocks go on while it waits for a CPU."""
    share = result.waited_s / max(result.run_s, 1)
    return f"the guest waited {100 * share:.0f} % of its time for a CPU of this machine" if share >= STARVED else None


def records(folder, name):
    """The JSON lines of a file that a guest left."""
    return [json.loads(line) for line in text(os.path.join(folder, name)).splitlines() if line.startswith("{")]


def blocks(folder, name):
    """Blocks that the program caused itself. An emulated machine can start any dispatch late."""
    return [record for record in records(folder, name)
            if record["type"] == "block" and record["duration_ns"] > record["threshold_ns"] and not record.get("phase")]


def without_end(folder, name):
    """The path of NAME.out's records without the last block, from the end of the loop's last wait
    to the end of the process. simjank's truth does not cover that time, and it can be long in an
    emulator."""
    truth = records(folder, name + ".truth")
    told_ns = max((each["end_ns"] for each in truth if each["type"] == "dispatch"), default=0)
    end_ns = max((each["end_ns"] for each in truth), default=0)
    path = os.path.join(folder, name + ".judged")
    with open(path, "w", encoding="utf-8") as file:
        for each in records(folder, name + ".out"):
            if each["type"] != "block" or each["start_ns"] < told_ns or each["start_ns"] + each["duration_ns"] < end_ns:
                file.write(json.dumps(each) + "\n")
    return path
