#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What BlockCanary's context has: whose frames are blamed (--concern), which blocks do not count
(--ignore), the program's version and the network in records and logs, and logs made of records."""
import glob
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok


def run(name, *args, scenario="sleep:30ms", count=4):
    """Traces a simjank of its own; also into a journal."""
    return bad.trace("--json", "-t", "10ms", "--no-follow", "--journal", bad.scratch(f"{name}.jnl"), *args, "--",
                     bad.SIMJANK, "--quiet", "--scenario", scenario, "--gap", "5ms", "--short-rate", "0", "--count", count)


def replay(name, *args):
    return bad.trace("replay", "--json", *args, bad.scratch(f"{name}.jnl"))


def blamed(result):
    return [block["cause"].get("frame", {}).get("function") for block in result.blocks()]


def kept(records):
    """Without what a replay makes anew."""
    return [{key: value for key, value in record.items() if key not in ("cost", "elapsed_ns", "lost")} for record in records]


def test_concern():
    plain = run("plain")
    concerned = run("concern", "--concern", "handle_*")
    ok(set(blamed(plain)) == {"do_sleep"} and set(blamed(concerned)) == {"handle_sleep"},
       "--concern: the function of the pattern is blamed", f"{blamed(plain)} {blamed(concerned)}")
    apps = {frame.get("function") for block in concerned.blocks() for sample in block["samples"] for frame in sample["stack"] if frame.get("app")}
    ok(apps == {"handle_sleep"}, "--concern: only such frames are the application's", apps)
    ok(all("in handle_sleep" in block["cause"]["summary"] for block in concerned.blocks()), "--concern: the sentence names it")
    signatures = [{block["cause"]["signature"] for block in result.blocks()} for result in (plain, concerned)]
    ok(len(signatures[0]) == len(signatures[1]) == 1 and signatures[0] != signatures[1], "--concern: another blame is another signature", signatures)
    again = replay("concern")
    ok(set(blamed(again)) == {"do_sleep"} and {block["cause"]["signature"] for block in again.blocks()} == signatures[0],
       "--concern: the journal does not know it: replay without it blames as ever", blamed(again))
    again = replay("plain", "--concern", "simjank_do_wait.c")
    ok(set(blamed(again)) == {"do_sleep"}, "--concern: by a source file, with replay", blamed(again))
    again = replay("concern", "--concern", "nothing", "--concern", "handle_*")
    ok(kept(again.of("block")) == kept(concerned.of("block")), "--concern: replay with it has the same records as the trace", blamed(again))
    again = replay("plain", "--concern", "nothing_like_it")
    ok(kept(again.of("block")) == kept(replay("plain").of("block")), "--concern: a pattern that nothing matches changes nothing")


def ignored(result):
    return {each["pattern"]: each["records"] for each in result.summary().get("ignored", [])}


