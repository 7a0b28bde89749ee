#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jankbpf agent: its start by a configuration, the service manager's messages, SIGHUP, SIGUSR1, the limits of records,
metrics, kill -9 and SIGTERM. It traces only a cgroup of its own."""
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, Manager, free_port, total
from bad import MS, ok
from exposition import Bad, Exposition
from group import Group


def test_reload(group):
    manager = Manager()
    agent = Agent("reload", group, {"block": {"threshold": "300ms"}, "store": {"interval": "200ms"},
                                    "limits": {"records-per-signature": 0, "records-per-second": 0}}, manager)
    ok(manager.wait("READY=1"), "it tells the manager that it is ready")
    ok(manager.wait("WATCHDOG=1") and manager.wait("WATCHDOG=1"), "and that it makes progress, again and again")
    bad.wait_for(lambda: total(agent.records("interval"), "dispatches") > 50)
    ok(not agent.records("block"), "nothing is over the threshold")
    agent.configure({"block": {"threshold": "20ms", "hang": "9s"}, "store": {"interval": "100ms"},
                     "limits": {"records-per-signature": 0, "records-per-second": 0}})
    agent.process.send_signal(signal.SIGHUP)
    reloading = manager.wait("RELOADING=1")
    ok(reloading and "MONOTONIC_USEC=" in reloading, "SIGHUP: it tells that it reloads", reloading)
    ok(manager.wait("READY=1"), "and when that is done")
    ok(bad.wait_for(lambda: len(agent.records("block")) >= 3), "the new threshold applies", agent.tracer.stderr())
    ok(agent.said("[block] hang cannot change in a run: restart the agent"), "what cannot change is named")
    ok(bad.wait_for(lambda: agent.records("interval")[-1]["elapsed_ns"] < 180 * MS), "the new interval applies")
    agent.configure({"block": {"thresold": "3ms"}})
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("did you mean threshold?") and agent.said("the running one stays")),
       "an invalid file is refused")
    cnt = len(agent.records("block"))
    ok(bad.wait_for(lambda: len(agent.records("block")) > cnt), "and the run goes on")
    agent.process.send_signal(signal.SIGUSR1)
    ok(bad.wait_for(lambda: agent.said("state: own cost")), "SIGUSR1: it logs its state")
    ok(agent.said("over 20.0 ms") and agent.said("state: watched 2 loops"), "with threshold and loops", agent.tracer.stderr())
    result = agent.tracer.stop(signal.SIGTERM)
    ok(manager.wait("STOPPING=1"), "SIGTERM: it tells that it stops")
    ok(result.status == 0 and not result.raw, "its status is 0, and nothing is on stdout", result)
    check_sums(agent)


def check_sums(agent):
    intervals, summary = agent.records("interval"), agent.records("summary")[-1]
    spans = [(i["start_ns"], i["start_ns"] + i["elapsed_ns"]) for i in intervals]
    ok(all(a[1] == b[0] for a, b in zip(spans, spans[1:])), "the intervals have no gap, also where their time changes")
    ok(abs(total(intervals, "dispatches") - summary["dispatches"]) < 100, "no dispatch is lost",
       (total(intervals, "dispatches"), summary["dispatches"]))
    host = intervals[-1]["host"]
    boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
    ok(host["boot_id"] == boot and host["kernel"] == os.uname().release, "an interval names its machine", host)
    complaints = bad.validate(os.path.join(agent.dir, "blocks.jsonl"))
    ok(not complaints, "all records are valid", complaints)


def test_limits(group):
    """40 blocks a second of two faults, of which three each become records."""
    agent = Agent("limits", group, {"block": {"threshold": "15ms"}, "store": {"interval": "300ms"},
                                    "limits": {"records_per_signature": 3}, "agent": {"control": "off", "host-name": "web-17"}})
    bad.wait_for(lambda: total(agent.records("interval"), "blocks") > 40)
    agent.tracer.stop(signal.SIGTERM)
    blocks, intervals, summary = agent.records("block"), agent.records("interval"), agent.records("summary")[-1]
    names = {record["host"]["name"] for record in blocks[:1] + intervals + [summary] if "host" in record}
    ok(names == {"web-17"}, "host-name is the machine's name in the records", names)
    limited = total([i["limited"] for i in intervals if i["limited"]], "per_signature")
    ok(summary["limited"]["per_signature"] >= limited > 0, "what is left out is counted", (summary["limited"], limited))
    ok(summary["blocks"] == len(blocks) + sum(summary["limited"].values()), "each block is a record, or counted",
       (summary["blocks"], len(blocks), summary["limited"]))
    left = sum(entry["blocks"] for i in intervals for entry in i.get("left_out", ()))
    ok(left == limited, "by fault, too", (left, limited))
    worst = {}
    seen = {}
    for block in blocks:
        signature = block["cause"].get("signature")
        seen[signature] = seen.get(signature, 0) + 1
        if seen[signature] > 3 and block["delay_ns"] <= worst[signature]:
            ok(False, "a record beyond the limit is worse than all before", block["id"])
        worst[signature] = max(worst.get(signature, 0), block["delay_ns"])
    ok(seen and all(cnt >= 1 for cnt in seen.values()), "each fault has records", seen)
    longest = {}
    for entry in (entry for i in intervals for entry in i.get("left_out", ())):
        longest[entry["signature"]] = max(longest.get(entry["signature"], 0), entry["max_ns"])
    ok(longest and all(worst[s] >= ns for s, ns in longest.items()), "the worst block of each fault is a record", (worst, longest))
    ok(total(summary["faults"], "blocks") == summary["blocks"], "the faults count all blocks")


OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Scrape:
    def __init__(self, port, method="GET", path="/metrics", accept=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, headers={"Accept": accept} if accept else {})
        answer = connection.getresponse()
        self.status, self.type, self.text = answer.status, answer.getheader("Content-Type"), answer.read().decode()
        connection.close()

    def parsed(self):
        try:
            return Exposition(self.text, "openmetrics" in self.type)
        except Bad as error:
            bad.RESULTS.note(f"not valid: {error}")
            return None


def wait_for_rest(agent):
    """The traced program has ended, and the records of all its dispatches are written."""
    def at_rest():
        intervals = agent.records("interval")
        return len(intervals) > 3 and not any(i["dispatches"] + i["blocks"] for i in intervals[-3:])

    return bad.wait_for(at_rest)


def check_metrics(agent, seen):
    intervals, blocks = agent.records("interval"), agent.records("block")
    left = [entry for i in intervals for entry in i.get("left_out", ())]
    ok(seen.of("jankbpf_blocks_total") == len(blocks) + total(left, "blocks") == total(intervals, "blocks"),
       "blocks are those of the records", (seen.of("jankbpf_blocks_total"), len(blocks), total(left, "blocks")))
    ok(seen.of("jankbpf_dispatch_seconds_count", process="simjank", loop="epoll") == total(intervals, "dispatches"),
       "so are dispatches")
    starts = [loop["start_delays"]["dispatches"] for i in intervals for loop in i["loops"] if "start_delays" in loop]
    ok(seen.of("jankbpf_start_delay_seconds_count") == sum(starts), "and start delays", sum(starts))
    delays = (total(blocks, "delay_ns") + total(left, "total_ns")) / 1e9
    ok(abs(seen.of("jankbpf_blocked_seconds_total") - delays) < 1e-6, "and the time of blocks", delays)
    for signature in {b["cause"]["signature"] for b in blocks}:
        cnt = sum(b["cause"]["signature"] == signature for b in blocks)
        cnt += sum(entry["blocks"] for entry in left if entry["signature"] == signature)
        ok(seen.of("jankbpf_fault_blocks_total", signature=signature) == cnt, f"and the fault {signature}", cnt)
    # A dispatch of 30 ms and one of 40 ms are in one bucket of 25 to 50 ms.
    slow = sum(bucket["count"] for i in intervals for loop in i["loops"] for bucket in loop["buckets"]
               if bucket["upper_ns"] > 25 * MS)
    ok(seen.of("jankbpf_dispatch_seconds_count") - seen.of("jankbpf_dispatch_seconds_bucket", le="0.025") == slow > 0,
       "a histogram's edge divides them", slow)
    ok(seen.of("jankbpf_limited_total", limit="signature") == total([i["limited"] for i in intervals if i["limited"]], "per_signature"),
       "and the limits")
    ok(seen.of("jankbpf_build_info") == 1 and seen.of("jankbpf_own_cpu_seconds_total") > 0, "our own version and cost")


def check_requests(port):
    ok(Scrape(port, path="/other").status == 404, "another path: 404")
    ok(Scrape(port, "POST").status == 405, "POST: 405")
    head = Scrape(port, "HEAD")
    ok(head.status == 200 and not head.text, "HEAD: no body")
    idle = []
    for _ in range(20):  # more than it takes at once; they never send a request
        idle.append(socket.create_connection(("127.0.0.1", port), timeout=20))
    with contextlib.suppress(OSError):  # refused in the middle of it; the oldest have made room
        idle[-1].sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (1 << 20))
    for sock in idle:
        sock.close()
    ok(bad.wait_for(lambda: Scrape(port).status == 200), "idle connections and a huge head: it still answers")


def promtool(text):
    tool = shutil.which("promtool")
    if not tool:
        bad.skip("promtool finds nothing to complain about", "no promtool: make deps-fleet")
        return
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, text=True, check=False, timeout=60)
    ok(not done.returncode and not done.stdout + done.stderr, "promtool finds nothing to complain about", done.stderr)


def test_metrics(group):
    if "listen = off" in bad.trace("agent", "--check-config", "-a").out:
        bad.skip("metrics by HTTP", "this build has no libmicrohttpd")
        return
    port, textfile = free_port(), bad.scratch("jankbpf.prom")
    agent = Agent("metrics", group, {"block": {"threshold": "15ms"}, "store": {"interval": "200ms"},
                                     "limits": {"records_per_signature": 2},
                                     "metrics": {"listen": f"127.0.0.1:{port}", "textfile": textfile}})
    process = group.start(bad.SIMJANK, "--quiet", "--scenario", "busy:30ms,sleep:40ms", "--count", "12")
    bad.STARTED.append(process)
    process.wait(60)
    ok(wait_for_rest(agent), "the program has ended")
    scrape = Scrape(port)
    ok(scrape.status == 200 and scrape.type == "text/plain; version=0.0.4; charset=utf-8", "it serves the text format", scrape.type)
    seen = scrape.parsed()
    ok(seen, "which is valid")
    check_metrics(agent, seen)
    promtool(scrape.text)
    opened = Scrape(port, accept=OPENMETRICS)
    ok(opened.type.startswith("application/openmetrics-text; version=1.0.0") and opened.parsed(), "it serves OpenMetrics", opened.type)
    with open(textfile, encoding="utf-8") as file:
        ok(Exposition(file.read()).of("jankbpf_blocks_total") == seen.of("jankbpf_blocks_total"), "the file has the same")
    ok(os.stat(textfile).st_mode & 0o777 == 0o644 and not os.path.exists(textfile + ".new"), "readable, and nothing beside it")
    check_requests(port)
    result = bad.trace("agent", "--config", agent.path, seconds=20)
    ok(result.status == 1 and "another program has this port" in result.err, "a second agent cannot have the port", result)
    check_restart(agent, port)
    agent.tracer.stop(signal.SIGTERM)


def check_restart(agent, port):
    """The process that serves them may end: the next one has the socket."""
    pids = [pid for pid in bad.own_pids(agent.pid) if bad.status_of(pid)["Name"].startswith("jankbpf-deliv")]
    bad.check_powerless(bad.status_of(pids[0]), "the server", True)
    os.kill(pids[0], signal.SIGKILL)
    ok(bad.wait_for(lambda: agent.said("it is started again")), "the server is killed and started again")
    ok(bad.wait_for(lambda: Scrape(port).status == 200), "and answers")


def test_live_patterns(group):
    """Limits and patterns are the sink thread's: they change there, and counts of earlier patterns stay."""
    config = {"block": {"threshold": "15ms", "ignore": "do_sleep"}, "limits": {"records-per-signature": 1},
              "store": {"interval": "200ms"}}
    agent = Agent("patterns", group, config)
    bad.wait_for(lambda: len(agent.records("interval")) > 8)
    worst, more = {}, []
    for block in agent.records("block"):
        signature = block["cause"].get("signature")
        if block["delay_ns"] <= worst.get(signature, 0):
            more.append(block["id"])
        worst[signature] = max(worst.get(signature, 0), block["delay_ns"])
    ok(worst and not more, "one record of each fault, and its worse ones", (worst, more))
    agent.configure({"block": {"threshold": "15ms", "ignore": "handle_busy"}, "limits": {"records-per-signature": 0},
                     "select": {"uid": "nobody"}, "store": {"interval": "200ms"}})
    agent.process.send_signal(signal.SIGHUP)
    ok(bad.wait_for(lambda: agent.said("reload: done")), "limits and patterns are read again", agent.tracer.stderr())
    ok(agent.said("[select] uid cannot change"), "a user's name is looked up, too")
    at = len(agent.records("block"))
    ok(bad.wait_for(lambda: len(agent.records("block")) > at + 20), "without the limit each block is a record")
    agent.tracer.stop(signal.SIGTERM)
    functions = {b["cause"]["frame"]["function"] for b in agent.records("block")[at + 10:] if "frame" in b["cause"]}
    ok("do_sleep" in functions and "handle_busy" not in functions, "the new pattern applies", functions)
    ignored = {entry["pattern"]: entry["records"] for entry in agent.records("summary")[-1]["ignored"]}
    ok(ignored.get("do_sleep", 0) > 0 and ignored.get("handle_busy", 0) > 0, "both patterns are in the summary", ignored)


