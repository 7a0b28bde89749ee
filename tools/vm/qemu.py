# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest from its boot to its end, under a watchdog. Its files come back as tar files through a
virtio port: every kernel has the driver, possibly built in, while some archives lack the modules of
a disk. Files that a guest hands over before its end (/bin/hand-over) are there even if it hangs or
dies."""
import contextlib
import dataclasses
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import apt
import initramfs
import kernels

# The CPUs take turns in one thread. With two threads (QEMU 7.2), one may go on executing a
# translation of code that the other has patched meanwhile, as kernels do to attach a tracepoint:
# x86-64 hit a breakpoint that was removed long ago and panicked; arm64 did not call an attached
# tracepoint on any CPU, until the monitor's `singlestep on` made QEMU translate again. For arm64
# -cpu max takes twice as long.
MACHINES = {
    "x86_64": ("qemu-system-x86_64", ["-accel", "tcg,thread=single", "-machine", "q35", "-cpu", "max"],
               "console=ttyS0"),
    "arm64": ("qemu-system-aarch64", ["-accel", "tcg,thread=single", "-machine", "virt", "-cpu", "cortex-a57"],
              "console=ttyAMA0"),
}
HUNG, DIED = 124, 125
LAST_LINES = 40
SCRATCH_SIZE = 256 << 20 # sparse
IOPS = 400 # as slow as disks are
TICK_S = 1.0 # of the watchdog


@dataclasses.dataclass
class Result:
    status: int # the script's, or HUNG or DIED
    up_s: float # until the guest's init was ready
    run_s: float
    console: str
    why: str = ""
    waited_s: float = 0.0 # of run_s, for a CPU of this machine

    def last_lines(self):
        return "\n".join(self.console.splitlines()[-LAST_LINES:])


@dataclasses.dataclass
class Guest:
    kernel: kernels.Kernel
    script: str # a file for the guest's sh
    files: list = dataclasses.field(default_factory=list) # (source, path in the guest)
    trees: list = dataclasses.field(default_factory=list)
    modules: list = dataclasses.field(default_factory=list)
    forwards: list = None # (port here, port there); a list, even an empty one, gives it a network
    scratch: bool = False # a file system on a disk, at /var/tmp, if possible
    timeout_s: float = 120 # without the time in which it waits for a CPU of this machine
    memory_mb: int = 1024
    append: str = ""
    cpu: str = "" # another one than the machine's
    counted: bool = False # its clocks advance by a nanosecond with each instruction
    # more devices of QEMU, each with its options
    devices: list = dataclasses.field(default_factory=list)
    echo: bool = False # copies the console to stderr as it comes


def missing(arch):
    """What is not installed here, or None."""
    return None if shutil.which(MACHINES[arch][0]) else f"{MACHINES[arch][0]} is not installed"


def try_slot(number):
    """An open, locked file, or None."""
    file = open(os.path.join(kernels.cache_folder(), f"guest.{number}.lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except OSError:
        file.close()
        return None


@contextlib.contextmanager
def slot():
    """As many guests at a time as there are CPUs: each takes one. Others wait here, including those
    of other processes."""
    os.makedirs(kernels.cache_folder(), exist_ok=True)
    file = None
    while file is None:
        file = next(filter(None, map(try_slot, range(os.cpu_count()))), None)
        if file is None:
            time.sleep(TICK_S)
    with file:
        yield


def run(guest, out):
    """Boots the guest and waits for its end; the files that it left in /out are then in the folder
    `out`."""
    with slot(), tempfile.TemporaryDirectory(prefix="jank-vm-") as folder:
        initrd, files, scratch = (os.path.join(folder, name) for name in ("initrd", "files", "scratch"))
        fit(guest)
        build(guest, initrd)
        if guest.scratch:
            make_scratch(scratch)
        result = watch(guest, command(guest, initrd, files, scratch))
        collect(result, files, out)
        return result


def fit(guest):
    """An archive may no longer have the modules of a kernel: a guest works without a disk, but not
    without a network."""
    if missing(guest.kernel.arch):
        raise apt.Unavailable(missing(guest.kernel.arch))
    if guest.forwards is not None and not guest.kernel.modules(["virtio_net"]):
        raise apt.Unavailable(f"{guest.kernel.name}: the archive has no modules of it, so no network")
    guest.scratch = guest.scratch and bool(guest.kernel.modules(["virtio_blk"]))


def make_scratch(path):
    with open(path, "wb") as file:
        file.truncate(SCRATCH_SIZE)
    subprocess.run(["/sbin/mkfs.ext4", "-qF", "-O", "^metadata_csum", path], check=True)


def build(guest, path):
    modules = ["virtio_pci", "virtio_console", *guest.modules]
    modules += ["virtio_net"] if guest.forwards is not None else []
    modules += ["virtio_blk", "ext4"] if guest.scratch else []
    fs = initramfs.base(guest.kernel, modules)
    fs.file(guest.script, "script", 0o755)
    for source, to in guest.trees:
        fs.tree(source, to)
    for source, to in guest.files:
        fs.file(source, to)
    fs.write(path)


def command(guest, initrd, out, scratch):
    qemu, machine, console = MACHINES[guest.kernel.arch]
    words = ["setpriv", "--pdeathsig", "KILL", qemu, *machine, *(["-cpu", guest.cpu] if guest.cpu else []), "-smp", "2",
             "-m", str(guest.memory_mb), "-nodefaults", "-no-reboot", "-display", "none",
             "-serial", "stdio", "-kernel", guest.kernel.path("vmlinuz"), "-initrd", initrd,
             "-chardev", f"file,id=out,path={out}", "-device", "virtio-serial-pci",
             "-device", "virtserialport,chardev=out,name=out"]
    words += ["-icount", "shift=0,sleep=off"] if guest.counted else []
    words += [word for device in guest.devices for word in ("-device", device)]
    variables = [console, "quiet panic=-1", guest.append]
    if guest.scratch:
        words += ["-drive", f"if=none,id=scratch,format=raw,cache=unsafe,throttling.iops-total={IOPS},file={scratch}",
                  "-device", "virtio-blk-pci,drive=scratch"]
        variables.append("SCRATCH=1")
    if guest.forwards is not None:
        variables.append("NET=1")
        ports = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in guest.forwards)
        words += ["-netdev", f"user,id=net{ports}", "-device", "virtio-net-pci,netdev=net,romfile="]
    return [*words, "-append", " ".join(variables)]


def waited_s(pid):
    """How long a process has waited for a CPU so far: the maximum of its threads, which is the
    thread that runs the guest's CPUs. 0 if the kernel does not report it."""
    most_ns = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError), open(path, encoding="ascii") as file:
            most_ns = max(most_ns, int(file.read().split()[1]))
    return most_ns / 1e9


