# SPDX-License-Identifier: GPL-2.0
"""Java servers of the live tests: a Selector loop on a Unix socket, which does what a byte says."""
import glob
import os
import re
import socket
import subprocess

from live import end, start, wait_for

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live", "programs")


def compile_program(folder, name):
    """For the oldest JVM that is tested."""
    subprocess.run(["javac", "-nowarn", "--release", "17", "-d", folder, os.path.join(PROGRAMS, name)], check=True)


def version(java):
    """The major version, or 0."""
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def machines():
    """The JVMs here, one of each version, as (version, program)."""
    found = {version(java): java for java in ["java", *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))][::-1]}
    return sorted((number, java) for number, java in found.items() if number)


class Server:
    def __init__(self, folder, main, *options, java="java"):
        self.path = os.path.join(folder, "socket")
        self.process = start([java, *options, "-cp", folder, main, self.path], stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.client = socket.socket(socket.AF_UNIX)
        wait_for(self.connects, what="the server's socket")

    def connects(self):
        try:
            self.client.connect(self.path)
        except OSError:
            return False
        return True

    def do(self, letters):
        for letter in letters:
            self.client.sendall(letter.encode())
            self.client.recv(1)

    def write_map(self):
        subprocess.run(["jcmd", str(self.pid), "Compiler.perfmap"], stdout=subprocess.DEVNULL, check=True, timeout=60)

    def end(self):
        end(self.process)
        self.client.close()
        for path in (self.path, self.path + ".data", f"/tmp/perf-{self.pid}.map"):
            if os.path.exists(path):
                os.unlink(path)


def stacks(blocks):
    """The program's frames of each sample, innermost first."""
    for block in blocks:
        for sample in block["samples"]:
            found = [frame for frame in sample["stack"] if not frame.get("kernel")]
            if found:
                yield found
