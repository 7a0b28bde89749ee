# SPDX-License-Identifier: GPL-2.0
"""A guest that looks like an Android device: Debian's adbd in a virtual machine, an adb server of
its own, tools/android.sh."""
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "vm"))
import apt  # noqa: E402
import kernels  # noqa: E402
import programs  # noqa: E402
import qemu  # noqa: E402

SCRIPT = os.path.join(ROOT, "tools", "android.sh")
TRIPLET = "aarch64-linux-gnu"
LIBRARY_FOLDERS = [f"/usr/lib/{TRIPLET}/android", f"/lib/{TRIPLET}", f"/usr/lib/{TRIPLET}", f"/usr/{TRIPLET}/lib"]
KERNEL = "arm64/6.12"
GUEST_PORT = 5555

# The shell that adbd starts is mksh, as on Android. If /unrooted exists, the shell is not root, as
# on most devices.
SHELL = """#!/bin/busybox sh
if [ -n "${BY_ADBD-}" ] && [ -e /unrooted ]; then
	unset BY_ADBD
	exec /bin/busybox su -s /bin/mksh shell "$@"
fi
unset BY_ADBD
exec /bin/mksh "$@"
"""
PASSWD = "root::0:0:root:/root:/bin/mksh\nshell::2000:2000:shell:/tmp:/bin/mksh\n"
INIT = f"""mkdir -p /data/local/tmp /tiny
chmod 777 /data/local/tmp
mount -t tmpfs -o size=256k tmpfs /tiny
BY_ADBD=1 ADBD_PORT={GUEST_PORT} /adbd/lib/ld-linux-aarch64.so.1 --library-path /adbd/lib /adbd/adbd >/tmp/adbd.log 2>&1 &
while [ ! -e /end ]; do sleep 0.2; done
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program_files(program, to):
    """A dynamic program for arm64 and its libraries, for the guest: those beside it, and the arm64 ones of this machine,
    with which it was built. Only 7-Zip's cannot be installed beside this machine's own."""
    own = os.path.dirname(program)

    def find(name):
        if name == "7z.so":
            return os.path.join(programs.get("arm64", "bookworm", "p7zip-full", "usr/lib/p7zip/7z.so"), name)
        here = [os.path.join(folder, name) for folder in [own, *LIBRARY_FOLDERS]]
        return next((path for path in here if os.path.exists(path)), None)

    def place(name, path):
        return os.path.join(os.path.dirname(to), name) if os.path.dirname(path) == own else guest_path(name, path)

    return [(program, to), *((path, place(name, path)) for name, path in programs.libraries(program, find).items())]


def guest_path(name, path):
    """The folder where a library looks for another."""
    if name.startswith("ld-linux"):
        return "/lib/" + name
    if name == "7z.so":
        return "/usr/lib/p7zip/" + name
    return os.path.join(LIBRARY_FOLDERS[0] if "/android/" in path else f"/usr/lib/{TRIPLET}", name)


class Device:
    """with Device(folder, files) as device: … device.script("push") …"""

    def __init__(self, folder, files, timeout_s=280):
        self.folder = folder
        self.forward, self.server = free_port(), free_port()
        self.serial = f"127.0.0.1:{self.forward}"
        self.env = dict(os.environ, ANDROID_ADB_SERVER_PORT=str(self.server), ANDROID_SERIAL=self.serial,
                        HOME=folder, ADB_LOCAL_TRANSPORT_MAX_PORT="5554")
        self.result, self.trouble = None, None
        kernel = kernels.get(KERNEL)
        adbd = programs.get(kernel.arch, "trixie", "adbd", "usr/lib/android-sdk/platform-tools/adbd")
        files = [*files, *self._write_files(kernel)]
        self.guest = qemu.Guest(kernel, self._write("init", INIT), files, [(adbd, "/adbd")],
                                forwards=[(self.forward, GUEST_PORT)], scratch=True, timeout_s=timeout_s)

    def _write(self, name, text, mode=0o755):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def _write_files(self, kernel):
        su = shutil.copy(kernel.busybox(), os.path.join(self.folder, "su"))
        os.chmod(su, 0o4755)
        mksh = programs.get(kernel.arch, "trixie", "mksh", "usr/lib/aarch64-linux-musl/bin/mksh")
        return [(su, "/bin/su"), (os.path.join(mksh, "mksh"), "/bin/mksh"), (self._write("sh", SHELL), "/bin/sh"),
                (self._write("passwd", PASSWD, 0o644), "/etc/passwd")]

    def __enter__(self):
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        while self.thread.is_alive():
            if self.adb("connect", self.serial).stdout.startswith("connected") and \
               self.adb("shell", "test -d /data/local/tmp && echo up").stdout == "up\n":
                return self
            self.adb("disconnect", self.serial)
            time.sleep(0.5)
        self.adb("kill-server")
        raise RuntimeError(f"the guest ended: {self.trouble or self.result.why}\n{self.console()}")

    def _run(self):
        try:
            self.result = qemu.run(self.guest, os.path.join(self.folder, "out"))
        except OSError as error:
            self.trouble = error

    def __exit__(self, *_):
        self.adb("shell", "touch /end")
        self.thread.join(self.guest.timeout_s)
        self.adb("kill-server")

    def console(self):
        return self.result.last_lines() if self.result else ""

    def adb(self, *args, timeout=60):
        return subprocess.run(["adb", *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout, check=False)

    def shell(self, command):
        """The command's output in the guest. It runs as root even when adb's shell does not."""
        return self.adb("shell", f"su -c {quoted(command)}").stdout

    def script(self, *args, stdin="", timeout=120, **env):
        """Runs tools/android.sh: its status, stdout and stderr."""
        return subprocess.run([SCRIPT, *args], env=self.env | env, input=stdin, capture_output=True, text=True,
                              timeout=timeout, check=False, cwd=self.folder)

    def start(self, *args, **options):
        return subprocess.Popen([SCRIPT, *args], env=self.env, cwd=self.folder, text=True, **options)

    def terminal(self, *args):
        return Terminal([SCRIPT, *args], self.env, self.folder)


class Terminal:
    """A program with its own terminal, for tests that press keys."""

    def __init__(self, command, env, folder):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(command[0], command, env)

    def press(self, keys):
        os.write(self.fd, keys)

    def wait_for(self, words, timeout_s=60):
        """Reads until the words appear; False: they never did."""
        end = time.monotonic() + timeout_s
        while words not in self.text and time.monotonic() < end and self._read(0.2):
            pass
        return words in self.text

    def _read(self, timeout_s):
        ready, _, _ = select.select([self.fd], [], [], timeout_s)
        try:
            data = os.read(self.fd, 65536) if ready else None
        except OSError: # the other side is closed
            data = b""
        self.text += (data or b"").decode(errors="replace")
        return data != b""

    def end(self, timeout_s=60):
        """Its status at its end, or None: it had to be killed."""
        end = time.monotonic() + timeout_s
        while self._read(0.2):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return None
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def why_not():
    """What this machine lacks for such a guest, or None."""
    for name in ("adb", "readelf"):
        if not shutil.which(name):
            return f"{name} is not installed"
    return qemu.missing("arm64")


Unavailable = apt.Unavailable
