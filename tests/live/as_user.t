#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""--as USER: COMMAND has that user's ids, groups, environment and no capability."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

UID, GID, GROUPS = 4242, 4243, (4244, 4245)
PASSWD = f"root:x:0:0::/root:/bin/bash\njanktest:x:{UID}:{GID}::/var/empty:/bin/false\n4242x:x:77:77:::\n"
GROUP = f"root:x:0:root\none:x:{GROUPS[0]}:root,janktest\nown:x:{GID}:janktest\nother:x:99:janktes\ntwo:x:{GROUPS[1]}:janktest\n"
SHOW = "id -u; id -g; id -G; grep -E 'Cap(Eff|Prm)' /proc/self/status; env"
IN_NAMESPACE = 'mount --bind "$1" /etc/passwd; mount --bind "$2" /etc/group; shift 2; exec "$@"'


def run(*args, **env):
    """jankbpf where the test's users exist."""
    files = [bad.scratch("passwd"), bad.scratch("group")]
    return subprocess.run(["unshare", "-m", "sh", "-ec", IN_NAMESPACE, "sh", *files, bad.JANK, *args], text=True,
                          capture_output=True, timeout=60, check=False, env={**os.environ, **env})


def test_is_user(name):
    done = run("-q", "--json", "--as", name, "--", "sh", "-c", SHOW, SUDO_USER="janktest")
    lines = done.stdout.splitlines()
    ids = [str(UID), str(GID), " ".join(map(str, (GID, *GROUPS)))]
    ok(done.returncode == 0 and lines[:3] == ids, f"--as {name}: uid, gid and groups", done)
    caps = [line.split()[1] for line in lines if line.startswith("Cap")]
    ok(len(caps) == 2 and not any(int(cap, 16) for cap in caps), f"--as {name}: no capability", caps)
    wanted = {"HOME=/var/empty", "USER=janktest", "LOGNAME=janktest", "SHELL=/bin/false"}
    ok(wanted <= set(lines), f"--as {name}: its environment", lines)


def test_records():
    os.chmod(bad.SCRATCH, 0o711)
    done = run("-q", "--json", "-t", "25ms", "-n", "1", "--as", "janktest", "--", bad.SIMJANK, "--quiet", "--duration",
               "1h", "--scenario", "sleep:40ms")
    blocks = [r for r in map(bad.json.loads, done.stdout.splitlines()) if r["type"] == "block"]
    ok(done.returncode == 0 and [b["uid"] for b in blocks] == [UID], "its blocks have that uid, and it is ended", done)


def test_refused():
    for name in ("nobody-there", "janktes", "42429", "", "4242\n"):
        done = run("--as", name, "--", "touch", bad.scratch("ran"))
        wanted = 1 if name.isprintable() and name else 2
        ok(done.returncode == wanted and "--as" in done.stderr and "Bail" not in done.stderr
           and not os.path.exists(bad.scratch("ran")), f"--as {name!r} is refused", done)
    done = run("--as", "nobody-there", "--", "true")
    ok("--as 'nobody-there': /etc/passwd has no such user" in done.stderr, "with the reason", done)
    program = bad.scratch("private")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod(program, 0o700)
    done = run("--as", "janktest", "--", program)
    ok(done.returncode == 1 and f"cannot run '{program}' as user janktest: Permission denied" in done.stderr,
       "a program that only root may run", done)


def test_suggestion():
    line = "'true' runs as root; as your own user: --as janktest"
    counts = [run(*options, "--", "true", **env).stderr.count(line) for options, env in (
        ([], {"SUDO_USER": "janktest"}), (["-q"], {"SUDO_USER": "janktest"}), (["--as", "root"], {"SUDO_USER": "janktest"}),
        ([], {"SUDO_USER": "root"}), ([], {"SUDO_USER": ""}))]
    ok(counts == [1, 0, 0, 0, 0], "SUDO_USER: one line suggests --as where COMMAND would run as root", counts)


bad.need_tracing()
for file_name, content in (("passwd", PASSWD), ("group", GROUP)):
    with open(bad.scratch(file_name), "w", encoding="utf-8") as out:
        out.write(content)
for user in ("janktest", str(UID)):
    test_is_user(user)
test_records()
test_refused()
test_suggestion()
bad.done()
