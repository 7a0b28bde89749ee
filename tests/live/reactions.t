#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Commands of --on-block, --on-hang and --on-new: when they run, as whom, with what; that no record
waits for them; what is counted; and the recipes of docs/reactions.md."""
import glob
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

USER = 65534
AS_SUDO = {**os.environ, "SUDO_UID": str(USER), "SUDO_GID": str(USER)}


def folder(name, uid=0):
    """A directory for what commands write; they are killed or replaced by this user only."""
    os.chmod(bad.SCRATCH, 0o711)
    path = bad.scratch(name)
    os.mkdir(path, 0o700)
    os.chown(path, uid, uid)
    return path


def text_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def lines_of(path):
    return text_of(path).splitlines()


def process_of(tracer):
    return bad.own_process(tracer.pid, "jankbpf-react")


def simjank(*args, count=4, scenario="sleep:30ms", **options):
    return bad.simjank("--wait", "--scenario", scenario, "--gap", "5ms", "--short-rate", "0", "--count", count, *args,
                       **options)


def run(process, *args, **options):
    """Traces it from its first dispatch to its end."""
    tracer = bad.Tracer("--json", "-t", "10ms", *args, "-p", process.pid, **options)
    process.send_signal(signal.SIGUSR1)
    return tracer.finish(60)


def reactions(result):
    return (result.summary() or {}).get("reactions")


def ended(pid):
    """It is gone, or dead and not yet waited for."""
    try:
        return bad.status_of(pid)["State"].startswith(("Z", "X"))
    except (OSError, KeyError):
        return True


# --- when, and with what

def test_block():
    where = folder("block")
    names = "TYPE REACTION ID PID TID PROCESS THREAD LOOP DURATION_NS DELAY_NS KIND SIGNATURE SIGNATURE_VERSION SUMMARY FUNCTION START OCCURRENCE"
    values = " ".join(f'"$JANKBPF_{name}"' for name in names.split())
    result = run(simjank(), "--on-block", f"cat >> {where}/json; printf '%s\\t' {values} >> {where}/env; echo >> {where}/env")
    blocks = result.blocks()
    ok(result.status == 0 and len(blocks) == 4 and reactions(result) == {"run": len(result.of("block"))},
       "on-block: runs for each block, and the summary counts it", result)
    got = [json.loads(line) for line in lines_of(f"{where}/json")]
    ok(got == result.of("block"), "on-block: its stdin has the record that stdout has", got)
    rows = [dict(zip(names.split(), line.split("\t"))) for line in lines_of(f"{where}/env")]
    for row, block in zip(rows, result.of("block")):
        want = {"TYPE": "block", "REACTION": "on-block", "ID": block["id"], "PID": str(block["pid"]), "TID": str(block["tid"]),
                "PROCESS": "simjank", "THREAD": block["thread"], "LOOP": "epoll", "DURATION_NS": str(block["duration_ns"]),
                "DELAY_NS": str(block["delay_ns"]), "KIND": block["cause"]["kind"], "SIGNATURE": block["cause"]["signature"],
                "SIGNATURE_VERSION": str(block["cause"]["signature_version"]),
                "SUMMARY": block["cause"]["summary"], "FUNCTION": block["cause"].get("frame", {}).get("function", ""),
                "START": block["start"], "OCCURRENCE": str(block["occurrence"])}
        ok(row == want, f"on-block: its environment has the main fields of block {want['OCCURRENCE']}", f"{row}\n{want}")
    ok(len(rows) == len(result.of("block")), "on-block: one environment each")


def test_hang():
    """A dispatch that lasts until the command has run: else the test stands still."""
    where, program = folder("hang"), bad.target("stuck")
    tracer = bad.Tracer("--json", "-t", "10ms", "--hang", "300ms", "--on-hang", f'echo "$JANKBPF_TYPE $JANKBPF_PID" > {where}/seen',
                        "--on-block", f"echo >> {where}/blocks", "-p", program.pid)
    bad.begin_endless(program)
    ok(bad.wait_for(lambda: text_of(f"{where}/seen").endswith("\n")), "on-hang: runs while the hang lasts", tracer.stderr())
    ok(text_of(f"{where}/seen") == f"hang {program.pid}\n" and program.poll() is None and not bad.is_waiting(program),
       "on-hang: gets the hang's record", text_of(f"{where}/seen"))
    result = tracer.stop()
    ok(not result.of("block") and not lines_of(f"{where}/blocks"), "on-hang: a hang is no block", result)
    bad.end(program)


def test_new():
    where = folder("new")
    result = run(simjank(count=6, scenario="sleep:30ms,busy:30ms"), "--on-new",
                 f'echo "$JANKBPF_SIGNATURE" >> {where}/new', "--on-block", f'echo "$JANKBPF_SIGNATURE" >> {where}/all')
    of_run = [block["cause"]["signature"] for block in result.of("block")]
    new = lines_of(f"{where}/new")
    ok(len(of_run) > len(set(of_run)) >= 2 and sorted(new) == sorted(set(of_run)), "on-new: runs once a signature", f"{new} {of_run}")
    ok(lines_of(f"{where}/all") == of_run, "on-new: beside on-block, which runs for all")


# --- as whom

def test_user():
    where = folder("user", USER)
    command = f"cp /proc/self/status {where}/status; ls -l /proc/self/fd > {where}/fds; echo \"$JANKBPF_PID\" > {where}/pid"
    process = simjank()
    tracer = bad.Tracer("--json", "-t", "10ms", "--on-block", command, "-p", process.pid, env=AS_SUDO)
    own = bad.status_of(process_of(tracer))
    process.send_signal(signal.SIGUSR1)
    result = tracer.finish(60)
    ok(own["Uid"].split() == [str(USER)] * 4 and not int(own["CapPrm"], 16) and not int(own["CapEff"], 16),
       "sudo: jankbpf-react is the user, without capabilities", own)
    status = dict(line.split(":\t", 1) for line in lines_of(f"{where}/status"))
    ok(status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4 and set(status["Groups"].split()) <= {str(USER)},
       "sudo: so is the command", status)
    ok(not any(int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")), "sudo: it has no capability", status)
    ok(status.get("Seccomp", "0") == "0" and status["NoNewPrivs"] == "0", "sudo: nothing of the tracer's limits it", status)
    links = [line.rsplit(" -> ")[-1] for line in lines_of(f"{where}/fds") if " -> " in line]
    ok(len(links) == 4 and "jankbpf-record" in links[0] and not any("socket:" in link or "bpf" in link for link in links[1:]),
       "sudo: it has stdin, stdout and stderr, and no file of ours", links)
    ok(os.stat(f"{where}/pid").st_uid == USER and result.status == 0, "sudo: what it writes is the user's", result)


def test_root_file_of_user():
    """A command of the user cannot do what root can."""
    where = folder("roots")
    result = run(simjank(count=1), "--on-block", f"touch {where}/file", env=AS_SUDO)
    ok(not os.listdir(where) and reactions(result)["failed"] >= 1 and "Permission denied" in result.err,
       "sudo: it cannot write where only root may; its first line of output says why", result)


def test_file_capabilities():
    """A user whose jankbpf has capabilities of its file: its commands have none."""
    where = folder("filecaps", USER)
    if not shutil.which("setcap") or not shutil.which("setpriv"):
        bad.skip("file capabilities", "no setcap or setpriv")
        return
    program, traced = bad.scratch("jankbpf"), bad.scratch("simjank")
    shutil.copy(bad.JANK, program)
    shutil.copy(bad.SIMJANK, traced)
    caps = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_sys_admin,cap_syslog,cap_sys_nice,cap_ipc_lock,cap_kill,cap_setuid,cap_setgid"
    if subprocess.run(["setcap", f"{caps}+ep", program], check=False, capture_output=True).returncode:
        bad.skip("file capabilities", "setcap is refused here")
        return
    result = bad.trace("--json", "-t", "10ms", "--on-block", f"cp /proc/self/status {where}/status", "--", traced, "--quiet", "--scenario",
                       "sleep:30ms", "--gap", "5ms", "--short-rate", "0", "--count", "1", jank=program, cwd="/",
                       prefix=("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"))
    status = dict(line.split(":\t", 1) for line in lines_of(f"{where}/status"))
    ok(status and status["Uid"].split() == [str(USER)] * 4 and not any(int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")),
       "file capabilities: the command is the user, without any", f"{status} {result}")


def test_unseen():
    """-a: jankbpf-react is neither traced nor reported as not watched."""
    tracer = bad.Tracer("--json", "-t", "25ms", "-a", "-u", USER, "-d", "3s", "--on-block", "true", env=AS_SUDO)
    pid = process_of(tracer)
    result = tracer.finish()
    summary = result.summary()
    found = [entry for entry in summary["not_watched"] + summary["loops"] if entry.get("pid") == pid]
    ok(pid and result.status == 0 and not found, "-a: jankbpf-react is neither traced nor missed", f"{found} {result}")


def test_no_socket():
    done = subprocess.run([bad.JANK, "--react"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False)
    ok(done.returncode == 2 and "only a trace starts this process" in done.stderr, "a user cannot start jankbpf-react", done)


# --- hostile names

def test_hostile():
    """A program whose name is a command line, with what a terminal or a shell would take for more."""
    where = folder("hostile")
    name = "$(id)\n`id`;'\""
    program = os.path.join(where, name[:15])
    shutil.copy(bad.SIMJANK, program)
    process = simjank(count=1, build=program)
    result = run(process, "--on-block", f'printf "%s\\n" "$JANKBPF_PROCESS" > {where}/name; printf "%s" "$JANKBPF_EXE" > {where}/exe')
    got = text_of(f"{where}/name")
    ok("$(id)" in got and "`id`" in got and got.count("\n") == 1 and "uid=" not in got, "hostile: a name stays one line of text", repr(got))
    ok("\n" not in text_of(f"{where}/exe") and result.status == 0, "hostile: so does a path", repr(text_of(f"{where}/exe")))


# --- commands that misbehave

def test_failures():
    """The run goes on after simjank's end until the fifth command has begun."""
    where, process, idle = folder("fails"), simjank(count=5), bad.target("loop", 1)
    command = (f'echo >> {where}/begins; case $(wc -l < {where}/begins) in 1) echo no such luck; exit 3;; '
               f'2) echo $$ > {where}/shell; sleep 1000 & echo $! > {where}/child; wait;; '
               f'3) yes | head -c 300000000; yes >&2 & kill $!;; 4) exec 1>&- 2>&-; sleep 0.3;; *) kill -9 $$;; esac; echo >> {where}/ends')
    tracer = bad.Tracer("--json", "-t", "10ms", "--on-block", command, "--react-timeout", "2s", "-p", f"{process.pid},{idle.pid}")
    process.send_signal(signal.SIGUSR1)
    bad.wait_for(lambda: len(lines_of(f"{where}/begins")) >= 5)
    result = tracer.stop()
    bad.end(idle)
    counts = reactions(result)
    seen = counts["run"] + counts.get("skipped", 0)  # a busy machine has more blocks than may run one
    ok(result.status == 0 and counts["run"] >= 5 and seen == len(result.of("block")) and counts["failed"] == counts["run"] - 3
       and counts["timed_out"] == 1, "failures: each is counted", f"{counts} {result}")
    ok("--on-block: the command failed (exit status 3: no such luck)" in result.err and result.err.count("the command failed") == 1,
       "failures: the first is reported, with its first line of output", result.err)
    ok("took longer than 2" in result.err and "see --react-timeout" in result.err, "failures: a timeout is reported, too", result.err)
    pids = [int(text_of(f"{where}/{name}")) for name in ("shell", "child")]
    ok(all(ended(pid) for pid in pids), "failures: it is killed with its group", pids)
    ok(len(lines_of(f"{where}/ends")) == 2, "failures: a flood, and a command that closes its output, end well")
    ok(b"no such luck" not in result.raw and b"y\n" not in result.raw, "failures: their output is not among the records")
    text = run_text(simjank(count=1), "--on-block", "exit 1")
    ok("commands: 1 run, 1 failed\n" in text, "failures: the summary in text says so", text)


