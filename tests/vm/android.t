#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tools/android.sh with a real adbd: an arm64 guest, the static jankbpf, the real android::Looper.

Differences from a device: the guest has no bionic, no SELinux and no ART.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import device  # noqa: E402
from live import ROOT, Tap, account_error, judge_truth, skip_all  # noqa: E402

OUT = ".output" if os.uname().machine == "aarch64" else ".output/arm64"
LOOPER = os.path.join(ROOT, OUT, "rel/simjank-looper")
STATIC = os.path.join(ROOT, "jankbpf-aarch64")
DIR = "/data/local/tmp"
WORDS = ["a  b", "it's", "$HOME `id` $(id)", '"\\"', "", "*", "two\nlines\n", "-n", "ü"]
# Times in an emulator mean nothing. The test checks which dispatches were long, and why.
JUDGED = ["--threshold", "25ms", "--guard", "12ms", "--loop", "android-looper", "--tolerance", "duration_p99=60ms",
          "--tolerance", "running_max=none", "--tolerance", "runnable_max=none", "--tolerance", "cpu_max=none",
          "--tolerance", "kind_rate=0.95"]
WORK = ["--quiet", "--scenario", "busy,kernel,sleep,mutex,cond,pipe,socket,poll,epoll,disk,mixed",
        "--length", "70ms-120ms", "--gap", "30ms", "--short-rate", "50/s", "--dir", "/var/tmp"]
WHY = "not built: make deps-cross android-parts"


def said(done):
    return f"status {done.returncode}\nstdout: {done.stdout[-600:]}\nstderr: {done.stderr[-1500:]}"


def records(text):
    return [json.loads(line) for line in text.split("\n") if line.startswith("{")]


def check_push(tap, dev):
    done = dev.script("run", "--version")
    tap.check(done.returncode == 1 and "android.sh push" in done.stderr, "run before push: says that push comes first", said(done))
    done = dev.script("push", sys.executable)
    tap.check(done.returncode == 1 and "is no program for aarch64" in done.stderr,
              "push refuses a program for another machine", said(done))
    done = dev.script("--dir", "/tiny", "push")
    tap.check(done.returncode == 1 and "KB free" in done.stderr, "push refuses if there is no room", said(done))
    done = dev.script("--dir", "/nowhere", "push")
    tap.check(done.returncode == 1 and "no folder /nowhere" in done.stderr, "push refuses if the folder does not exist", said(done))
    done = dev.script("push")
    tap.check(done.returncode == 0 and "jankbpf 0." in done.stderr and "aarch64, kernel 6.12" in done.stderr,
              "push finds the binary, and it starts", said(done))
    done = dev.script("--dir", "/data/local/tmp/a b", "push")
    tap.check(done.returncode == 1, "push does not create a missing folder", said(done))


def check_run(tap, dev, way=""):
    """Statuses, streams and words are the same for every way to root."""
    done = dev.script("run", "--version")
    tap.check(done.returncode == 0 and done.stdout.startswith("jankbpf 0.") and not done.stderr,
              f"{way}run: stdout, and nothing else", said(done))
    done = dev.script("run", "-p")
    tap.check(done.returncode == 2 and not done.stdout and "-p needs its PID" in done.stderr,
              f"{way}run: wrong usage is status 2, with a message on stderr", said(done))
    done = dev.script("run", "--", "-q", "-p", "4194304")
    tap.check(done.returncode == 1 and not done.stdout and "4194304" in done.stderr,
              f"{way}run: a failure is status 1; -- before jankbpf's options", said(done))
    show = 'printf "<%s>" "$@"; echo aside >&2; cat; id -u; pwd; exit 5'
    done = dev.script("run", "-q", "--json", "--", "sh", "-c", show, "sh", *WORDS, stdin="from stdin\n")
    wanted = "".join(f"<{word}>" for word in WORDS) + f"from stdin\n0\n{DIR}\n"
    tap.check(done.stdout.startswith(wanted), f"{way}run: keeps words, passes stdin, is root in {DIR}", said(done))
    tap.check(done.stderr == "aside\n", f"{way}run: stderr is separate", said(done))
    tap.check(done.returncode == 5, f"{way}run: the status is COMMAND's", said(done))


def judge(tap, what, truth, blocks):
    judge_truth(tap, what, truth, blocks, JUDGED)


