# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of other suites and architectures, with their libraries, from Debian's packages."""
import os
import re
import shutil
import subprocess
import tempfile

import apt
import kernels

LIBRARY = re.compile(r"\(NEEDED\).*\[(.+)\]")


class Archive(apt.Archive):
    def closure(self, package, suite):
        """PACKAGE=VERSION of the package and of all programs and libraries that it depends on, as
        apt would install them."""
        run = self.open()._run("apt-get", "-s", "-t", suite, "--no-install-recommends", "install", package)
        found = re.findall(r"^Inst (\S+?)(?::\S+)? \((\S+) .*\[(\S+)\]\)", run.stdout, re.M)
        if run.returncode or not found:
            raise apt.Unavailable(f"{package}: {(run.stderr.strip().splitlines() or ['apt has none'])[-1]}")
        # For programs that only run, apt chooses this machine's own architecture.
        wanted = package.partition(":")[2]
        return [f"{name}:{arch}={version}" if arch == wanted else f"{name}={version}" for name, version, arch in found
                if arch in (wanted, "all")]


def needed(path):
    """The names of the libraries that a program or a library needs."""
    run = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    return LIBRARY.findall(run.stdout)


def libraries(program, find):
    """{name: path} of the program's libraries and of theirs; find(name) gives the path of each, or
    None."""
    found, left = {}, needed(program)
    while left:
        name = left.pop()
        if name in found:
            continue
        path = find(name)
        if not path:
            raise apt.Unavailable(f"{os.path.basename(program)} needs {name}, which is not here")
        found[name] = path
        left += needed(path)
    return found


def keep(root, program, folder, trees, loads):
    """The program, with its libraries in lib/, and folders, from unpacked packages."""
    files = {name: os.path.join(parent, name) for parent, _, names in os.walk(root) for name in names
             if os.path.exists(os.path.join(parent, name))} # not a link out of the packages
    os.makedirs(os.path.join(folder, "lib"))
    for loader in [os.path.join(root, program), *(files[name] for name in loads)]:
        for name, path in libraries(loader, files.get).items():
            shutil.copy(path, os.path.join(folder, "lib", name))
    for tree in trees:
        shutil.copytree(os.path.join(root, tree), os.path.join(folder, tree), symlinks=True)
    shutil.copy(os.path.join(root, program), folder)


def get(arch, suite, package, program, trees=(), loads=()):
    """A folder with the program and lib/, fetched if it is not in the cache; `program` is its path
    in the package. trees: folders of the packages that it needs at their own paths; loads: libraries
    that it loads itself, whose libraries it needs. apt.Unavailable has the reason if it is not
    available."""
    folder = os.path.join(kernels.cache_folder(), "programs", arch, suite, package)
    with kernels.locked():
        if os.path.exists(os.path.join(folder, os.path.basename(program))):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        archive = Archive(kernels.cache_folder())
        with tempfile.TemporaryDirectory(prefix="program-", dir=kernels.cache_folder()) as root:
            archive.unpack(archive.closure(f"{package}:{kernels.ARCHES[arch]}", suite), root)
            keep(root, program, folder, trees, loads)
    return folder
