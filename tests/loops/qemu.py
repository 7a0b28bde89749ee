# SPDX-License-Identifier: GPL-2.0
"""QEMU's main loop, stalled by a monitor command that writes much memory of a guest that never
runs."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

import stall

MACHINES = {"qemu-system-x86_64": "pc", "qemu-system-aarch64": "virt"}
MEMORY_MB = 64


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        for _ in range(500):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.02)
        self.answer()

    def answer(self):
        text = b""
        while not text.endswith(b"\n(qemu) "):
            text += self.socket.recv(65536)

    def do(self, line):
        self.socket.sendall(line.encode() + b"\n")
        self.answer()


def main():
    program = next(filter(shutil.which, MACHINES), None)
    if not program:
        stall.cannot("not installed: qemu-system-x86 or qemu-system-arm")
    stall.open_()
    with tempfile.TemporaryDirectory(prefix="jank-qemu-") as folder:
        path = os.path.join(folder, "monitor")
        machine = subprocess.Popen([program, "-M", MACHINES[program], "-accel", "tcg", "-S", "-nodefaults",
                                    "-display", "none", "-m", str(MEMORY_MB), "-monitor",
                                    f"unix:{path},server=on,wait=off"], stdin=subprocess.DEVNULL,
                                   preexec_fn=stall.open_)
        monitor = Monitor(path)
        stall.ready(machine.pid)
        stall.await_start()
        for number in range(stall.ROUNDS):
            time.sleep(stall.TICK_S * stall.APART)
            stall.driven("pmemsave", machine.pid,
                         lambda: monitor.do(f"pmemsave 0 {MEMORY_MB << 20:#x} \"{folder}/memory{number}\""),
                         "kernel", None)
        monitor.socket.sendall(b"quit\n")
        machine.wait(20)


main()