def check_stream(tap, what, done):
    """The records are whole, one a line, with the summary last."""
    found = records(done.stdout)
    tap.check(done.returncode == 0 and found and found[-1]["type"] == "summary",
              f"{what}: ends well, with the summary", said(done))
    blocks = [r for r in found if r["type"] == "block"]
    tap.check(not [b for b in blocks if account_error(b)], f"{what}: each of {len(blocks)} accounts sums up")
    tap.check(found and not set(found[-1]["lost"]) - {"evidence_shed"}, f"{what}: nothing was lost", found[-1:])
    return [b["id"] for b in blocks]


def check_command(tap, dev):
    """Runs COMMAND on the device. Its records on stdout, in files and in the journal are the
    same."""
    what = "run -- COMMAND"
    done = dev.script("run", "--json", "-t", "25ms", "-o", "kept", "--journal", "journal", "--", "./simjank-looper",
                      "--truth", "truth", "--start-delay", "1s", "--duration", "8s", *WORK)
    ids = check_stream(tap, what, done)
    stream = os.path.join(dev.folder, "stream")
    with open(stream, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    done = dev.script("pull", "kept", f"{DIR}/journal", "truth", "got/here")
    pulled = os.path.join(dev.folder, "got", "here")
    if not tap.check(done.returncode == 0 and sorted(os.listdir(pulled)) == ["journal", "kept", "truth"],
                     "pull: files and a folder, into a new folder", said(done)):
        return
    judge(tap, what, os.path.join(pulled, "truth"), stream)
    with open(os.path.join(pulled, "kept", "blocks.jsonl"), encoding="utf-8") as file:
        kept = [r["id"] for r in records(file.read()) if r["type"] == "block"]
    tap.check(kept == ids and ids, f"pull: the {len(kept)} blocks in files are those on stdout", kept, ids)
    done = subprocess.run([os.path.join(ROOT, "jankbpf"), "-q", "replay", "--json", "-t", "25ms",
                           os.path.join(pulled, "journal")], capture_output=True, text=True, timeout=60, check=False)
    again = [r["id"] for r in records(done.stdout) if r["type"] == "block"]
    tap.check(sorted(again) == sorted(ids), "pull: a journal of arm64 replays here, to the same blocks", said(done))


def start_looper(dev, *options):
    """Starts a simjank-looper that waits for SIGUSR1; returns its pid on the device."""
    command = " ".join(["./simjank-looper", "--wait", *WORK, *options])
    dev.shell(f"cd {DIR} && mkfifo /tmp/ready; {command} --ready-fd 7 </dev/null >/dev/null 2>&1 7<>/tmp/ready &")
    return dev.shell("head -n 1 /tmp/ready; rm /tmp/ready").split()[-1]


def check_pid(tap, dev):
    what = "run -p PID"
    pid = start_looper(dev, "--truth", "truth2", "--start-delay", "100ms", "--duration", "6s")
    running = dev.start("run", "-v", "--json", "-t", "25ms", "-p", pid, stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in running.stderr:
        if "tracing;" in line:
            break
    dev.shell(f"kill -USR1 {pid}")
    out, err = running.communicate(timeout=90)
    check_stream(tap, what, subprocess.CompletedProcess([], running.returncode, out, err))
    blocks = os.path.join(dev.folder, "blocks2")
    with open(blocks, "w", encoding="utf-8") as file:
        file.write(out)
    done = dev.script("pull", "truth2")
    tap.check(done.returncode == 0, "pull: into this folder", said(done))
    judge(tap, what, os.path.join(dev.folder, "truth2"), blocks)


def remains(dev):
    """jankbpf processes and their id files on the device."""
    return dev.shell(f"pidof jankbpf; ls -A {DIR} | grep '^.jankbpf'").strip()


def check_interrupt(tap, dev):
    pid = start_looper(dev, "--duration", "100s")
    dev.shell(f"kill -USR1 {pid}")
    keys = dev.terminal("run", "-v", "-t", "25ms", "-p", pid)
    came = keys.wait_for("android-looper ━") # a block's headline
    keys.press(b"\x03")
    status = keys.end()
    tap.check(came and status == 0 and "━━ summary" in keys.text, "Ctrl-C: ends well, with the summary",
              f"status {status}\n{keys.text[-2000:]}")
    tap.check(remains(dev) == "", "Ctrl-C: leaves nothing on the device", remains(dev))

    running = dev.start("run", "-v", "--json", "-p", pid, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
    for line in running.stderr:
        if "tracing;" in line:
            break
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=60)
    tap.check(running.returncode == 0 and '"type":"summary"' in out, "SIGTERM does the same", running.returncode)

    keys = dev.terminal("run", "-v", "-t", "25ms", "-p", pid)
    keys.wait_for("tracing;")
    dev.shell("kill -STOP $(pidof jankbpf)") # a stopped process handles no signal
    keys.press(b"\x03")
    time.sleep(1)
    keys.press(b"\x03")
    status = keys.end()
    tap.check(status == 128 + signal.SIGKILL, "a second Ctrl-C kills it if it ignores the first",
              f"status {status}\n{keys.text[-1000:]}")
    tap.check(remains(dev) == "", "and nothing of it remains on the device", remains(dev))
    dev.shell(f"kill {pid}")


def check_unrooted(tap, dev):
    """adb's shell as on a device with root, and on a device without."""
    dev.shell("touch /unrooted")
    uid = dev.adb("shell", "id -u").stdout.strip()
    tap.check(uid == "2000", "the guest's adb shell is not root now", uid)
    check_run(tap, dev, "by su, ")
    dev.shell(f"mkdir -m 700 {DIR}/secret; umask 77; echo told >{DIR}/secret/file")
    done = dev.script("pull", "secret", "by-su")
    path = os.path.join(dev.folder, "by-su", "secret", "file")
    tap.check(done.returncode == 0 and os.path.exists(path) and open(path, encoding="utf-8").read() == "told\n",
              "by su, pull: a file that only root may read", said(done))
    dev.shell("touch /unrooted-for-good; chmod 755 /bin/su")
    done = dev.script("run", "--version")
    tap.check(done.returncode == 77 and not done.stdout and "no root on the device" in done.stderr,
              "no root at all: status 77, with the remedy", said(done))


def check_old(tap, dev):
    """An adb without the shell protocol."""
    path = os.path.join(dev.folder, "old-adb")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ncase "$*" in *features*) exit 1 ;; esac\nexec adb "$@"\n')
    os.chmod(path, 0o755)
    done = dev.script("run", "-q", "--json", "--", "sh", "-c", "echo 'two  words'; echo aside >&2; exit 6", ADB=path)
    tap.check(done.returncode == 6, "an old adb: the status is COMMAND's", said(done))
    tap.check(done.stdout.startswith("two  words\n{") and "\r" not in done.stdout, "an old adb: stdout is unchanged", said(done))
    tap.check("too old" in done.stderr and done.stderr.endswith("aside\n"), "an old adb: messages come at the end", said(done))
    keys = device.Terminal([device.SCRIPT, "run", "-q", "--json", "--", "sleep", "100"], dev.env | {"ADB": path}, dev.folder)
    keys.wait_for("too old")
    time.sleep(3)
    keys.press(b"\x03")
    status = keys.end()
    tap.check(status is not None and '"type":"summary"' in keys.text, "an old adb: Ctrl-C ends it with the summary",
              f"status {status}\n{keys.text[-1000:]}")


def check_lost(tap, dev):
    running = dev.start("run", "-v", "--", "sleep", "60", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE)
    for line in running.stderr:
        if "tracing;" in line:
            break
    dev.adb("disconnect", dev.serial)
    _, err = running.communicate(timeout=60)
    tap.check(running.returncode == 1 and "ended before jankbpf did" in err, "a device that disappears: status 1, with a message",
              running.returncode, err)
    done = dev.script("run", "--version")
    tap.check(done.returncode == 1 and "is not there" in done.stderr, "and the next run says that it is not there",
              said(done))
    dev.adb("connect", dev.serial)


def check_absent(tap, dev):
    done = dev.script("pull", "no such file")
    tap.check(done.returncode == 1 and f"no {DIR}/no such file on the device" in done.stderr,
              "pull of a missing file reports it", said(done))


CHECKS = (check_push, check_run, check_command, check_pid, check_interrupt, check_absent, check_old, check_lost,
          check_unrooted)


def main():
    missing = device.why_not() or next((f"{path} is {WHY}" for path in (LOOPER, STATIC) if not os.path.exists(path)), None)
    if missing:
        skip_all(missing)
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-android-") as folder:
        try:
            dev = device.Device(folder, device.program_files(LOOPER, f"{DIR}/simjank-looper"))
        except device.Unavailable as reason:
            skip_all(str(reason))
        with dev:
            for check in CHECKS:
                check(tap, dev)
        tap.check(dev.result.status == 0, "the guest ends well", dev.result.why, dev.console())
    tap.end()


if __name__ == "__main__":
    main()
