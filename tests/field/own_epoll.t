#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Programs that wait for their own epoll by another call, and libraries with several backends: no
idle wait is a block, and each stall between is found."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import ROOT, Trace, build, end, headline, need, start, state_ns  # noqa: E402

STALLS, IDLE_S, MS = (4, 2, 1000000) if SHORT else (10, 15, 1000000)
LIBEV = {"select": 1, "poll": 2, "epoll": 4, "io_uring": 128}

EVENT_MACHINE = """
require 'eventmachine'
module Input
  def receive_data(data)
    sleep 0.15 if data.include? 's'
  end
end
EM.epoll if ARGV[0] == 'epoll'
EM.run { EM.attach($stdin, Input); EM.add_periodic_timer(0.3) {}; EM.defer { 1 } }
"""


def slept(block):
    return sum(state_ns(block, state) for state in ("futex", "poll", "sleep")) > 50 * MS


def check(field, what, command, **env):
    process = start(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, **env))
    time.sleep(2)  # interpreters start slowly
    if process.poll() is not None:
        field.skip(what, "it does not run here")
        return
    with Trace(process.pid, threshold="60ms") as trace:
        time.sleep(IDLE_S)
        for _ in range(STALLS):
            process.stdin.write(b"s")
            process.stdin.flush()
            time.sleep(0.4)
        time.sleep(1)
    process.stdin.close()
    end(process)
    blocks = [block for block in trace.all_blocks + trace.hangs if slept(block)]
    field.case(f"{what}: {STALLS} stalls, and no idle wait", len(blocks) == STALLS, str(len(blocks)), *map(headline, blocks))


def main():
    need("cc")
    field = Field("idle in several calls")
    with tempfile.TemporaryDirectory(prefix="jank-own-") as folder:
        program = build(folder, "rests.c", "-pthread")
        for call in ("ppoll", "poll", "pselect"):
            check(field, f"epoll by {call}", [program, f"own-{call}"])
        libev = os.path.join(folder, "libev")
        source = os.path.join(ROOT, "tests", "field", "libev.c")
        built = subprocess.run(["cc", "-O2", "-o", libev, source, "-lev"], capture_output=True, check=False)
        for name, flag in LIBEV.items():
            if built.returncode:
                field.skip(f"libev by {name}", "not installed: libev-dev")
            else:
                check(field, f"libev by {name}", [libev], LIBEV_FLAGS=str(flag))
    for name in ("select", "epoll"):
        if shutil.which("ruby"):
            check(field, f"EventMachine by {name}", ["ruby", "-e", EVENT_MACHINE, name])
        else:
            field.skip(f"EventMachine by {name}", "not installed: ruby-eventmachine")
    field.done()


if __name__ == "__main__":
    main()
