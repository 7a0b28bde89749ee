# SPDX-License-Identifier: GPL-2.0
"""One guest from its boot to its end, under a watchdog; what it left behind comes back as a tar file, through
a virtio port: every kernel has that, be it built in, while some archives lack the modules of a disk."""
import dataclasses
import fcntl
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

# The CPUs take turns in one thread. In two (QEMU 7.2), one may go on executing a translation of code that the other
# has patched meanwhile, as kernels do to attach a tracepoint: x86-64 met a breakpoint long taken back and panicked,
# arm64 did not call an attached tracepoint, on any CPU, until the monitor's `singlestep on` made QEMU translate anew.
# For arm64 -cpu max takes twice as long.
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


@dataclasses.dataclass
class Result:
    status: int # the script's, or HUNG or DIED
    up_s: float # until the guest's init was ready
    run_s: float
    console: str
    why: str = ""

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
    scratch: bool = False # a file system on a disk, at /var/tmp, where it can be had
    timeout_s: float = 120
    memory_mb: int = 1024
    append: str = ""
    cpu: str = "" # another than the machine's
    devices: list = dataclasses.field(default_factory=list) # more of QEMU's, each with its options
    echo: bool = False # the console goes to stderr as it comes


def missing(arch):
    """What is not installed here, or None."""
    return None if shutil.which(MACHINES[arch][0]) else f"{MACHINES[arch][0]} is not installed"


def run(guest, out):
    """Boots the guest and waits for its end; the files that it left in /out are in the folder `out`."""
    os.makedirs(kernels.cache_folder(), exist_ok=True)
    with open(os.path.join(kernels.cache_folder(), "guest.lock"), "w", encoding="utf-8") as lock, \
         tempfile.TemporaryDirectory(prefix="jank-vm-") as folder:
        fcntl.flock(lock, fcntl.LOCK_EX) # one at a time: each takes all CPUs
        initrd, files, scratch = (os.path.join(folder, name) for name in ("initrd", "files", "scratch"))
        fit(guest)
        build(guest, initrd)
        if guest.scratch:
            make_scratch(scratch)
        result = watch(guest, command(guest, initrd, files, scratch))
        collect(result, files, out)
        return result


def fit(guest):
    """An archive may have lost the modules of a kernel: without a disk a guest still does, without a network not."""
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


def watch(guest, words):
    begin = time.monotonic()
    qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watchdog = threading.Timer(guest.timeout_s, qemu.kill)
    watchdog.start()
    lines, up_s = [], 0.0
    try:
        for line in qemu.stdout:
            lines.append(line.decode(errors="replace").rstrip("\r\n"))
            if not up_s and lines[-1].startswith("guest: up "):
                up_s = time.monotonic() - begin
            if guest.echo:
                print(lines[-1], file=sys.stderr, flush=True)
        qemu.wait()
    finally:
        hung = not watchdog.is_alive()
        watchdog.cancel()
        if qemu.poll() is None:
            qemu.kill()
            qemu.wait()
    result = Result(DIED, up_s, time.monotonic() - begin, "\n".join(lines))
    if hung:
        result.status, result.why = HUNG, f"no end after {guest.timeout_s:g} s"
    elif qemu.returncode:
        result.why = f"qemu ended with status {qemu.returncode}"
    return result


def collect(result, files, out):
    """What came through the port, and from them the status; a guest that ended without any has died."""
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "console"), "w", encoding="utf-8") as file:
        file.write(result.console + "\n")
    if result.status == HUNG:
        return
    try:
        with tarfile.open(files, "r:") as tar:
            for member in tar.getmembers():
                if member.isfile() and not re.search(r"^/|\.\.", member.name):
                    extract(tar, member, out)
        with open(os.path.join(out, ".status"), encoding="utf-8") as file:
            result.status = int(file.read())
    except (tarfile.TarError, OSError, ValueError):
        panic = re.search(r"Kernel panic[^\n]*", result.console)
        result.why = panic.group(0).strip() if panic else result.why or "the guest ended before its script did"


def extract(tar, member, out):
    path = os.path.join(out, member.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tar.extractfile(member) as source, open(path, "wb") as file:
        shutil.copyfileobj(source, file)
