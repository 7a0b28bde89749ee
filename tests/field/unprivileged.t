#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What an unprivileged user tries against a tracer: to have a file of root read, to stop or slow the
process that makes names, and to read the tracer's environment."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import bad  # noqa: E402
import live  # noqa: E402
from field import Field  # noqa: E402

ATTACKER = 61011  # no user of this machine
SECRET = "a_name_in_a_file_of_root"
field = Field("unprivileged users")


def as_user(uid, *command):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command]


def test_file_of_root():
    """The process was root's when it became known."""
    folder = bad.scratch("mounter")
    os.mkdir(folder)
    program = live.build(folder, "mounter.c")
    process = bad.start([program, f"{folder}/secret", str(ATTACKER)], stdout=bad.subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
        bad.wait_for(lambda: tracer.stdout().count(b"\n") > 1)
        process.send_signal(signal.SIGUSR1)
        mounted = process.stdout.readline() == "mounted\n"
        before = tracer.stdout().count(b"\n")
        bad.wait_for(lambda: tracer.stdout().count(b"\n") > before + 4)
        result = tracer.stop()
    finally:
        bad.end(process)
        os.unlink(f"/tmp/perf-{process.pid}.map")
    if not mounted:
        return field.skip("a file of root over the perf map", "no namespaces for users here")
    return field.case("a file of root over the perf map of a program that gave up root: not read",
                      result.blocks() and SECRET not in result.out, result.err)


def can(uid, *command):
    return bad.subprocess.run(as_user(uid, *command), capture_output=True, check=False).returncode == 0


def test_processes():
    """Of nobody, whose processes are many on some machines, and of another user."""
    process = bad.target("loop", 40)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    for name in ("jankbpf-name", "jankbpf-sites"):
        pid = bad.own_process(tracer.pid, name)
        for uid in (65534, ATTACKER):
            right = pid and not can(uid, "renice", "-n", "19", str(pid)) and not can(uid, "kill", "-STOP", str(pid))
            field.case(f"{name}: another user can neither slow nor stop it", right, f"uid {uid}")
            os.kill(pid, signal.SIGCONT)
    tracer.stop()
    bad.end(process)


def test_environment():
    process = bad.target("loop", 40)
    env = {**os.environ, "BACKEND_TOKEN": "a secret"}
    seen = bad.scratch("seen")
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid, "--on-block", f"env >>{seen}", env=env)
    bad.wait_for(lambda: os.path.exists(seen) and os.path.getsize(seen))
    tracer.stop()
    bad.end(process)
    with open(seen, encoding="utf-8") as file:
        text = file.read()
    field.case("a command of --on-block does not get the secrets of the tracer's environment",
               "JANKBPF_SUMMARY=" in text and "PATH=" in text and "BACKEND_TOKEN" not in text, text)


bad.need_tracing()
os.chmod(bad.SCRATCH, 0o755)
test_file_of_root()
test_processes()
test_environment()
field.done()
