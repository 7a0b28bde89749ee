#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: get_java.py VERSION FOLDER

Debian's JDK of that version, from the suite that has it, with that suite's libraries in FOLDER/root; and FOLDER/java, which
runs it there, in a mount namespace of its own (as root)."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "vm"))
import apt  # noqa: E402
import programs  # noqa: E402

SUITES = {"11": "bullseye", "21": "trixie"}
LOADS = ["libjvm.so", "libnio.so", "libnet.so", "libzip.so", "libjava.so", "libjimage.so"]
LOADER = "ld-linux-x86-64.so.2"
RUN = """#!/bin/sh
export ROOT={root}
exec unshare -m sh -c 'mount --rbind /proc $ROOT/proc && mount --bind /dev $ROOT/dev && mount --bind /var/tmp $ROOT/var/tmp &&
	exec chroot $ROOT /{jvm}/bin/java "$@"' java "$@"
"""


def main():
    version, folder = sys.argv[1:]
    jvm, root = f"usr/lib/jvm/java-{version}-openjdk-amd64", os.path.join(os.path.abspath(folder), "root")
    try:
        at = programs.get("x86_64", SUITES[version], f"openjdk-{version}-jre-headless", jvm + "/bin/java",
                          [jvm, f"etc/java-{version}-openjdk"], LOADS)
    except apt.Unavailable as reason:
        sys.exit(f"JDK {version}: {reason}")
    shutil.rmtree(root, ignore_errors=True)
    for name in ("usr", "etc"):
        shutil.copytree(os.path.join(at, name), os.path.join(root, name), symlinks=True)
    shutil.copytree(os.path.join(at, "lib"), os.path.join(root, "lib", "x86_64-linux-gnu"))
    os.makedirs(os.path.join(root, "lib64"))
    shutil.copy(os.path.join(at, "lib", LOADER), os.path.join(root, "lib64"))
    for name in ("proc", "dev", "tmp", "var/tmp"):
        os.makedirs(os.path.join(root, name))
    path = os.path.join(folder, "java")
    with open(path, "w", encoding="utf-8") as file:
        file.write(RUN.format(root=root, jvm=jvm))
    os.chmod(path, 0o755)


if __name__ == "__main__":
    main()
