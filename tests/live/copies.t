#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Copies of a library, as in containers of one image: stacks and names are right in each, each has
its own path, and the tables are read from one of them only."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import Tap, Trace, need  # noqa: E402
from own import own_process  # noqa: E402

COPIES = 12
LIBRARY = "libcopied.so"
CHAIN = ["copied_inner", "copied_handle", "main"]
NOBODY = 65534


def build(folder):
    """One image: a program that looks for its library beside it."""
    source = os.path.join(HERE, "programs", "copied")
    os.mkdir(folder)
    flags = ["gcc", "-O2", "-g", "-fomit-frame-pointer"]
    library = os.path.join(folder, LIBRARY)
    subprocess.run([*flags, "-shared", "-fPIC", "-Wl,--build-id", f"-Wl,-soname,{LIBRARY}", "-o", library,
                    source + "_lib.c"], check=True)
    subprocess.run([*flags, "-o", os.path.join(folder, "copied"), source + ".c", library, "-Wl,-rpath,$ORIGIN"],
                   check=True)
    return folder


def start(folder, *command):
    process = subprocess.Popen(command or [os.path.join(folder, "copied")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    if process.stdout.readline().strip() == b"ready":
        return process
    process.communicate()
    return None


def start_container(image, folder):
    """Runs the image through an overlay in its own mount namespace, as a container does. None: not
    possible here."""
    mounted, empty = (os.path.join(folder, name) for name in ("root", "empty"))
    for path in (mounted, empty):
        os.mkdir(path)
    script = f"mount -t overlay overlay -o lowerdir={empty}:{image} {mounted} 2>/dev/null && exec {mounted}/copied"
    return mounted, start(mounted, "unshare", "-m", "sh", "-c", script)


def opened(tracer):
    """The files called LIBRARY that a tracer's process for names holds open."""
    folder = f"/proc/{own_process(tracer, 'jankbpf-name')}/fd"
    paths = set()
    for name in os.listdir(folder):
        try:
            path = os.readlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        if os.path.basename(path) == LIBRARY:
            paths.add(path)
    return paths


def check_process(tap, what, folder, blocks):
    stacks = [sample["stack"] for block in blocks for sample in block["samples"] if sample.get("stack")]
    chains = [[f["function"] for f in stack if f.get("function") in CHAIN] for stack in stacks]
    inside = [chain for chain in chains if "copied_inner" in chain]
    tap.check(len(inside) > 3 and all(chain == CHAIN for chain in inside), f"{what}: stacks reach main through the library",
              len(blocks), [chain for chain in chains if chain != CHAIN][:3])
    of_it = [f for stack in stacks for f in stack if (f.get("function") or "").startswith("copied_")]
    tap.check({f.get("module") for f in of_it} == {os.path.join(folder, LIBRARY)}, f"{what}: modules have its own path",
              {f.get("module") for f in of_it})
    tap.check(all(f.get("line") and os.path.basename(f["file"]) == "copied_lib.c" for f in of_it),
              f"{what}: with lines")
    return {f.get("build_id") for f in of_it}


def run(tap, folder):
    image = build(os.path.join(folder, "image"))
    places = []
    for number in range(COPIES):
        place = os.path.join(folder, f"copy-{number}")
        shutil.copytree(image, place)
        places.append((f"copy {number}", place, start(place)))
    theirs = os.path.join(folder, "theirs")
    shutil.copytree(image, theirs)
    os.chown(os.path.join(theirs, LIBRARY), NOBODY, NOBODY)
    places.append(("of another owner", theirs, start(theirs)))
    mounted, container = start_container(image, folder)
    if container:
        places.append(("in an overlay", mounted, container))
    else:
        tap.skip("in an overlay", "no overlays or mount namespaces here")
    with Trace(*[process.pid for _, _, process in places]) as trace:
        time.sleep(3)
        held = opened(trace.process.pid)
    for _, _, process in places:
        process.communicate()
    ids = set()
    for what, place, process in places:
        ids |= check_process(tap, what, place, [b for b in trace.blocks if b["pid"] == process.pid])
    tap.check(len(ids) == 1 and None not in ids, "all have one build id", ids)
    own = os.path.join(theirs, LIBRARY)
    tap.check(own in held and len(held) == 2, "only one copy of each owner is read", held)


def main():
    need("gcc", "unshare", "mount")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-copies-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        run(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