class Watchdog(threading.Thread):
    """Ends a guest that exceeds its limit. Time in which it waits for a CPU of this machine does
    not count: otherwise a busy machine would decide what is tested. All other time counts, so that
    a guest that sleeps for ever ends, too."""

    def __init__(self, process, timeout_s):
        super().__init__(daemon=True)
        self.process, self.timeout_s = process, timeout_s
        self.begin = time.monotonic()
        self.waited_s, self.fired = 0.0, False
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(TICK_S):
            self.waited_s = max(self.waited_s, waited_s(self.process.pid))
            if time.monotonic() - self.begin - self.waited_s > self.timeout_s:
                self.fired = True
                self.process.kill()
                return


def go_first():
    """Its clocks go on while it waits for a CPU: root gives it a better priority than busy neighbours."""
    with contextlib.suppress(OSError):
        os.nice(-10)


def watch(guest, words):
    qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            preexec_fn=go_first)
    dog = Watchdog(qemu, guest.timeout_s)
    dog.start()
    lines, up_s = [], 0.0
    try:
        for line in qemu.stdout:
            lines.append(line.decode(errors="replace").rstrip("\r\n"))
            if not up_s and lines[-1].startswith("guest: up "):
                up_s = time.monotonic() - dog.begin
            if guest.echo:
                print(lines[-1], file=sys.stderr, flush=True)
        qemu.wait()
    finally:
        dog.over.set()
        if qemu.poll() is None:
            qemu.kill()
            qemu.wait()
        dog.join()
    result = Result(DIED, up_s, time.monotonic() - dog.begin, "\n".join(lines), waited_s=dog.waited_s)
    if dog.fired:
        result.status, result.why = HUNG, f"no end after {guest.timeout_s:g} s"
    elif qemu.returncode:
        result.why = f"qemu ended with status {qemu.returncode}"
    return result


def collect(result, files, out):
    """The files that came through the port, and from them the status; a guest without one has
    died."""
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "console"), "w", encoding="utf-8") as file:
        file.write(result.console + "\n")
    unpack(files, out)
    if result.status == HUNG:
        return
    try:
        with open(os.path.join(out, ".status"), encoding="utf-8") as file:
            result.status = int(file.read())
    except (OSError, ValueError):
        panic = re.search(r"Kernel panic[^\n]*", result.console)
        result.why = panic.group(0).strip() if panic else result.why or "the guest ended before its script did"


def unpack(files, out):
    """One tar file after the other; the last one may be truncated: an incomplete file is left
    out."""
    with contextlib.suppress(tarfile.TarError, OSError), tarfile.open(files, "r:", ignore_zeros=True) as tar:
        for member in tar:
            if member.isfile() and not re.search(r"^/|\.\.", member.name):
                extract(tar, member, out)


def extract(tar, member, out):
    path = os.path.join(out, member.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tar.extractfile(member) as source:
        data = source.read()
    if len(data) != member.size:
        raise tarfile.ReadError(f"{member.name} is cut short")
    with open(path, "wb") as file:
        file.write(data)
