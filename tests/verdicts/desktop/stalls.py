# SPDX-License-Identifier: GPL-2.0
"""Stalls of a Python program's event loop: Tk's, Qt's or GTK's; the latter two in a modal dialog.
usage: stalls.py tk|qt|gtk FILE DELAY_MS ROUNDS"""
import subprocess
import sys
import time

STALL_S, GAP_MS = 0.15, 400


def spin():
    end = time.monotonic() + STALL_S
    while time.monotonic() < end:
        pass


KINDS = {"cpu": spin, "sleep": lambda: time.sleep(STALL_S), "child": lambda: subprocess.run(["sleep", str(STALL_S)], check=True)}


class Stalls:
    """after(ms, function) is the toolkit's timer."""

    def __init__(self, after):
        self.after, self.left = after, list(KINDS) * int(sys.argv[4])
        after(int(sys.argv[3]), self.next)

    def next(self):
        if not self.left:
            return
        kind = self.left.pop(0)
        begin = time.time_ns()
        KINDS[kind]()
        with open(sys.argv[2], "a", encoding="ascii") as file:
            file.write(f"{begin} {time.time_ns()} {kind}\n")
        self.after(GAP_MS, self.next)


def run_tk():
    import tkinter
    root = tkinter.Tk()
    tkinter.Label(root, text="stalls").pack()
    Stalls(root.after)
    root.mainloop()


def run_qt():
    from PyQt5.QtCore import QTimer
    from PyQt5.QtWidgets import QApplication, QDialog, QLabel
    app = QApplication([])
    dialog = QDialog()
    QLabel("stalls", dialog)
    Stalls(lambda ms, function: QTimer.singleShot(ms, lambda: function()))
    dialog.exec_()
    app.quit()


def run_gtk():
    import gi
    gi.require_version("Gtk", "3.0")
    from gi.repository import GLib, Gtk
    dialog = Gtk.MessageDialog(text="stalls", buttons=Gtk.ButtonsType.OK)
    Stalls(lambda ms, function: GLib.timeout_add(ms, lambda: function() and False))
    dialog.run()


{"tk": run_tk, "qt": run_qt, "gtk": run_gtk}[sys.argv[1]]()
