#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""node's pool: when each of its threads is in one job, the loop is idle and callbacks wait. The summary says
so, with a time that is not longer than the truth; an idle or partly busy pool, and one whose jobs end soon,
are not reported."""
import os
import shutil
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from field import SHORT, Field  # noqa: E402
from live import Trace, end, start, wait_for  # noqa: E402

NODE = shutil.which("node") or shutil.which("nodejs")
HELD_S = 4  # how long the pool stays exhausted: the tracer must find it meanwhile, on a busy machine, too

# The first line on stdin stalls the loop once; the second one starts the work.
PROGRAM = r"""
const fs = require('fs'), crypto = require('crypto'), dns = require('dns');
const [mode, count, fifo] = [process.argv[2], +process.argv[3], process.argv[4]];
const begin = process.hrtime.bigint();
let over = false;
function done() { // the pool is exhausted up to the first one's end
  if (!over)
    process.stdout.write(`took ${process.hrtime.bigint() - start}\n`);
  over = true;
}
let start = begin;
const work = {
  fifo: () => fs.readFile(fifo, done),
  crypto: () => crypto.pbkdf2('a', 'b', 1500000, 64, 'sha512', done),
  lookup: (i) => dns.lookup(`name${i}.example`, () => {}),
  short: () => crypto.pbkdf2('a', 'b', 700, 64, 'sha512', work.short), // 1 ms
  stat: () => fs.stat('/', () => setTimeout(work.stat, 5)),
  none: () => {},
};
setInterval(() => {}, 100);
process.stdin.once('data', () => {
  const end = Date.now() + 60;
  while (Date.now() < end);
  process.stdin.once('data', () => {
    start = process.hrtime.bigint();
    for (let i = 0; i < count; i++)
      work[mode](i);
  });
});
fs.stat('/', () => process.stdout.write('ready\n'));
"""


class Node:
    """The program, with its FIFO; `config` is its /etc/resolv.conf, if not None; `threads` the pool's size."""

    def __init__(self, folder, mode, count, config=None, threads=4):
        self.fifo = os.path.join(folder, "fifo")
        self.script = os.path.join(folder, "pool.js")
        if not os.path.exists(self.fifo):
            os.mkfifo(self.fifo)
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        command = [NODE, self.script, mode, str(count), self.fifo]
        if config:
            command = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', config] + command
        env = {**os.environ, "UV_THREADPOOL_SIZE": str(threads)}
        self.process = start(command, stdin=-1, stdout=-1, stderr=-3, env=env)
        self.ready = self.process.stdout.readline() == b"ready\n"

    def go(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def open_fifo(self):
        """Ends the reads: each has a writer, and then its end."""
        os.close(os.open(self.fifo, os.O_WRONLY))

    def took_ns(self):
        return int(self.process.stdout.readline().split()[1])


def trace(node, during):
    with Trace(node.process.pid) as result:
        node.go()
        wait_for(lambda: '"type":"block"' in open(result.out.name, encoding="utf-8").read(), what="a block of the loop")
        node.go()
        truth_ns = during()
    return [item for item in result.summary.get("not_watched", []) if item["reason"] == "pool"], truth_ns


def held(node):
    def during():
        time.sleep(HELD_S)
        node.open_fifo()
        return node.took_ns()

    return during


def check_busy(field, folder, what, mode, call, during, threads=4):
    node = Node(folder, mode, threads, threads=threads)
    found, truth_ns = trace(node, during(node))
    end(node.process)
    item = found[0] if len(found) == 1 else {}
    right = (item.get("pool_threads"), item.get("pool_busy"), item.get("waits_in")) == (threads, threads, call)
    shown_ns = item.get("pool_busy_ns", 0)
    field.case(f"{what}: {threads} of {threads}", right and truth_ns / 2 < shown_ns <= truth_ns, f"took {truth_ns}", str(found))


def check_quiet(field, folder, what, mode, count):
    node = Node(folder, mode, count)
    found, _ = trace(node, lambda: time.sleep(3))
    end(node.process)
    field.case(f"{what}: nothing is said", not found, str(found))


def check_lookups(field, folder):
    what = "lookups without an answer: 2 of 4, and others wait"
    config = os.path.join(folder, "resolv.conf")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        try:
            silent.bind(("127.0.7.53", 53))
        except OSError as error:
            field.skip(what, str(error))
            return
        with open(config, "w", encoding="utf-8") as file:
            file.write("nameserver 127.0.7.53\noptions timeout:4 attempts:1\n")
        node = Node(folder, "lookup", 4, config)
        if not node.ready:
            field.skip(what, "no mount namespace here")
            end(node.process)
            return
        found, _ = trace(node, lambda: time.sleep(3))
        end(node.process)
    item = found[0] if len(found) == 1 else {}
    right = (item.get("pool_threads"), item.get("pool_busy"), item.get("waits_in")) == (4, 2, "poll")
    field.case(what, right and item["pool_busy_ns"] > 1e9, str(found))


def main():
    field = Field("libuv's pool exhausted")
    if not NODE:
        field.skip("node's pool", "not installed: nodejs")
        field.done()
        return
    with tempfile.TemporaryDirectory(prefix="jank-uv-") as folder:
        for i in range(1 if SHORT else 10):
            check_busy(field, folder, f"opens of a FIFO, {i + 1}", "fifo", "openat", held)
        for i in range(0 if SHORT else 5):
            check_busy(field, folder, f"pbkdf2, {i + 1}", "crypto", None, lambda node: node.took_ns)
        for threads in () if SHORT else (1, 16):
            check_busy(field, folder, f"a pool of {threads}", "fifo", "openat", held, threads)
        check_lookups(field, folder)
        check_quiet(field, folder, "an idle pool", "none", 0)
        for i in range(0 if SHORT else 5):
            check_quiet(field, folder, f"3 of 4 threads wait, {i + 1}", "fifo", 3)
            check_quiet(field, folder, f"16 stats each 5 ms, {i + 1}", "stat", 16)
            check_quiet(field, folder, f"jobs of 1 ms, 16 at once, {i + 1}", "short", 16)
    field.done()


if __name__ == "__main__":
    main()