def run_text(process, *args):
    tracer = bad.Tracer("-t", "10ms", *args, "-p", process.pid)
    process.send_signal(signal.SIGUSR1)
    return tracer.finish(60).out


def test_slow():
    """200 blocks while the first command runs. It ends when all are on stdout."""
    where = folder("slow")
    process = simjank(count=200, scenario="sleep:12ms")
    tracer = bad.Tracer("--json", "-t", "10ms", "--on-block", f"echo >> {where}/begun; until [ -e {where}/go ]; do sleep 0.02; done",
                        "--react-timeout", "1m", "--react-rate", "0", "-p", process.pid)
    process.send_signal(signal.SIGUSR1)
    complete = bad.wait_for(lambda: tracer.stdout().count(b'"type":"block"') >= 200, 60)
    ok(complete and len(lines_of(f"{where}/begun")) == 1, "slow: 200 blocks are on stdout while the first command runs", tracer.stderr())
    with open(f"{where}/go", "w", encoding="ascii"):
        pass
    result = tracer.finish(60)
    counts = reactions(result)
    ok(result.status == 0 and len(result.blocks()) == 200 and not result.summary()["lost"].get("queue_full"),
       "slow: no record is missing", result.summary()["lost"])
    ok(counts["run"] == 16 and counts["run"] + counts["skipped"] == len(result.of("block")), "slow: 16 wait, the others are counted as skipped", counts)
    ok(result.err.count("no command was run for a record: too many wait") == 1, "slow: the first skip is reported", result.err)


