#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a trace does late and seldom works under the filter of its system calls: helper processes
that are killed, uprobes of programs that start later, rotation, a debuginfod server by name."""
import http.server
import os
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def helper(tracer, name):
    """The pid of its helper process of this name, which any of its threads may have started; 0:
    none now."""
    for tid in os.listdir(f"/proc/{tracer.pid}/task"):
        try:
            with open(f"/proc/{tracer.pid}/task/{tid}/children", encoding="ascii") as file:
                for pid in map(int, file.read().split()):
                    if bad.status_of(pid)["Name"] == name:
                        return pid
        except (OSError, KeyError):
            pass
    return 0


TRACERS = 2  # filters: one for the start, and one that allows less


def is_filtered(pid, filters=TRACERS):
    status = bad.status_of(pid)
    return status["Seccomp"] == "2" and int(status.get("Seccomp_filters", filters)) == filters


def kill_helper(tracer, name):
    pid = helper(tracer, name)
    os.kill(pid, signal.SIGKILL)
    return pid


def restarted(tracer, name, before):
    return bad.wait_for(lambda: helper(tracer, name) not in (0, before))


def start_nobody(name):
    """A program that only its user may read."""
    process = bad.start([*AS_NOBODY, bad.private_copy(name), "loop", "40"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def has_block(tracer, pid):
    return any(b'"type":"block"' in line and bad.json.loads(line)["pid"] == pid for line in tracer.stdout().split(b"\n")[:-1])


def functions(result, pid):
    return {frame["function"] for block in result.of("block") if block["pid"] == pid
            for sample in block["samples"] for frame in sample["stack"] if "function" in frame and not frame.get("kernel")}


def test_killed(backend):
    """Both helper processes are killed; the program that starts then is traced and has names."""
    directory, journal = bad.scratch(f"killed-{backend}"), bad.scratch(f"journal-{backend}")
    os.mkdir(directory, 0o700)
    first = start_nobody(f"first-{backend}")
    tracer = bad.Tracer("--json", "-t", "25ms", "-a", "-u", "65534", "--backend", backend, "--marks", "always", "-o", directory,
                        "--journal", journal)
    bad.wait_for(lambda: has_block(tracer, first.pid))
    deliver, apart = kill_helper(tracer, "jankbpf-deliver"), kill_helper(tracer, "jankbpf-apart")
    late = start_nobody(f"late-{backend}")
    ok(restarted(tracer, "jankbpf-deliver", deliver), f"{backend}: jankbpf-deliver is started again")
    ok(bad.wait_for(lambda: is_filtered(helper(tracer, "jankbpf-deliver"), TRACERS + 1), 10),
       f"{backend}: … with its own filter, too")
    ok(restarted(tracer, "jankbpf-apart", apart), f"{backend}: jankbpf-apart is started again")
    ok(is_filtered(helper(tracer, "jankbpf-apart")), f"{backend}: … with the tracer's filters")
    ok(bad.wait_for(lambda: has_block(tracer, late.pid)), f"{backend}: a program that starts later is traced")
    result = tracer.stop()
    bad.end(first, late)
    ok("main" in functions(result, late.pid), f"{backend}: its functions have names", f"{functions(result, late.pid)} {result.err}")
    ok(result.status == 0 and os.path.getsize(f"{directory}/blocks.jsonl") and os.path.getsize(journal),
       f"{backend}: DIR and the journal are written", result)


def test_rotation():
    """After a restart of jankbpf-deliver, by the process that was started under the filter."""
    directory = bad.scratch("rotation")
    os.mkdir(directory, 0o700)
    process = bad.target("loop", 40)
    tracer = bad.Tracer("-t", "1ms", "--json", "-o", directory, "--max-size", "1M", "-p", process.pid)
    before = kill_helper(tracer, "jankbpf-deliver")
    restarted(tracer, "jankbpf-deliver", before)
    ok(bad.wait_for(lambda: os.path.exists(f"{directory}/blocks.1.jsonl"), 60), "rotation: DIR is rotated")
    result = tracer.stop()
    bad.end(process)
    ok(result.status == 0 and "unwritten" not in result.err, "rotation: nothing is lost", result.err)


# --- debuginfod

class Server(http.server.BaseHTTPRequestHandler):
    """Has one debug file."""
    path_wanted, data, asked = "", b"", []
    answers = threading.Event()

    def do_GET(self):
        self.asked.append(self.path)
        self.answers.wait(60)
        found = self.path == self.path_wanted
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(self.data) if found else 0))
        self.end_headers()
        self.wfile.write(self.data if found else b"")

    def log_message(self, *_):
        pass


def stripped_target():
    """A program without names, and the server's path of its debug file."""
    program, debug = bad.scratch("stripped"), bad.scratch("stripped.debug")
    for words in (["objcopy", "--only-keep-debug", bad.TARGET, debug], ["strip", "-s", "-o", program, bad.TARGET]):
        subprocess.run(words, check=True)
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    with open(debug, "rb") as file:
        Server.data = file.read()
    Server.path_wanted = f"/buildid/{notes.partition('Build ID: ')[2].split()[0]}/debuginfo"
    return program


