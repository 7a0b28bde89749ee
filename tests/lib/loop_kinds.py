# SPDX-License-Identifier: GPL-2.0
"""The programs of tests/loops/: how to start each, and what jankbpf must say of its stalls."""
import os
import sys
from typing import NamedTuple

from live import ROOT

BUILT = os.path.join(ROOT, ".output", "loops")
SOURCES = os.path.join(ROOT, "tests", "loops")
NETTY = ":".join(f"/usr/share/java/netty-{part}.jar" for part in ("buffer", "common", "resolver", "transport"))


class Kind(NamedTuple):
    """A program, and what jankbpf must say of its stalls."""
    command: tuple
    needs: str  # Debian's packages
    loop: str | None  # None: it has no loop, so no stall of it is a block
    parts: dict = {}  # kind of stall ("": any) → the required parts of the message
    env: dict = {}
    x11: bool = False
    learn_s: float = 0.3  # a loop that waits without epoll is recognised only after some turns
    options: tuple = ()  # of jankbpf
    moves: bool = False  # a handler that computes may move to another thread; one that sleeps stays


def built(name, *args):
    return (os.path.join(BUILT, name), *args)


def java(name, jars=""):
    return ("java", "-XX:+PreserveFramePointer", "-Xint", "-cp", f"{BUILT}/java:{jars}", name)


RECEIVER = {"": ("handler", "what")}
FD = ("fd", "fd_target")
OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen"}
UNIX = {"QT_NO_GLIB": "1"}

KINDS = {
    "epoll": Kind(built("raw", "epoll"), "gcc", "epoll", {"": FD}),
    "epoll-musl": Kind(built("raw-musl", "epoll"), "musl-tools", "epoll", {"": FD}),
    "poll": Kind(built("raw", "poll"), "gcc", "poll"),
    "poll-musl": Kind(built("raw-musl", "poll"), "musl-tools", "poll"),
    "ppoll": Kind(built("raw", "ppoll"), "gcc", "poll"),
    "select": Kind(built("raw", "select"), "gcc", "poll", learn_s=1),
    "pselect": Kind(built("raw", "pselect"), "gcc", "poll", learn_s=1),
    "io_uring": Kind(built("uring"), "liburing-dev", "poll", learn_s=1),
    "client": Kind(built("client"), "gcc", None),
    "glib": Kind(built("glib"), "libglib2.0-dev", "glib"),
    "glib-nested": Kind(built("nested"), "libglib2.0-dev", "glib"),
    "gtk": Kind(built("gtk"), "libgtk-3-dev xvfb", "glib", x11=True),
    "qt5": Kind(built("qt5core"), "qtbase5-dev", "qt", RECEIVER),
    "qt5-unix": Kind(built("qt5core"), "qtbase5-dev", "qt", RECEIVER, UNIX),
    "qt5-gui": Kind(built("qt5gui"), "qtbase5-dev", "qt", RECEIVER, OFFSCREEN),
    "qt6": Kind(built("qt6core"), "qt6-base-dev", "qt", RECEIVER),
    "qt6-unix": Kind(built("qt6core"), "qt6-base-dev", "qt", RECEIVER, UNIX),
    "qt6-gui": Kind(built("qt6gui"), "qt6-base-dev", "qt", RECEIVER, OFFSCREEN),
    "libuv": Kind(built("uv"), "libuv1-dev", "libuv", {"poll": FD}),
    "node": Kind(("node", f"{SOURCES}/node.js"), "nodejs", "node", {"socket": FD}),
    "libevent": Kind(built("event"), "libevent-dev", "libevent", {"readable": FD, "buffer": FD}),
    "libev": Kind(built("ev"), "libev-dev", "libev", {"io": FD}),
    "sd-event": Kind(built("sdevent"), "libsystemd-dev", "sd-event", {"io": FD}),
    "wayland": Kind(built("wayland"), "libwayland-dev", "wayland-server", {"fd": FD, "client": FD}),
    "redis": Kind((sys.executable, f"{SOURCES}/redis.py"), "redis-server", "redis", {"": FD}),
    # CPython frees epoll's events before it handles them, so a slow handler may find them gone.
    "asyncio": Kind((sys.executable, f"{SOURCES}/aio.py", "epoll"), "python3", "python"),
    "asyncio-poll": Kind((sys.executable, f"{SOURCES}/aio.py", "poll"), "python3", "poll"),
    "asyncio-select": Kind((sys.executable, f"{SOURCES}/aio.py", "select"), "python3", "poll", learn_s=1),
    "java-nio": Kind(java("Nio"), "default-jdk-headless", "java-nio", {"pipe": FD, "socket": FD}),
    "netty": Kind(java("Netty", NETTY), "default-jdk-headless libnetty-java", "java-nio", {"read": FD}),
    "go": Kind(built("netpoll"), "golang-go", None),
    "go-traced": Kind(built("netpoll"), "golang-go", "go", options=("-l", "go"), moves=True, learn_s=1.5),
    "tokio": Kind(built("tokio-stall", "0"), "cargo librust-tokio-dev", "tokio", {"socket": FD}),
    "tokio-workers": Kind(built("tokio-stall", "2"), "cargo librust-tokio-dev", "tokio", learn_s=1.5),
    "qemu": Kind((sys.executable, f"{SOURCES}/qemu.py"), "qemu-system-x86 or qemu-system-arm", "qemu"),
}