def test_killed(group):
    agent = Agent("killed", group, {"block": {"threshold": "15ms"}, "store": {"interval": "200ms"}})
    bad.wait_for(lambda: len(agent.records("interval")) >= 4)
    os.kill(agent.pid, signal.SIGKILL)
    agent.tracer.finish(10)
    kept = agent.records("interval")
    ok(len(kept) >= 4 and total(kept, "dispatches") > 0, "kill -9 loses at most the interval under way", len(kept))


def test_processes(group, first):
    """Rows of intervals are by name; what ended is forgotten, not lost."""
    others = [group.start(bad.SIMJANK, "--quiet", "--scenario", "sleep:5ms", "--count", "100000") for _ in range(2)]
    bad.STARTED.extend(others)
    agent = Agent("rows", group, {"block": {"threshold": "15ms"}, "store": {"interval": "200ms"}})
    last = lambda: (agent.records("interval") or [{"loops": []}])[-1]["loops"]
    ok(bad.wait_for(lambda: [row.get("processes") for row in last()] == [3]), "three processes of a name are one row of an interval",
       last())
    ok(bad.wait_for(last) and "pid" not in last()[0], "without a pid")
    bad.end(*others)
    ok(bad.wait_for(lambda: [row.get("processes") for row in last()] == [1]), "then two of them have ended", last())
    cnt = len(agent.records("interval"))
    bad.wait_for(lambda: len(agent.records("interval")) > cnt + 3)
    agent.tracer.stop(signal.SIGTERM)
    rows = {row["pid"]: row["dispatches"] for row in agent.records("summary")[-1]["loops"]}
    ok(rows.keys() == {0, first.pid} and all(rows.values()), "they are one row of the summary", rows)
    check_sums(agent)


def main():
    bad.need_tracing()
    try:
        group = Group("jankbpf-agent-test")
    except OSError as error:
        bad.skip_all(f"no cgroup of our own: {error}")
    process = group.start(bad.SIMJANK, "--quiet", "--scenario", "busy:30ms,sleep:40ms", "--count", "100000", "--threads", "2")
    bad.STARTED.append(process)
    bad.wait_for(lambda: len(group.pids()) == 1 and b"simjank" in open(f"/proc/{process.pid}/cmdline", "rb").read())
    test_reload(group)
    test_limits(group)
    test_live_patterns(group)
    test_killed(group)
    test_processes(group, process)
    bad.end(process)
    test_metrics(group)
    group.remove()
    bad.done()


main()
