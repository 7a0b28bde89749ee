# SPDX-License-Identifier: GPL-2.0
"""stall.h for scripts: the same lines, the same start by a byte on stdin, the same ticks."""
import ctypes
import fcntl
import json
import os
import signal
import sys
import termios
import threading
import time

STALL_S, TICK_S, APART, ROUNDS, LINGER, LIFE_S = 0.06, 0.02, 4, 2, 6, 120
OVER = -2
PR_SET_PDEATHSIG = 1


def open_():
    """Ends when a test that died leaves it behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.alarm(LIFE_S)


def say(record):
    os.write(1, (json.dumps(record) + "\n").encode())


def ready(pid):
    say({"ready": pid})


def await_start():
    """For scripts that drive another program: waits for a byte on stdin, or its end."""
    os.read(0, 1)


def started():
    try:
        return fcntl.ioctl(0, termios.FIONREAD, bytes(4)) != bytes(4)
    except OSError:
        return True


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(i * i for i in range(1000))


class Turns:
    """Which stall is due at a tick."""

    def __init__(self, count):
        self.count, self.ticks, self.round, self.started = count, 0, 0, False

    def due(self):
        if self.ticks == 0 and not self.started:
            self.started = started()
            if not self.started:
                return None
        self.ticks += 1
        if self.ticks % APART:
            return None
        turn = self.ticks // APART - 1
        self.round = turn // self.count
        if self.round < ROUNDS:
            return turn % self.count
        return None if turn < ROUNDS * self.count + LINGER else OVER

    def stall(self, kind, frame, **message):
        """frame: the function that stalls; None if it is not in a native stack."""
        begin = time.monotonic_ns()
        if self.round % 2:
            spin(STALL_S)
        else:
            time.sleep(STALL_S)
        say({"kind": kind, "how": "cpu" if self.round % 2 else "sleep", "begin_ns": begin,
             "end_ns": time.monotonic_ns(), "tid": threading.get_native_id(), "frame": frame,
             "message": message})


def driven(kind, tid, do, how="cpu", frame=None, **message):
    """A stall of another program, as long as the driver's request takes: the edges are not
    sharp."""
    begin = time.monotonic_ns()
    do()
    say({"kind": kind, "how": how, "begin_ns": begin, "end_ns": time.monotonic_ns(), "tid": tid,
         "frame": frame, "loose": True, "message": message})
    time.sleep(TICK_S * APART)


def cannot(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)
