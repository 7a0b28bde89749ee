#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make deb: lintian finds no error; in a clean Debian with systemd the packages are installed, the agent starts and
records a slow dispatch, an upgrade keeps the configuration, and a purge leaves nothing."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import bad
from bad import ok

TOP = os.path.join(HERE, "../..")
GROUP = "jankbpf-deb-test"
NEEDED = ("mmdebstrap", "dpkg-buildpackage", "dh", "lintian", "unshare", "nsenter")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)


def built():
    done = run("make", "-C", TOP, "deb")
    ok(not done.returncode, "make deb", done.stdout[-2000:] + done.stderr[-2000:])
    changes = glob.glob(os.path.join(TOP, ".output/deb/*.changes"))
    lint = run("lintian", "--allow-root", *changes)
    ok(not re.findall("^E: ", lint.stdout, re.M), "lintian finds no error", lint.stdout)
    return [path for path in glob.glob(os.path.join(TOP, ".output/deb/*.deb")) if "dbgsym" not in path]


def next_version(packages, directory):
    """The same packages as a later version."""
    made = []
    for package in packages:
        tree = os.path.join(directory, "tree")
        run("dpkg-deb", "-R", package, tree)
        control = os.path.join(tree, "DEBIAN/control")
        with open(control, encoding="utf-8") as file:
            text = re.sub(r"^Version: (.*)$", r"Version: \1.1", file.read(), flags=re.M)
        with open(control, "w", encoding="utf-8") as file:
            file.write(text)
        made.append(os.path.join(directory, "next-" + os.path.basename(package)))
        run("dpkg-deb", "--root-owner-group", "-b", tree, made[-1])
        shutil.rmtree(tree)
    return made


class Machine:
    """A clean Debian, booted by its own systemd in namespaces."""

    def __init__(self, directory):
        self.root = os.path.join(directory, "root")
        suite = next((line[17:].strip('"\n') for line in open("/etc/os-release", encoding="utf-8")
                      if line.startswith("VERSION_CODENAME=")), "stable")
        done = run("mmdebstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,procps", "--skip=cleanup/apt", suite, self.root)
        ok(not done.returncode, "a clean Debian", done.stderr[-2000:])
        shutil.copy(bad.SIMJANK, os.path.join(self.root, "usr/bin/simjank"))
        self.process = subprocess.Popen([os.path.join(HERE, "boot"), self.root, GROUP], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        ok(bad.wait_for(self.is_up, 60), "its systemd runs", self.run("systemctl", "list-units", "--failed").stdout)

    def init(self):
        """The process id of its systemd: a child of unshare."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return file.read().split()

    def run(self, *command):
        pids = self.init()
        return run("nsenter", "-t", pids[0], "-a", "-r", *command) if pids else subprocess.CompletedProcess(command, 1, "", "no init")

    def is_up(self):
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def install(self, *packages):
        for package in packages:
            shutil.copy(package, os.path.join(self.root, "root"))
        inside = ["/root/" + os.path.basename(package) for package in packages]
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends",
                        "-o", "Dpkg::Options::=--force-confold", *inside)

    def read(self, path):
        try:
            with open(self.root + path, encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    def main_pid(self):
        return self.run("systemctl", "show", "-P", "MainPID", "jankbpf").stdout.strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        for directory in glob.glob(f"/sys/fs/cgroup/{GROUP}") + glob.glob(f"/sys/fs/cgroup/*/{GROUP}"):
            bad.wait_for(lambda d=directory: remove_group(d))


def remove_group(directory):
    for path, _, _ in os.walk(directory, topdown=False):
        try:
            os.rmdir(path)
        except OSError:
            return False
    return True


def check_install(machine, packages):
    done = machine.install(*packages)
    ok(not done.returncode, "the packages are installed", done.stdout[-2000:] + done.stderr[-2000:])
    ok("jankbpf:" in machine.read("/etc/passwd"), "the user jankbpf exists")
    ok(machine.run("jankbpf", "--version").stdout.startswith("jankbpf "), "the program runs")
    ok(bad.wait_for(lambda: machine.run("systemctl", "is-active", "jankbpf").stdout == "active\n", 60), "the agent has started",
       machine.run("journalctl", "-u", "jankbpf", "--no-pager").stdout[-2000:])
    ok(machine.run("systemctl", "is-enabled", "jankbpf").stdout == "enabled\n", "and starts at boot")
    score = re.search(r"exposure level for jankbpf.service: ([\d.]+)",
                      machine.run("systemd-analyze", "security", "--no-pager", "jankbpf").stdout)
    ok(score and float(score[1]) < 6, "systemd-analyze security", score and score[0])
    bad.RESULTS.note(score[0] if score else "no score")
    subprocess.run(["nsenter", "-t", machine.init()[0], "-a", "-r", "simjank", "--quiet", "--scenario", "sleep:150ms", "--count", "4"],
                   check=False, timeout=60, capture_output=True)
    ok(bad.wait_for(lambda: '"function":"do_sleep"' in machine.read("/var/lib/jankbpf/blocks.jsonl"), 60),
       "a slow dispatch is recorded", machine.run("journalctl", "-u", "jankbpf", "--no-pager").stdout[-2000:])
    ok(bad.wait_for(lambda: re.search(r'"function":"[^"]*nanosleep[^}]*"kernel":true|"kernel":true[^}]*"function":"[^"]*nanosleep', machine.read("/var/lib/jankbpf/blocks.jsonl")), 10),
       "the service may read the kernel's names", machine.read("/var/lib/jankbpf/blocks.jsonl")[:3000])
    processes = {json.loads(line).get("process") for line in machine.read("/var/lib/jankbpf/blocks.jsonl").splitlines()} - {None}
    ok("simjank" in processes, "of the program", processes)


def check_upgrade(machine, packages):
    path = machine.root + "/etc/jankbpf/jankbpf.conf"
    with open(path, "a", encoding="utf-8") as file:
        file.write("# of the operator\n")
    before = machine.main_pid()
    done = machine.install(*packages)
    ok(not done.returncode, "an upgrade", done.stdout[-2000:] + done.stderr[-2000:])
    ok("# of the operator" in machine.read("/etc/jankbpf/jankbpf.conf"), "keeps the configuration")
    ok(bad.wait_for(lambda: machine.main_pid() not in ("0", before) and
                    machine.run("systemctl", "is-active", "jankbpf").stdout == "active\n", 60), "and starts the new agent")


def check_purge(machine):
    done = machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "-y", "jankbpf", "jankbpf-agent")
    ok(not done.returncode, "a purge", done.stderr[-2000:])
    left = [path for path in ("/etc/jankbpf", "/var/lib/jankbpf", "/usr/bin/jankbpf", "/lib/systemd/system/jankbpf.service",
                              "/etc/systemd/system/multi-user.target.wants/jankbpf.service", "/run/jankbpf")
            if os.path.lexists(machine.root + path)]
    ok(not left, "leaves nothing", left)
    pids = machine.run("pgrep", "jankbpf").stdout
    ok(not pids, "and no process", pids)


def main():
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        bad.skip_all(f"no {' '.join(missing)}: make deps-fleet")
    bad.need_tracing()
    packages = built()
    directory = bad.scratch("machine")
    os.makedirs(directory, exist_ok=True)
    machine = Machine(directory)
    try:
        check_install(machine, packages)
        check_upgrade(machine, next_version(packages, directory))
        check_purge(machine)
    finally:
        machine.end()
    bad.done()


main()