def test_rate():
    result = run(simjank(count=30, scenario="sleep:12ms"), "--on-block", "true", "--react-rate", "1")
    counts = reactions(result)
    ok(1 <= counts["run"] <= 2 and counts["run"] + counts["skipped"] == len(result.of("block")) and "--react-rate" in result.err,
       "rate: at most so many a minute", counts)


def test_killed():
    where = folder("killed")
    process = simjank(count=6)
    tracer = bad.Tracer("--json", "-t", "10ms", "--on-block", f"echo >> {where}/ran", "-p", process.pid)
    os.kill(process_of(tracer), signal.SIGKILL)
    process.send_signal(signal.SIGUSR1)
    result = tracer.finish(60)
    ok(result.status == 0 and len(result.blocks()) == 6 and not lines_of(f"{where}/ran"), "killed: the records go on", result)
    ok(reactions(result) == {"run": 0, "skipped": len(result.of("block"))} and result.err.count("the process that runs commands ended") == 1,
       "killed: it is reported once, and what was skipped is counted", f"{reactions(result)} {result.err}")


def test_ends():
    """The end of a run waits for commands, and not for ever; nothing of them is left."""
    where = folder("ends")
    result = run(simjank(count=2), "-n", "1", "--on-block", f"sleep 0.5; echo >> {where}/late")
    ok(len(lines_of(f"{where}/late")) == 1 and reactions(result)["run"] == 1, "end: waits for the command of the last block", result)
    result = run(simjank(count=3), "--on-block", f"echo $$ >> {where}/pids; sleep 1000 & echo $! >> {where}/pids; wait", "--react-timeout", "1s")
    counts = reactions(result)
    pids = [int(pid) for pid in lines_of(f"{where}/pids")]
    ok(result.status == 0 and counts["run"] + counts["skipped"] == len(result.of("block")) and result.seconds < 30,
       "end: does not wait for commands that do not end", f"{counts} {result}")
    ok(pids and bad.wait_for(lambda: all(ended(pid) for pid in pids)), "end: they are killed", pids)
    process = simjank(count=100)
    tracer = bad.Tracer("--json", "-t", "10ms", "--on-block", f"echo $$ > {where}/orphan; sleep 1000", "-p", process.pid)
    process.send_signal(signal.SIGUSR1)
    bad.wait_for(lambda: text_of(f"{where}/orphan").endswith("\n"))
    react = process_of(tracer)
    bad.end(tracer.process)
    ok(bad.wait_for(lambda: ended(react) and ended(int(text_of(f"{where}/orphan")))), "the tracer is killed: so is the command")
    bad.end(process)


