# SPDX-License-Identifier: GPL-2.0
"""The table of call sites that sites.c fills: one file for each run of the program."""
import collections
import os
import struct
import subprocess

MODULES_MAX, SITES_MAX, PATH_SZ = 64, 16384, 120
HEAD = struct.Struct("<QQ")
ROW = struct.Struct("<Q20sIQQQQ")
SITES_AT = HEAD.size + MODULES_MAX * PATH_SZ
PROGRAM = "program"

Site = collections.namedtuple("Site", "key function module offset caller calls")

# By the system calls below them. Others are named as they are.
KINDS = {
    "allocation": "malloc calloc realloc reallocarray strdup strndup asprintf vasprintf fmemopen",
    "open": "open open64 openat fopen fopen64 opendir fdopendir open_by_handle_at memfd_create",
    "read": "read pread readdir readlink readlinkat process_vm_readv",
    "write": "write fwrite fflush fsync ftruncate renameat renameat2 linkat unlinkat mkdirat fchmod flock",
    "stat": "fstat stat fstatat statx fstatfs statfs name_to_handle_at",
    "mmap": "mmap mmap64",
    "bpf": "bpf",
    "socket": "socket socketpair send sendmsg recv recvmsg bind getsockname getpeername getsockopt setsockopt",
    "events": "epoll_create1 epoll_ctl epoll_wait poll timerfd_create timerfd_settime signalfd eventfd pipe2",
    "process": "fork waitpid pthread_create unshare prctl getrlimit setrlimit",
    "descriptor": "close dup dup2 dup3 fcntl fcntl64 ioctl",
    "syscall": "syscall",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


def create(path):
    with open(path, "wb") as file:
        file.truncate(SITES_AT + SITES_MAX * ROW.size)


def failed(path):
    """The number of calls that failed."""
    with open(path, "rb") as file:
        return HEAD.unpack(file.read(HEAD.size))[0]


def read(path):
    """The sites, by key."""
    with open(path, "rb") as file:
        content = file.read()
    dropped = HEAD.unpack_from(content)[1]
    if dropped:
        raise RuntimeError(f"{dropped} calls had no room in the table")
    modules = [content[at:at + PATH_SZ].split(b"\0")[0].decode() for at in range(HEAD.size, SITES_AT, PATH_SZ)]
    found = {}
    for row in ROW.iter_unpack(content[SITES_AT:]):
        key, name, _, module, offset, caller, calls = row
        if key:
            found[key] = Site(key, name.rstrip(b"\0").decode(), modules[module], offset, caller, calls)
    return found


def places(program, sites):
    """Function and line of each site's nearest frame of the program, by key."""
    sites = list(sites)
    asked = "".join(f"{(site.caller or site.offset) - 1:#x}\n" for site in sites)
    done = subprocess.run(["addr2line", "-f", "-e", program], input=asked, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    found = {}
    for number, site in enumerate(sites):
        function, line = lines[2 * number], lines[2 * number + 1].split(" ")[0]
        where = f"{os.path.relpath(line)}, {function}" if site.caller or site.module == PROGRAM else "no frame of the program"
        if site.module != PROGRAM:
            where += f", {os.path.basename(site.module)}+{site.offset:#x}"
        found[site.key] = where
    return found
