# SPDX-License-Identifier: GPL-2.0
"""Programs that wait for minutes side by side, and the work that each does in the busy mode."""
import copy
import os
import socket
import subprocess
import threading

from desktop_programs import CHROMIUM, FIREFOX, Program, fpm_get, http_get

KEYS = ["space", *"words that nobody reads".replace(" ", ""), "Return", "Up", "End"]
SCREEN = threading.Lock()  # only one window has the keyboard


def xdotool(seat, *words):
    done = subprocess.run(["xdotool", *words], env=dict(os.environ, **seat.env), capture_output=True, text=True, check=False,
                          timeout=60)
    return done.stdout.split("\n")[:-1]


def windows(seat, *what):
    return xdotool(seat, "search", "--onlyvisible", *(what or ("--pid", str(seat.pid))))


# --- work: each function is called again and again, in a thread of its own for each program

def type_keys(keys, *what):
    """Types into the program's last window, or the one that is `what`, under the pointer."""
    def work(seat):
        with SCREEN:
            found = windows(seat, *what)
            if not found:
                raise OSError("it has no window")
            xdotool(seat, "windowraise", found[-1], "windowfocus", found[-1], "mousemove", "--window", found[-1], "20", "20",
                    "key", "--delay", "15", *keys)
    return work


def type_text(text):
    """Types into its terminal."""
    def work(seat):
        seat.type(text)
    return work


def ask(get):
    return lambda seat: get(seat.port, seat.folder, "plain")



def echo(port, *_):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"hello\n")
        client.recv(100)


# --- actions done once, before the minutes begin

DIALOG = ("--name", "^Open File")


def open_dialog(seat):
    """Opens Kate's modal dialog; returns whether it is there."""
    if not windows(seat, *DIALOG):
        for window in windows(seat)[-1:]:
            xdotool(seat, "windowfocus", "--sync", window, "key", "ctrl+o")
    return bool(windows(seat, *DIALOG))


def has_dialog(seat):
    return bool(windows(seat, *DIALOG))


class Idler(Program):
    """busy: its command for the busy mode, if that is another; work: the work that it then gets.
    make_idle: brings it into the state in which it is to idle, and returns whether it is; is_idle:
    is it still?"""

    def __init__(self, name, command, files=(), busy=None, work=None, make_idle=None, is_idle=None, **more):
        super().__init__(name, command, (), files, **more)
        self.busy, self.work, self.make_idle, self.is_idle = busy or command, work, make_idle, is_idle

    def at_work(self):
        """The program with its command for the busy mode."""
        other = copy.copy(self)
        other.command, other.make_idle, other.is_idle = self.busy, None, None
        return other


PYTHON = "/usr/bin/python3 DIR/stalls.py {} DIR/stalls 100000000 1"
LETTERS, TEXT = type_keys(KEYS[1:-3]), type_keys(KEYS)

TABLE = [
    Idler("chromium", CHROMIUM + " about:blank", busy=CHROMIUM + " http://127.0.0.1:PORT/busy", work=TEXT, page=True),
    Idler("firefox", FIREFOX + " about:blank", busy=FIREFOX + " http://127.0.0.1:PORT/busy", work=TEXT, page=True),
    Idler("Swing", "java -cp DIR Stalls DIR/stalls 100000000 1", ["Stalls.java"], work=LETTERS,
          build="javac -d DIR DIR/Stalls.java"),
    # its windows have no pid
    Idler("tkinter", PYTHON.format("tk"), ["stalls.py"], work=type_keys(KEYS[1:-3], "--name", "^tk$")),
    Idler("Qt dialog", PYTHON.format("qt"), ["stalls.py"], work=LETTERS),
    Idler("GTK dialog", PYTHON.format("gtk"), ["stalls.py"], work=LETTERS),
    Idler("zenity", "zenity --question --text idle", work=LETTERS),
    Idler("mousepad", "mousepad", work=TEXT),
    Idler("Kate", "kate -n DIR/stalls", work=TEXT, make_idle=open_dialog, is_idle=has_dialog),
    Idler("emacs", "emacs -nw -Q", work=type_text("words that nobody reads "), terminal=True),
    Idler("bash", "bash -i", work=type_text("echo $((RANDOM * 3)); ls /\n"), terminal=True),
    Idler("erl", "erl", work=type_text("lists:sum(lists:seq(1, 10000)).\n"), terminal=True),
    Idler("EventMachine", "ruby -reventmachine -e EM.run{}", busy="ruby -reventmachine DIR/echo.rb PORT", files=["echo.rb"],
          work=ask(echo)),
    Idler("ruby", "ruby DIR/stalls.rb PORT", ["stalls.rb"], work=ask(http_get)),
    Idler("puma", "puma -t 2:2 -b tcp://127.0.0.1:PORT DIR/config.ru", ["stalls.rb", "config.ru"], work=ask(http_get)),
    Idler("apache", "apache2 -f DIR/apache.conf -DFOREGROUND", ["apache.conf", "stalls.php"], work=ask(http_get)),
    Idler("php-fpm", "php-fpm8.2 -y DIR/fpm.conf -O -F", ["fpm.conf", "stalls.php"], work=ask(fpm_get)),
]
