# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of any Debian suite, from the archive that this machine uses, without changing its own
apt state.

Nothing is installed: lists, sources and packages are in the cache folder only, and packages are
unpacked.
"""
import os
import re
import shutil
import subprocess
import time

SUITES = ("bullseye", "bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid", "experimental")
SECURITY = ("bullseye-security", "bookworm-security", "trixie-security")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_AGE_S = 24 * 3600


class Unavailable(Exception):
    """What is not available, and why: a reason to skip."""


def archive_uris():
    """(main, security), from the machine's own sources; if there are none, JANK_VM_MIRROR is the
    main one."""
    if not shutil.which("apt-get"):
        raise Unavailable("no apt-get here")
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"],
                             capture_output=True, text=True, check=False).stdout
    main = os.environ.get("JANK_VM_MIRROR")
    security = None
    for uri, suite in (line.split() for line in sorted(set(targets.splitlines()))):
        if suite.endswith("-security"):
            security = security or uri
        elif re.search(r"/debian/?$|/archive/debian/", uri):
            main = main or uri
    if not main:
        raise Unavailable("no Debian archive among apt's sources (JANK_VM_MIRROR=URI names one)")
    main = main.rstrip("/")
    return main, security or re.sub(r"/debian(/[^/]*)?$", r"/debian-security\1", main)


class Archive:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "apt")
        self.options = []

    def _path(self, *parts):
        return os.path.join(self.folder, *parts)

    def _run(self, command, *args, **more):
        return subprocess.run([command, *self.options, *args], capture_output=True, text=True, check=False, **more)

    def open(self):
        """Updates the lists, once a day."""
        if self.options:
            return self
        for part in ("lists/partial", "cache/archives/partial", "debs"):
            os.makedirs(self._path(part), exist_ok=True)
        self._write_sources()
        self.options = [word for option in (
            f"Dir::Etc::sourcelist={self._path('sources.list')}", "Dir::Etc::sourceparts=-",
            f"Dir::State::Lists={self._path('lists')}", f"Dir::Cache={self._path('cache')}",
            "Dir::Cache::pkgcache=pkgcache.bin", "Dir::Cache::srcpkgcache=srcpkgcache.bin",
            "Dir::State::status=/dev/null", "APT::Architecture=amd64", "APT::Architectures=amd64,arm64",
            "APT::Sandbox::User=", "Acquire::Languages=none", "Acquire::Retries=2",
            "Acquire::Check-Valid-Until=false") for word in ("-o", option)]
        self._update()
        return self

    def _write_sources(self):
        main, security = archive_uris()
        signed = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        with open(self._path("sources.list"), "w", encoding="utf-8") as file:
            for uri, suites in ((main, SUITES), (security, SECURITY)):
                for suite in suites:
                    file.write(f"deb {signed}{uri} {suite} main\n")

    def _update(self):
        stamp = self._path("updated")
        if os.path.exists(stamp) and time.time() - os.path.getmtime(stamp) < LISTS_AGE_S:
            return
        run = self._run("apt-get", "update")
        self.trouble = [line for line in run.stderr.splitlines() if re.match(r"[EW]: ", line)]
        if not any(name.endswith(("_Packages", ".lz4", ".xz")) for name in os.listdir(self._path("lists"))):
            raise Unavailable("; ".join(self.trouble[:2]) or "apt-get update found nothing")
        with open(stamp, "w", encoding="utf-8") as file:
            file.write("\n".join(self.trouble))

    def why_not(self):
        """The complaint of the last update: a missing suite, or an unknown signature."""
        try:
            with open(self._path("updated"), encoding="utf-8") as file:
                return file.read().strip().replace("\n", "; ") or "no suite has it"
        except OSError:
            return "the lists could not be fetched"

    def names(self, prefix):
        return self.open()._run("apt-cache", "pkgnames", prefix).stdout.split()

    def unpack(self, packages, folder):
        """Downloads each (NAME or NAME:ARCH) and unpacks it into the folder."""
        self.open()
        for package in packages:
            debs = self._path("debs")
            shutil.rmtree(debs, ignore_errors=True)
            os.makedirs(debs)
            run = self._run("apt-get", "download", package, cwd=debs)
            found = os.listdir(debs)
            if run.returncode or len(found) != 1:
                raise Unavailable(f"{package}: {(run.stderr.strip().splitlines() or ['not found'])[-1]}")
            subprocess.run(["dpkg-deb", "-x", os.path.join(debs, found[0]), folder], check=True)
            shutil.rmtree(debs)
