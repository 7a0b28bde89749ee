#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kill -9 of jankbpf: nothing stays attached, the target goes on, and its output stays readable."""
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import MS, ok

KILLS = 12


def test_simjank(build, backend):
    """The target's code is restored, and its truth is the same as without jankbpf."""
    truth = bad.scratch("truth")
    process = bad.simjank("--scenario", "sleep:40ms,busy:30ms,pipe:30ms", "--duration", "1h", "--truth", truth,
                          "--gap", "10ms", build=build)
    code = [bad.code_hash(process.pid, name) for name in ("libc", "libutils")]
    tracer = bad.Tracer("-t", "25ms", "--backend", backend, "-p", process.pid)
    held = bad.held(tracer.pid)
    if backend == "uprobe":
        ok(bad.code_hash(process.pid) != code[0], f"{build}: the probes are in the code", code)
    time.sleep(0.5)
    tracer.process.kill()
    tracer.finish()
    left = bad.left(held)
    ok(held and not left, f"{build}, {backend}: nothing stays in the kernel", f"{left} of {held}")
    restored = bad.wait_for(
        lambda: [bad.code_hash(process.pid, name) for name in ("libc", "libutils")] == code, 3)
    ok(restored, f"{build}, {backend}: the target's code is restored")
    process.terminate()
    process.wait(30)
    with open(truth, encoding="utf-8") as lines:
        done = [json.loads(line) for line in lines]
    late = [d["duration_ns"] - d["wanted_ns"] for d in done[:-1] if d["wanted_ns"]]
    ok(process.returncode == 0 and len(late) > 10 and sorted(late)[len(late) // 2] < 5 * MS,
       f"{build}, {backend}: the target ends as it would without jankbpf", done)


def children_in(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def test_command():
    """COMMAND goes on without jankbpf. If jankbpf is killed before COMMAND's exec, COMMAND never
    starts."""
    truth = bad.scratch("truth")
    tracer = bad.Tracer("-t", "25ms", "--", bad.SIMJANK, "--quiet", "--duration", "1h", "--truth", truth)
    with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children", encoding="ascii") as file:
        child = int(file.read().split()[0])
    tracer.process.kill()
    tracer.finish()
    time.sleep(0.3)
    alive = os.path.exists(f"/proc/{child}")
    os.kill(child, 15)
    written = bad.wait_for(lambda: os.path.exists(truth) and os.path.getsize(truth), 5)
    ok(alive and written, "COMMAND goes on without jankbpf", f"{alive} {written}")
    mark, started = bad.scratch("mark"), 0
    for i in range(20):
        tracer = bad.start([bad.JANK, "--", "touch", mark], stdout=subprocess.DEVNULL)
        path = f"/proc/{tracer.pid}/task/{tracer.pid}/children"
        bad.wait_for(lambda: children_in(path) or tracer.poll() is not None, 30)
        time.sleep(i * 0.005)
        children = children_in(path)
        tracer.kill()
        tracer.wait()
        started += bool(children)
        gone = [pid for pid in children.split() if not bad.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 3)]
        if gone:
            break
    ok(started and not gone, f"killed {started} times between fork and exec: no child waits for ever", gone)


def redis_ask(port, line):
    with socket.create_connection(("127.0.0.1", port), 5) as link:
        link.sendall(line + b"\r\n")
        return link.recv(100)


def test_redis(backend):
    name = f"redis-server, {backend}: answers"
    if not shutil.which("redis-server"):
        bad.skip(name, "redis-server is not installed")
        return
    port = random.randint(20000, 30000)
    server = bad.start(["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1", "--dir",
                        bad.SCRATCH], stdout=subprocess.DEVNULL)
    bad.wait_for(lambda: subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True,
                                        check=False).returncode == 0)
    bench = bad.start(["redis-benchmark", "-p", str(port), "-t", "get", "-n", "10000000", "-q"],
                      stdout=subprocess.DEVNULL)
    for _ in range(3):
        tracer = bad.Tracer("-t", "1ms", "--backend", backend, "-p", server.pid)
        held = bad.held(tracer.pid)
        time.sleep(random.random() / 2)
        tracer.process.kill()
        tracer.finish()
    answer = redis_ask(port, b"PING")
    good = answer.startswith(b"+PONG") and server.poll() is None and bench.poll() is None and not bad.left(held)
    ok(good, name, f"{answer} {server.poll()} {bench.poll()} {bad.left(held)}")
    bad.end(bench, server)


def whole_lines(path):
    """The number of lines, and whether the last one is torn."""
    with open(path, "rb") as file:
        data = file.read()
    lines = data.split(b"\n")
    for line in lines[:-1]:
        json.loads(line)
    return len(lines) - 1, lines[-1] != b""


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def test_records():
    """Killed while it writes: every line but the last is whole, and the next start repairs the
    last."""
    process = bad.target("storm", 2, 300)
    directory, path = bad.scratch("kept"), bad.scratch("kept/blocks.jsonl")
    counts, torn, problems = [0], 0, []
    for i in range(KILLS):
        tracer = bad.Tracer("-t", "200us", "-o", directory, "-p", process.pid, stdout=subprocess.DEVNULL)
        size = size_of(path)
        bad.wait_for(lambda before=size: size_of(path) > before)
        time.sleep(random.random() / 4)
        tracer.process.kill()
        tracer.finish()
        try:
            count, is_torn = whole_lines(path)
            counts.append(count)
            torn += is_torn
        except ValueError as error:
            problems.append(error)
    ok(not problems and counts == sorted(counts) and counts[-1] > KILLS,
       f"killed {KILLS} times while it writes ({counts[-1]} lines, {torn} torn)", f"{problems} {counts}")
    with open(path, "ab") as file:
        file.write(b'{"type":"block","schema":"jankbpf/1","id":"x","process":"\xc3')
    tracer = bad.Tracer("-t", "200us", "-o", directory, "-n", "5", "-p", process.pid, stdout=subprocess.DEVNULL)
    result = tracer.finish()
    complaints = bad.validate(path)
    ok(result.status == 0 and not complaints, "a torn last line is repaired by the next start", complaints)
    logs = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".log")]
    run = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *logs], capture_output=True, text=True, check=False)
    ok(logs and run.returncode == 0, f"BlockCanary's reader accepts the {len(logs)} logs", run.stdout[-2000:] + run.stderr)
    bad.end(process)


bad.need_tracing()
for which in (bad.SIMJANK, "./simjank-looper"):
    for how in ("kernel", "uprobe"):
        if os.path.exists(which):
            test_simjank(which, how)
        else:
            bad.skip(f"{which}, {how}", "not built: android-libutils-dev is not installed")
for how in ("kernel", "uprobe"):
    test_redis(how)
test_command()
test_records()
bad.done()