def test_ignore():
    result = run("ignore", "--ignore", "do_sleep", "--ignore", "never", scenario="sleep:30ms,busy:30ms", count=3)
    own = [block for block in result.blocks() if block["cause"]["kind"] == "sleep"]
    counts = ignored(result)
    ok(not own and result.blocks() and counts["do_sleep"] >= 2 and counts["never"] == 0,
       "--ignore: such blocks are counted by pattern, others are reported", f"{counts} {blamed(result)}")
    ok(result.summary()["blocks"] == len(result.of("block")), "--ignore: the summary's blocks are those that were reported")
    everything = replay("ignore")
    ok(len(everything.of("block")) == len(result.of("block")) + counts["do_sleep"] and "ignored" not in everything.summary(),
       "--ignore: the journal has them all", f"{len(everything.of('block'))} {counts}")
    signature = next(block["cause"]["signature"] for block in everything.blocks() if block["cause"]["kind"] == "sleep")
    again = replay("ignore", "--ignore", signature[:8])
    ok(ignored(again) == {signature[:8]: counts["do_sleep"]} and not any(block["cause"]["signature"] == signature for block in again.blocks()),
       "--ignore: by the first digits of a signature, with replay", ignored(again))
    text = bad.trace("replay", "--ignore", "do_sleep", bad.scratch("ignore.jnl")).out
    ok(f"ignored: {counts['do_sleep']} blocks by --ignore 'do_sleep'" in text, "--ignore: the summary in text says so, too", text)
    hidden = replay("ignore", "--redact", "paths", "--ignore", "/secret/*")
    ok("/secret" not in hidden.out and len(ignored(hidden)) == 1, "--ignore: --redact hashes a path in a pattern", ignored(hidden))


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def network():
    """By ip(8)'s source of truth, the table of routes, for this machine's usual cases."""
    with open("/proc/net/route", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    default = [row for row in rows if row[1] == row[7] == "00000000" and int(row[3], 16) & 1]
    if not default:
        return None
    with open(f"/sys/class/net/{min(default, key=lambda row: int(row[6]))[0]}/type", encoding="ascii") as file:
        return "ethernet" if file.read() == "1\n" else None


def fields(log):
    with open(log, encoding="utf-8", newline="") as file:
        return dict(line.split(" = ", 1) for line in file.read().split("\r\n") if " = " in line)


def test_facts():
    where = bad.scratch("facts")
    result = run("facts", "-o", where, count=2)
    want, kind = build_id(bad.SIMJANK), network()
    blocks = result.blocks()
    ok(blocks and all(block["app_build_id"] == want for block in blocks), "record: the program's version is its build id",
       [block.get("app_build_id") for block in blocks])
    if kind:
        ok(all(block["network"] == kind for block in blocks), "record: the network", [block.get("network") for block in blocks])
    else:
        bad.skip("record: the network", "no default route by IPv4, or no usual interface")
    ok(kept(replay("facts").of("block")) == kept(result.of("block")), "a replay has both")
    logs = [fields(log) for log in glob.glob(f"{where}/*.log")]
    ok(logs and all(log["versionName"] == want and log["versionCode"] == str(int(want[:7], 16)) and log["network"] == (blocks[0].get("network") or "unknown")
                    for log in logs), "log: BlockCanary's keys have them", logs[:1])


def content(path):
    with open(path, "rb") as file:
        return file.read()


def test_logs():
    """Logs made of records are those that the trace wrote."""
    first, second, few = (bad.scratch(name) for name in ("first", "second", "few"))
    result = run("logs", "-o", first, "--qualifier", "nightly", scenario="sleep:30ms,busy:30ms", count=3)
    done = bad.trace("report", "--format", "blockcanary", "--qualifier", "nightly", "-o", second, first)
    names = sorted(os.path.basename(path) for path in glob.glob(f"{first}/*.log"))
    ok(done.status == 0 and len(names) == len(result.of("block")) and sorted(os.listdir(second)) == names, "report: a log for each block, with its name",
       f"{done} {names}")
    ok(all(content(f"{first}/{name}") == content(f"{second}/{name}") for name in names), "report: byte by byte what the trace wrote")
    ok(all(os.stat(f"{first}/{name}").st_mtime_ns // 1000 == os.stat(f"{second}/{name}").st_mtime_ns // 1000 for name in names),
       "report: with the block's time, by which its reader sorts")
    lint = subprocess.run(["tests/lib/blockcanary_reader.py", "--lint", *glob.glob(f"{second}/*.log")], capture_output=True, text=True, check=False)
    ok(lint.returncode == 0, "report: BlockCanary's reader opens each", lint.stdout + lint.stderr)
    bad.trace("report", "--format", "blockcanary", "--qualifier", "nightly", "-o", second, first)
    ok(sorted(os.listdir(second)) == names, "report: a second run writes no log twice")
    signature = result.of("block")[0]["cause"]["signature"]
    bad.trace("report", "--format", "blockcanary", "--sig", signature, "-o", few, f"{first}/blocks.jsonl")
    of_sig = [block for block in result.of("block") if block["cause"]["signature"] == signature]
    ok(len(os.listdir(few)) == len(of_sig) < len(names), "report: --sig selects", os.listdir(few))
    ok({fields(path)["x-signature"] for path in glob.glob(f"{few}/*.log")} == {signature}, "report: of that signature only")
    refused = bad.trace("report", "--format", "blockcanary", first)
    ok(refused.status == 2 and "give their directory by -o DIR" in refused.err, "report: without -o it says what is missing", refused)
    os.mkdir(bad.scratch("open"))
    os.chmod(bad.scratch("open"), 0o777)
    refused = bad.trace("report", "--format", "blockcanary", "-o", bad.scratch("open"), first)
    ok(refused.status == 1 and not os.listdir(bad.scratch("open")), "report: a directory that others can write to is refused", refused)
    empty = bad.trace("report", "--format", "blockcanary", "--since", "2100-01-01", "-o", bad.scratch("none"), first)
    ok(empty.status == 0 and not os.listdir(bad.scratch("none")), "report: --since leaves out earlier ones", empty)


bad.need_tracing()
test_concern()
test_ignore()
test_facts()
test_logs()
bad.done()
