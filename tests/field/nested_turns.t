#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A handler that runs its own loop: for the clipboard (a block, also the first time), or for a dialog
(a line of not_watched). C programs over epoll and poll; GTK's own gtk_dialog_run."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import ROOT, Trace, end, frame_of, need, start  # noqa: E402
from real import Screen  # noqa: E402

ROUNDS = 4 if SHORT else 15
SLACK_NS = 20_000_000
DIALOG_S = 2 if SHORT else 20


def build_nested(folder):
    path = os.path.join(folder, "nested_turns")
    source = os.path.join(ROOT, "tests", "field", "programs", "nested_turns.c")
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-o", path, source], check=True)
    return path


def run_nested(path, job, wait):
    """The times of the handlers, and the trace."""
    process = start([path, job, wait, str(ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    with Trace(process.pid, threshold="200ms") as trace:
        process.stdin.write("\n")
        process.stdin.flush()
        lines = iter(process.stdout.readline, "done\n")
        handlers = [tuple(int(word) for word in line.split()) for line in lines]
    end(process)
    return handlers, trace


def covers(block, handler):
    begin, until = handler
    return (abs(block["start_ns"] - begin) <= SLACK_NS and
            abs(block["start_ns"] + block["duration_ns"] - until) <= SLACK_NS + 20_000_000)


def check_jobs(field, path, job, wait):
    handlers, trace = run_nested(path, job, wait)
    found = [next((b for b in trace.blocks if covers(b, handler)), None) for handler in handlers]
    what = f"{job} over {wait}"
    field.cases(f"{what}: handlers found", sum(b is not None for b in found), len(handlers), details=trace.messages)
    right = [b for b in found if b and b["cause"].get("what") == "clipboard" and frame_of(b) == "on_paste"]
    field.cases(f"{what}: waits for the clipboard in on_paste", len(right), len(handlers),
                details=[b["cause"] for b in found if b][:1])


def nested_of(trace):
    return [entry for entry in trace.summary["not_watched"] if entry["reason"] == "nested"]


def check_dialogs(field, path, wait):
    handlers, trace = run_nested(path, "dialog", wait)
    entries = nested_of(trace)
    field.case(f"dialogs over {wait}: one line, with the function",
               len(entries) == 1 and entries[0].get("function") == "gtk_dialog_run", trace.summary["not_watched"])
    field.cases(f"dialogs over {wait}: counted", sum(entry["handlers"] for entry in entries), len(handlers))
    waited = [b for b in trace.blocks if b["time"].get("blocked_ns")]
    field.case(f"dialogs over {wait}: no block", not waited, *waited[:1])


GTK = """
import gi, sys
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
window = Gtk.Window()
window.show_all()
def ask():
    dialog = Gtk.MessageDialog(transient_for=window, text="?", buttons=Gtk.ButtonsType.OK)
    GLib.timeout_add(int(float(sys.argv[1]) * 1000), lambda: dialog.response(0))
    dialog.run()
    dialog.destroy()
    GLib.timeout_add(300, lambda: (print("done", flush=True), False)[1])
    return False
GLib.timeout_add(100, lambda: True)
GLib.io_add_watch(0, GLib.IO_IN, lambda *_: (sys.stdin.readline(), ask())[1])
print("ready", flush=True)
Gtk.main()
"""


def check_gtk(field):
    what = f"GTK's dialog, open for {DIALOG_S} s"
    if subprocess.run(["/usr/bin/python3", "-c", 'import gi; gi.require_version("Gtk", "3.0")'], stderr=subprocess.DEVNULL,
                      check=False).returncode or not shutil.which("Xvfb"):
        field.skip(what, "not installed: python3-gi, gir1.2-gtk-3.0, xvfb")
        return
    screen = Screen()
    process = start(["/usr/bin/python3", "-c", GTK, str(DIALOG_S)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                    stderr=subprocess.DEVNULL, env={**os.environ, **screen.env})
    process.stdout.readline()
    with Trace(process.pid, threshold="500ms") as trace:
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
    end(process)
    screen.end()
    entries = nested_of(trace)
    field.case(f"{what}: one line, with its time", len(entries) == 1 and entries[0]["handlers_ns"] >= DIALOG_S * 9e8,
               trace.summary["not_watched"])
    field.case(f"{what}: its function", entries and "dialog_run" in entries[0].get("function", ""), entries)


def main():
    need("cc")
    field = Field("nested turns")
    with tempfile.TemporaryDirectory(prefix="jank-nested-") as folder:
        path = build_nested(folder)
        for wait in ("epoll", "poll"):
            for job in ("clipboard", "single"):
                check_jobs(field, path, job, wait)
            check_dialogs(field, path, wait)
    check_gtk(field)
    field.done()


main()