def test_all():
    """-a: a command that blocks, too, does not start itself again."""
    program = bad.scratch("jank-again")  # a name that only this test has
    shutil.copy(bad.SIMJANK, program)
    process = simjank(count=2, scenario="sleep:60ms", build=program)
    command = program + " --quiet --scenario sleep:60ms --gap 5ms --count 3"
    tracer = bad.Tracer("--json", "-t", "40ms", "-a", "-c", "jank-again", "--on-block", command, "--react-rate", "0")
    process.send_signal(signal.SIGUSR1)
    bad.wait_for(lambda: tracer.stdout().count(b'"type":"block"') >= 8)
    result = tracer.stop()
    own = [block for block in result.blocks() if block["pid"] == process.pid]
    ok(len(own) == 2 and len(result.blocks()) == 8 and reactions(result)["run"] == 2, "-a: blocks of a command run no command",
       f"{len(own)} {len(result.blocks())} {reactions(result)} {result.err}")


# --- the recipes

def recipe(word):
    with open("docs/reactions.md", encoding="utf-8") as page:
        found = [line.strip() for line in page if line.startswith("    ") and re.match(r"[^#]*\b" + word + r"\b", line) and "jankbpf -p" not in line]
    return found[0] if found else f"echo no recipe with {word}; false"