class Served:
    """A traced program without names whose debug file a server on this machine has, and a tracer as
    the user of sudo."""

    def __init__(self, cache, mode=0o755):
        self.server = http.server.ThreadingHTTPServer(("localhost", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.process = bad.target("loop", 40, exe=stripped_target())
        self.cache = bad.scratch(cache)
        os.mkdir(self.cache, mode)
        os.chown(self.cache, 65534 if mode == 0o755 else 0, 65534)
        self.tracer = bad.Tracer("--json", "-t", "25ms", "-p", self.process.pid,
                                 env={**os.environ, "DEBUGINFOD_URLS": f"http://localhost:{self.server.server_port}",
                                      "DEBUGINFOD_CACHE_PATH": f"{self.cache}/files", "SUDO_UID": "65534"})

    def has_name(self):
        return b'"handle_sleep"' in self.tracer.stdout()

    def stop(self):
        result = self.tracer.stop()
        bad.end(self.process)
        self.server.shutdown()
        return result


def test_server():
    Server.answers.set()
    served = Served("cache")
    ok(bad.wait_for(served.has_name, 20), "debuginfod: names come from the server", f"{Server.asked} {served.tracer.stderr()}")
    status = bad.status_of(helper(served.tracer, "jankbpf-fetch"))
    ok((status["Uid"].split()[0], status["CapPrm"], status["NoNewPrivs"]) == ("65534", "0" * 16, "1") and is_filtered(int(status["Pid"]), 1),
       "… jankbpf-fetch is the user of sudo, without capabilities, with a filter", status)
    ok(is_filtered(served.tracer.pid), "… the tracer has its filter")
    owners = {os.stat(os.path.join(at, name)).st_uid for at, _, names in os.walk(served.cache + "/files") for name in names}
    ok(owners == {65534}, "… the user owns the files of the cache", owners)
    result = served.stop()
    ok(result.status == 0 and "debug file" not in result.err, "… nothing is wrong at the end", result.err)


def test_server_stopped():
    """A stopped process does not delay records or the end; a killed one is reported."""
    for signal_nr, name in ((signal.SIGSTOP, "stopped"), (signal.SIGKILL, "killed")):
        Server.asked.clear()
        Server.answers.clear()
        served = Served(f"cache-{name}")
        bad.wait_for(lambda: Server.asked)
        os.kill(helper(served.tracer, "jankbpf-fetch"), signal_nr)
        seen = bad.wait_for(lambda: has_block(served.tracer, served.process.pid), 20)
        if name == "killed":
            bad.wait_for(lambda: "downloads debug files ended" in served.tracer.stderr(), 10)
        result = served.stop()
        Server.answers.set()
        ok(seen and result.status == 0 and "handle_sleep" not in result.out, f"debuginfod, {name}: blocks without these names", result.err)
        if name == "killed":
            ok("downloads debug files ended" in result.err, f"debuginfod, {name}: it is said", result.err)


def test_server_failing():
    served = Served("cache-root", 0o700)
    ok(bad.wait_for(lambda: "set DEBUGINFOD_CACHE_PATH" in served.tracer.stderr(), 20), "debuginfod: a cache that cannot be written is reported",
       served.tracer.stderr())
    served.stop()


bad.need_tracing()
if not bad.has_filters():
    bad.skip_all("no libseccomp, or no filters in the kernel")
os.chmod(bad.SCRATCH, 0o711)
test_killed("kernel")
test_killed("uprobe")
test_rotation()
if subprocess.run(["pkg-config", "--exists", "libdebuginfod"], check=False).returncode:
    bad.skip("debuginfod", "built without libdebuginfod")
else:
    test_server()
    test_server_stopped()
    test_server_failing()
bad.done()
