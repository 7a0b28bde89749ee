# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels to boot: Debian's packages for virtual machines, by architecture and series, and the
cache of their files.

A kernel is named ARCH/SERIES, such as x86_64/5.10. Two series are names: "newest" is the newest
release in the archive, "rc" the newest release candidate. A fetched kernel stays until it is
fetched again.
"""
import contextlib
import dataclasses
import fcntl
import lzma
import os
import re
import shutil
import tempfile

import apt
import btf

ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
MATRIX = [f"{arch}/{series}" for arch, all_series in (
    ("x86_64", ("5.10", "6.1", "6.12", "6.19", "newest", "rc")),
    ("arm64", ("5.10", "6.1", "6.12", "newest", "rc"))) for series in all_series]
CI = ["x86_64/5.10", "x86_64/newest", "arm64/6.12"]

# Modules that a guest may request. Some are built into some kernels.
MODULES = ("virtio_pci", "virtio_mmio", "virtio_blk", "virtio_net", "virtio_console", "virtio_rng", "af_packet",
           "ext4")
# For kernels for PCs: QEMU's device of that name (with a timer for its frames, since about 6.19), and
# Android's binder, which kernels for virtual machines lack.
DISPLAY = ("bochs",)
BINDER = ("binder_linux",)
TRIES = 10


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("JANK_VM_CACHE") or os.path.join(base, "jankbpf", "vm")


@dataclasses.dataclass
class Kernel:
    name: str
    folder: str

    @property
    def arch(self):
        return self.name.split("/")[0]

    @property
    def release(self):
        with open(self.path("release"), encoding="utf-8") as file:
            return file.read().strip()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def busybox(self):
        return os.path.join(cache_folder(), "busybox", self.arch)

    def modules(self, names):
        """The files of the modules and of their dependencies, in load order."""
        order = []
        for name in names:
            self._add_module(name.replace("-", "_"), order)
        return order

    def _add_module(self, name, order):
        path = self.path("modules", name + ".ko")
        if path in order or not os.path.exists(path):
            return # already loaded, or built into the kernel
        with open(path, "rb") as file:
            for needed in module_needs(file.read()):
                self._add_module(needed, order)
        order.append(path)


def module_needs(data):
    found = re.search(rb"\0depends=([^\0]*)\0", data)
    return found.group(1).decode().replace("-", "_").split(",") if found and found.group(1) else []


def split(name):
    arch, _, series = name.partition("/")
    if arch not in ARCHES or not re.fullmatch(r"\d+\.\d+|newest|rc", series):
        raise ValueError(f'"{name}" is no kernel, such as x86_64/5.10, arm64/newest or x86_64/rc')
    return arch, series


def find_pc_releases(archive):
    """The packages for PCs (x86-64), the newest first."""
    found = [match for match in (re.fullmatch(r"linux-image-((\d+)\.(\d+)\.(\d+)\+\S+-amd64)", name)
                                 for name in archive.names("linux-image-")) if match]
    newest = sorted((match for match in found if not re.search("-(cloud|rt)-", match[1])), reverse=True,
                    key=lambda match: [int(number) for number in match.groups()[1:]])
    if not newest:
        raise apt.Unavailable(f"no kernel for PCs in the archive ({archive.why_not()})")
    return [match[1] for match in newest]


def find_releases(archive, arch, series):
    """The releases of the packages in the series, the newest first."""
    pattern = re.compile(rf"linux-image-((\d+\.\d+)(\.\d+)?\S*-cloud-{ARCHES[arch]})")
    binaries = set(archive.names("linux-binary-"))
    found = []
    for name in archive.names("linux-image-"):
        match = pattern.fullmatch(name)
        if not match:
            continue
        # 7.3-cloud is the ABI of a candidate; otherwise such a name is a metapackage
        candidate = not match[3]
        if candidate and "linux-binary-" + match[1] not in binaries:
            continue
        if series == "rc" and candidate or not candidate and series in ("newest", match[2]):
            found.append(match[1])
    if not found:
        raise apt.Unavailable(f"no cloud kernel {series} for {arch} in the archive ({archive.why_not()})")
    return sorted(found, reverse=True, key=lambda release: [int(n) for n in re.findall(r"\d+", release)])


@contextlib.contextmanager
def locked():
    os.makedirs(cache_folder(), exist_ok=True)
    with open(os.path.join(cache_folder(), "lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def get_with_display(anew=False):
    """The newest for PCs: kernels for virtual machines have no displays and no binder at all. apt.Unavailable has
    the reason if there is none."""
    kernel = Kernel("x86_64/display", os.path.join(cache_folder(), "kernels", "x86_64", "display"))
    with locked():
        archive = apt.Archive(cache_folder())
        if anew or not os.path.exists(kernel.path("release")):
            fetch_first(archive, kernel, find_pc_releases(archive))
        if not os.path.exists(kernel.busybox()):
            fetch_busybox(archive, "x86_64", kernel.busybox())
    return kernel


def get(name, anew=False):
    """The kernel, fetched if it is not in the cache. apt.Unavailable has the reason if it is not
    available."""
    arch, _ = split(name)
    kernel = Kernel(name, os.path.join(cache_folder(), "kernels", name))
    with locked():
        archive = apt.Archive(cache_folder())
        if anew or not os.path.exists(kernel.path("release")):
            fetch(archive, kernel)
        if not os.path.exists(kernel.busybox()):
            fetch_busybox(archive, arch, kernel.busybox())
    return kernel


def fetch(archive, kernel):
    return fetch_first(archive, kernel, find_releases(archive, *split(kernel.name)))


def fetch_first(archive, kernel, releases):
    """An archive may list a package that it no longer has: then use an older one of the series."""
    for release in releases[:TRIES]:
        try:
            return fetch_release(archive, kernel, release)
        except apt.Unavailable as reason:
            last = reason
    raise last


def fetch_release(archive, kernel, release):
    known = set(archive.names("linux-"))
    packages = [f"linux-{part}-{release}:{ARCHES[kernel.arch]}" for part in ("image", "binary", "modules")
                if f"linux-{part}-{release}" in known]
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=cache_folder()) as folder:
        archive.unpack(packages, folder)
        keep(kernel, folder, release)


def keep(kernel, folder, release):
    """Image, modules for guests, BTF; the release last, as the sign that all is there."""
    shutil.rmtree(kernel.folder, ignore_errors=True)
    os.makedirs(kernel.path("modules"))
    files = {name: os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names}
    image = files.get("vmlinuz-" + release) or files.get("vmlinuz")
    if not image:
        raise apt.Unavailable(f"the package of {release} has no vmlinuz")
    shutil.copy(image, kernel.path("vmlinuz"))
    for module in MODULES + DISPLAY + BINDER:
        keep_module(kernel, files, module)
    with open(image, "rb") as source, open(kernel.path("btf"), "wb") as file:
        file.write(btf.of_image(source.read()))
    with open(kernel.path("release"), "w", encoding="utf-8") as file:
        file.write(release + "\n")


def keep_module(kernel, files, module):
    for name in (f"{stem}.ko{suffix}" for stem in (module, module.replace("_", "-")) for suffix in ("", ".xz")):
        if name not in files:
            continue
        with (lzma.open if name.endswith(".xz") else open)(files[name], "rb") as file:
            data = file.read()
        with open(kernel.path("modules", module + ".ko"), "wb") as file:
            file.write(data)
        for needed in module_needs(data):
            keep_module(kernel, files, needed)


def fetch_busybox(archive, arch, path):
    with tempfile.TemporaryDirectory(prefix="busybox-", dir=cache_folder()) as folder:
        archive.unpack([f"busybox-static:{ARCHES[arch]}"], folder)
        found = [p for p in (os.path.join(folder, d, "busybox") for d in ("bin", "usr/bin")) if os.path.exists(p)]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(found[0], path)