class Server(http.server.HTTPServer):
    """Keeps what is posted."""

    def __init__(self):
        self.posts = []
        super().__init__(("127.0.0.1", 0), Post)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Post(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_webhook():
    if not shutil.which("curl"):
        bad.skip("webhook", "no curl")
        return
    server = Server()
    for word, decode in (("curl", bytes), ("gzip", gzip.decompress)):
        command = recipe(word).replace("127.0.0.1:8000", f"127.0.0.1:{server.server_port}")
        server.posts.clear()
        result = run(simjank(count=2), "--on-block", command)
        posted = [json.loads(decode(body)) for _, _, body in server.posts]
        ok(posted == result.of("block") and reactions(result) == {"run": len(posted)}, f"recipe {word}: the server gets each record",
           f"{posted} {result.err}")
        ok(all(path == "/jank" and headers["Content-Type"] == "application/json" for path, headers, _ in server.posts),
           f"recipe {word}: as JSON", server.posts[:1])
    server.shutdown()
    result = run(simjank(count=1), "--on-block", recipe("curl").replace("127.0.0.1:8000", "127.0.0.1:1"))
    ok(reactions(result)["failed"] == 1 and "curl: (7)" in result.err, "recipe curl: without a server it fails, and says why", result.err)


def test_notify():
    where = folder("notify", USER)
    with open(f"{where}/notify-send", "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nprintf "%s\\n" "$DBUS_SESSION_BUS_ADDRESS" "$@" > {where}/said\n')
    os.chmod(f"{where}/notify-send", 0o755)
    result = run(simjank(count=1), "--on-block", recipe("notify-send"), env={**AS_SUDO, "PATH": f"{where}:{os.environ['PATH']}"})
    block = result.of("block")[0]
    want = [f"unix:path=/run/user/{USER}/bus", "--", "simjank", block["cause"]["summary"]]
    ok(lines_of(f"{where}/said") == want and reactions(result) == {"run": 1}, "recipe notify-send: the user's session gets process and sentence",
       f"{lines_of(f'{where}/said')} {result.err}")


def test_core():
    if not shutil.which("gcore"):
        bad.skip("recipe gcore", "no gcore")
        return
    where, program = folder("core"), bad.target("stuck")
    tracer = bad.Tracer("--json", "-t", "10ms", "--hang", "300ms", "--on-hang", recipe("gcore"), "--react-timeout", "1m", "-p", program.pid,
                        env={**os.environ, "HOME": where})
    bad.begin_endless(program)
    bad.wait_for_hang(tracer)
    result = tracer.stop(seconds=60)
    cores = glob.glob(f"{where}/hang.*")
    magic = open(cores[0], "rb").read(18) if cores else b""
    ok(cores == [f"{where}/hang.{program.pid}"] and magic[:4] == b"\x7fELF" and magic[16] == 4, "recipe gcore: a core of the process that hangs",
       f"{cores} {reactions(result)} {result.err}")
    bad.end(program)


def test_file():
    where = folder("file")
    result = run(simjank(count=3), "--on-new", recipe("faults.jsonl"), env={**os.environ, "HOME": where})
    got = [json.loads(line)["cause"]["signature"] for line in lines_of(f"{where}/faults.jsonl")]
    ok(got and sorted(got) == sorted({block["cause"]["signature"] for block in result.of("block")}), "recipe faults.jsonl: a line a fault", got)


bad.need_tracing()
test_block()
test_hang()
test_new()
test_user()
test_root_file_of_user()
test_file_capabilities()
test_unseen()
test_no_socket()
test_hostile()
test_failures()
test_slow()
test_rate()
test_killed()
test_ends()
test_all()
test_webhook()
test_notify()
test_core()
test_file()
bad.done()
