#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A debug file that is truncated while jankbpf-name has it mapped: the process may end, is started
again, and names functions without lines."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

# A signal changes which function stalls the loop.
SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

static volatile sig_atomic_t second;
static volatile unsigned long sum;

static void on_signal(int sig) { second = 1; }

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((noipa)) void stall_first(void) { for (long end = now_ms() + 40; now_ms() < end;) sum += 1; }

__attribute__((noipa)) void stall_second(void) { for (long end = now_ms() + 40; now_ms() < end;) sum += 2; }

int main(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	signal(SIGUSR1, on_signal);
	puts("ready");
	fflush(stdout);
	for (;;) {
		epoll_wait(fd, &event, 1, 20);
		if (second)
			stall_second();
		else
			stall_first();
	}
}
"""


def build(folder):
    """The program and its debug file."""
    os.mkdir(folder)
    with open(f"{folder}/p.c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run("gcc -O1 -g -fno-inline -o p p.c && objcopy --only-keep-debug p p.debug && strip -g p && "
                   "objcopy --add-gnu-debuglink=p.debug p", shell=True, check=True, cwd=folder)
    return f"{folder}/p", f"{folder}/p.debug"


def frames_of(tracer, function):
    """Frames of a function in the blocks so far."""
    whole = tracer.stdout().rpartition(b"\n")[0].splitlines()
    return [frame for record in map(json.loads, whole) if record["type"] == "block"
            for sample in record["samples"] for frame in sample["stack"] if frame.get("function") == function]


def main():
    bad.need_tracing()
    if not all(map(shutil.which, ("gcc", "objcopy", "strip"))):
        bad.skip("a truncated debug file", "no gcc, objcopy or strip")
        bad.done()
        return
    program, debug = build(bad.scratch("truncated"))
    process = bad.target(exe=program)
    tracer = bad.Tracer("--json", "-t", "25ms", "-p", process.pid)
    ok(bad.wait_for(lambda: any("line" in frame for frame in frames_of(tracer, "stall_first"))), "lines come from the debug file")
    os.truncate(debug, 0)
    process.send_signal(signal.SIGUSR1)
    ok(bad.wait_for(lambda: frames_of(tracer, "stall_second")), "truncated: functions have names again")
    result = tracer.stop()
    ok(result.status == 0, "the trace goes on", result)
    ok(not any("line" in frame for frame in frames_of(tracer, "stall_second")), "lines are missing")
    restarts = result.summary()["lost"].get("namer_restarted", 0)
    ok(restarts <= 2, f"the process was started again {restarts} times", result)
    bad.end(process)
    bad.done()


if __name__ == "__main__":
    main()
