# SPDX-License-Identifier: GPL-2.0
"""Programs with nothing to do, in as many kinds of wait as there are. None of them hangs."""
import contextlib
import os
import pty
import shutil
import subprocess
import sys
import time

import bad
from real import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = {
    "python-input": "input()",
    "python-join": "import threading, time; t = threading.Thread(target=time.sleep, args=(1000,)); t.start(); t.join()",
    "python-accept": "import socket; socket.create_server(('127.0.0.1', 0)).accept()",
    "python-select": "import os, select; select.select([os.pipe()[0]], [], [])",
    "python-poll": "import os, select; p = select.poll(); p.register(os.pipe()[0]); p.poll()",
    "python-epoll": "import os, select; p = select.epoll(); p.register(os.pipe()[0], 1); p.poll()",
    "python-asyncio": "import asyncio; asyncio.run(asyncio.sleep(1000))",
    "python-queue": "import queue; queue.Queue().get()",
    "python-signal": "import signal; signal.pause()",
    "python-lock-file": "import fcntl, os; f = open(os.environ['LOCK'], 'w'); os.fork(); fcntl.flock(f, 2); open(os.environ['LOCK'], 'w'); import time; time.sleep(1000)",
    "python-socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "python-worker": "import multiprocessing, time; p = multiprocessing.Process(target=time.sleep, args=(1000,)); p.start(); p.join()",
}
JAVA = "class Main { public static void main(String[] a) throws Exception { Thread.currentThread().join(); } }"
TERMINAL = {"bash": "bash --norc", "sh": "sh", "less": "less /etc/passwd", "vim": "vim -u NONE", "gdb": "gdb -q", "sqlite3": "sqlite3",
            "python": "/usr/bin/python3", "top": "top -d 100", "watch": "watch -n 100 true", "node-repl": "node -i"}
PLAIN = {
    "sleep": "sleep 1000", "cat": "cat", "tail": "tail -f /etc/passwd", "shell-waits": "sleep 1000; true", "bc": "exec bc",
    "gcc": "gcc -x c -c -o /dev/null -", "cron": "exec cron -f", "dbus": "exec dbus-daemon --session --nofork --nopidfile --address=unix:path=$FOLDER/bus",
    "ssh-agent": "exec ssh-agent -D -a $FOLDER/agent", "perl": "exec perl -e 'sleep 1000'", "make": "printf 'a:\\n\\tsleep 1000\\n' | exec make -f -",
    "openssl": "exec openssl s_server -nocert -port $PORT", "nginx": "exec nginx -c $FOLDER/nginx.conf", "php-fpm": "exec php-fpm8.2 -F -R -y $FOLDER/fpm.conf",
    "haproxy": "exec haproxy -W -f $FOLDER/haproxy.cfg", "mosquitto": "exec mosquitto -c $FOLDER/mosquitto.conf", "node": "exec node -e 'setTimeout(() => 0, 1e6)'",
    "java": "exec java $FOLDER/Main.java", **{f"java-{how}": f"exec java $HERE/Resting.java {how}" for how in ("selector", "pool", "sleeping-main", "future")}, "xvfb": "exec Xvfb :77", "glib-dialog": "exec zenity --question --text=idle", "gtk-list": "exec zenity --list --column=a b",
    "xterm": "exec xterm", "qt": "exec $FOLDER/qt", "qt-dialog": "exec $FOLDER/qt dialog", "inotify": "exec inotifywait -m /etc", "tmux": "exec tmux -D -S $FOLDER/tmux",
    "compiling": "while :; do echo 'int main() {}' | gcc -O2 -x c -c -o /dev/null -; done",
    "transmission": "exec transmission-daemon -f -g $FOLDER/tr -p $PORT",
}
FILES = {
    "nginx.conf": "daemon off; pid FOLDER/nginx.pid; error_log /dev/null; events {} http { access_log off; server { listen unix:FOLDER/nginx; } }",
    "fpm.conf": "[global]\nerror_log=/dev/null\n[www]\nlisten=FOLDER/fpm\nuser=nobody\npm=static\npm.max_children=2\n",
    "haproxy.cfg": "defaults\n timeout client 1s\nfrontend f\n bind unix@FOLDER/haproxy\n", "Main.java": JAVA,
}


def needs(command):
    return next(word for word in command.split() if word not in ("exec", "while", ":;", "do"))


def descendants(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [pid] + [d for child in children.read().split() for d in descendants(int(child))]


def build_qt(folder):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "Qt5Gui"], capture_output=True, text=True, check=False).stdout.split()
    source = os.path.join(HERE, "qt.cc")
    if flags and shutil.which("g++"):
        subprocess.run(["g++", "-fPIC", "-o", f"{folder}/qt", source, *flags], check=True)


def begin_all(folder, screen, enter):
    """(name, process) of those that are installed."""
    for name, text in FILES.items():
        with open(f"{folder}/{name}", "w", encoding="ascii") as file:
            file.write(text.replace("FOLDER", folder))
    with open(f"{folder}/mosquitto.conf", "w", encoding="ascii") as file:
        file.write(f"listener {free_port()} 127.0.0.1\n")
    build_qt(folder)
    env = {**os.environ, **screen.env, "FOLDER": folder, "HERE": HERE, "LOCK": f"{folder}/lock", "QT_QPA_PLATFORM": "offscreen", "TERM": "xterm"}
    plain = {**PLAIN, **{name: f'exec {sys.executable} -c "{code}"' for name, code in PYTHON.items()}}
    for name, command in plain.items():
        if shutil.which(needs(command).replace("$FOLDER", folder)):
            yield name, bad.start(["sh", "-c", enter + command], env={**env, "PORT": str(free_port())}, stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, command in TERMINAL.items():
        if shutil.which(needs(command)):
            master, slave = pty.openpty()
            yield name, bad.start(["sh", "-c", enter + "exec " + command], env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)


@contextlib.contextmanager
def resting(folder, screen, enter=""):
    """All of them, also their children: pid by name."""
    processes = dict(begin_all(folder, screen, enter))
    time.sleep(6)
    pids = {}
    for name, process in processes.items():
        if process.poll() is None:
            there = [process.pid] if name == "compiling" else descendants(process.pid)  # its children end at once
            pids |= {f"{name}{at or ''}": pid for at, pid in enumerate(there)}
    yield pids
    for pid in pids.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, bad.signal.SIGKILL)
    bad.end(*processes.values())
