#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The spool and the sender, with real records: a hostile backend, kills, a full disk."""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from backend import Backend, batches, copy, digest, position, raw, reply, rows_of, times
from bad import ok
from own import alive, children_of, own_process

SPOOL = bad.scratch("spool")
COUNT = [0]


def make_spool():
    """Blocks of a second, a batch each 100 ms."""
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 150)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", SPOOL, "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    return tracer.finish(30)


def send(folder, *options, seconds=60):
    return subprocess.run([bad.JANK, "send", "--spool", folder, *map(str, options)], capture_output=True, text=True,
                          timeout=seconds, check=False)


def fresh():
    COUNT[0] += 1
    return copy(SPOOL, bad.scratch(f"copy{COUNT[0]}"))


def attempt(backend, *options, url=None):
    """Sends a copy of the spool. Returns (folder, done)."""
    folder = fresh()
    return folder, send(folder, "--clickhouse-url", url or backend.url, *options)


def same_bytes(backend):
    """Requests of one batch and part have the same bytes, however often they came. Rows of stacks have no batch."""
    seen = {}
    for request in backend.all:
        row = rows_of(request)[0]
        if "batch" in row:
            seen.setdefault((request.path, row["batch"]), set()).add(digest(request))
    return all(len(digests) == 1 for digests in seen.values())


def test_spool(result):
    found = batches(SPOOL)
    records = [record["type"] for record in result.records()]
    ok(result.status == 0 and len(found) > 10, f"a trace writes a spool: {len(found)} batches", result)
    ok(sum(count for _, count in found) == len(records), f"it has each of {len(records)} records", found)
    ok([nr for nr, _ in found] == list(range(1, len(found) + 1)), "batches are numbered from 1 on", found)
    ok(os.stat(SPOOL).st_mode & 0o777 == 0o700, "it is closed to others")
    return len(records)


def test_sent(result, total):
    backend = Backend()
    folder, done = attempt(backend)
    want = {block["id"] for block in result.of("block")}
    ok(done.returncode == 0 and f"{total} records sent, 0 refused, 0 left" in done.stdout, "send: all is sent", done)
    ok(len(backend.rows()) == len(want), f"send: each of {len(want)} blocks arrived once", len(backend.rows()))
    ok(all(r.headers["Content-Encoding"] == "gzip" for r in backend.requests), "send: compressed")
    count = len(backend.requests)
    done = send(folder, "--clickhouse-url", backend.url)
    ok(done.returncode == 0 and len(backend.requests) == count, "send: what is sent is not sent again", done)
    again = copy(SPOOL, bad.scratch("again"))
    send(again, "--clickhouse-url", backend.url)
    ok(len(backend.requests) == 2 * count and same_bytes(backend), "send: from the begin it has the same bytes")
    backend.close()
    bodies = sum(len(r.body) for r in backend.requests) / 2 / len(want)
    print(f"# {bodies:.0f} bytes on the wire, {sum(os.stat(f'{SPOOL}/{n}').st_size for n in os.listdir(SPOOL)) / total:.0f} in the spool, a record")


def test_compressed(result, total):
    """zstd, and none; the spool can be sent in one and the other."""
    size = {}
    for how in ("gzip", "zstd", "none"):
        backend = Backend()
        folder, done = attempt(backend, "--clickhouse-compress", how)
        encodings = {r.headers.get("Content-Encoding", "none") for r in backend.requests}
        ok(done.returncode == 0 and position(folder)["sent_records"] == total and encodings == {how}, f"{how}: all is sent, in that form", encodings)
        ok(len(backend.rows()) == len(result.of("block")), f"{how}: and can be read", len(backend.rows()))
        size[how] = sum(len(r.body) for r in backend.requests)
        backend.close()
    ok(size["gzip"] < size["none"] and size["zstd"] < size["none"], f"bytes: {size}")


def test_refused(total):
    backend = Backend()
    backend.close()
    folder, done = attempt(backend, "--timeout", "2s")
    ok(done.returncode == 1 and "records wait in the spool" in done.stderr and f"{total} left" in done.stdout,
       "refused: nothing is lost, and the status is 1", done)
    ok(position(folder)["retries"] > 0, "refused: attempts are counted", position(folder))
    backend = Backend()
    done = send(folder, "--clickhouse-url", backend.url)
    ok(done.returncode == 0 and f"{total} records sent" in done.stdout, "refused: later all of it arrives", done)
    backend.close()


def test_again(total, name, answer, *options, most_s=30):
    """The first requests fail; all arrives, with the same bytes."""
    backend = Backend(times(2, answer))
    begin = time.monotonic()
    folder, done = attempt(backend, *options)
    ok(done.returncode == 0 and position(folder)["sent_records"] == total and time.monotonic() - begin < most_s,
       f"{name}: tried again until all is sent", done)
    ok(position(folder)["retries"] >= 2 and same_bytes(backend), f"{name}: with the same bytes", position(folder))
    backend.close()
    return backend


def test_busy(total):
    def date():
        return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))

    for value, name in ((lambda: "1", "seconds"), (date, "a date")):
        backend = test_again(total, f"429 with {name}", lambda h, r, value=value: reply(h, 429, Retry_After=value()))
        waits = backend.all[1].sent_at - backend.all[0].sent_at
        ok(waits >= 0.9, f"429 with {name}: Retry-After is honoured: {waits:.2f} s")


def refused(folder, total):
    """A backend that refuses all gets a batch after ever longer pauses."""
    now = position(folder)
    return now["sent_records"] == 0 and 0 < now["refused_records"] < total


def test_wrong(total, name, answer):
    """An answer by which the batch is refused: counted and reported once; the spool is not emptied at once."""
    backend = Backend(answer)
    folder, done = attempt(backend, "--timeout", "1500ms")
    ok(done.returncode == 1 and refused(folder, total), f"{name}: records are counted as refused", (done, position(folder)))
    ok(done.stderr.count("records were refused") == 1, f"{name}: with one message", done.stderr)
    backend.close()


def endless(handler, _):
    try:
        raw(handler, b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            handler.wfile.write(b"x" * 65536)
    except OSError:
        return True


def slow(handler, _):
    try:
        raw(handler, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(600):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        pass
    return True


def test_too_large(total, result):
    backend = Backend(lambda h, r: reply(h, 413) if len(rows_of(r)) > 2 else None)
    folder, done = attempt(backend)
    ids = {(row["batch"], row.get("nr", 0)) for row in backend.rows()}
    ok(done.returncode == 0 and position(folder)["sent_records"] == total, "413: halves are sent", done)
    ok(len(ids) == len(result.of("block")), "413: each block arrives once", len(ids))
    backend.close()
    backend = Backend(lambda h, r: reply(h, 413))
    folder, done = attempt(backend, "--timeout", "1500ms")
    ok(refused(folder, total) and "single record is too large" in done.stderr, "413 for a single record: counted as refused", done)
    backend.close()


def test_user(name, answer, words, total):
    backend = Backend(answer)
    folder, done = attempt(backend, "--timeout", "1500ms")
    ok(done.returncode == 1 and words in done.stderr and position(folder)["refused_records"] == 0,
       f"{name}: nothing is dropped, and the message has the remedy", done)
    ok(done.stderr.count("records wait") == 1, f"{name}: with one message", done.stderr)
    backend.answer = None
    done = send(folder, "--clickhouse-url", backend.url)
    ok(done.returncode == 0 and position(folder)["sent_records"] == total, f"{name}: later all is sent", done)
    backend.close()


def test_redirect(total):
    other = Backend()
    test_user("redirect", lambda h, r: reply(h, 307, Location=other.url + "/stolen"), "redirect is not followed", total)
    ok(not other.all, "redirect: the other host gets nothing", other.all)
    other.close()


def test_replicas(total):
    dead = Backend()
    dead.close()
    broken, good = Backend(lambda h, r: raw(h, b"garbage\r\n")), Backend()
    folder, done = attempt(good, url=f"{dead.url} {broken.url} {good.url}")
    ok(done.returncode == 0 and position(folder)["sent_records"] == total and not position(folder)["refused_records"],
       "replicas: the next one is asked", done)
    ok(len(broken.all) <= 2, "replicas: one that works is kept", len(broken.all))
    broken.close()
    good.close()


# --- TLS and secrets

def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_certificate(name):
    key, cert = bad.scratch(f"{name}.key"), bad.scratch(f"{name}.pem")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={name}",
            "-addext", "subjectAltName=IP:127.0.0.1")
    os.chmod(key, 0o600)
    return cert, key


def test_tls(total):
    server, client = make_certificate("server"), make_certificate("client")
    backend = Backend(tls=server, client_ca=client[0])
    folder, done = attempt(backend, "--timeout", "1500ms")
    ok(done.returncode == 1 and "certificate" in done.stderr and "ca-file" in done.stderr and not backend.all,
       "TLS: a certificate that nobody vouches for", done)
    ok(position(folder)["refused_records"] == 0, "TLS: nothing is dropped")
    done = send(folder, "--clickhouse-url", backend.url, "--clickhouse-ca-file", client[0], "--timeout", "1500ms")
    ok(done.returncode == 1 and not backend.all, "TLS: another authority", done)
    done = send(folder, "--clickhouse-url", backend.url, "--clickhouse-ca-file", server[0], "--timeout", "1500ms")
    ok(done.returncode == 1 and not backend.all, "TLS: without a client certificate", done)
    done = send(folder, "--clickhouse-url", backend.url, "--clickhouse-ca-file", server[0], "--clickhouse-cert-file", client[0],
                "--clickhouse-key-file", client[1])
    ok(done.returncode == 0 and position(folder)["sent_records"] == total, "TLS: with both, all is sent", done)
    backend.close()
    proxy = Backend(tls=server)
    to = "http://backend.invalid:8123"
    folder, done = attempt(proxy, "--clickhouse-proxy", proxy.url, "--timeout", "1500ms", url=to)
    ok(done.returncode == 1 and not proxy.all, "TLS: a proxy that nobody vouches for", done)
    folder, done = attempt(proxy, "--clickhouse-proxy", proxy.url, "--clickhouse-ca-file", server[0], url=to)
    ok(done.returncode == 0 and position(folder)["sent_records"] == total, "TLS: ca-file holds for a proxy, too", done)
    proxy.close()


def test_secrets(total):
    password = bad.scratch("password")
    with open(password, "w", encoding="ascii") as file:
        file.write("secret\n")
    os.chmod(password, 0o600)
    backend = Backend()
    _, done = attempt(backend, "--clickhouse-user", "agent", "--clickhouse-password-file", password)
    ok(done.returncode == 0 and all(r.headers.get("Authorization") == "Basic YWdlbnQ6c2VjcmV0" for r in backend.all),
       "user and password are sent", done)
    os.chmod(password, 0o644)
    done = send(fresh(), "--clickhouse-url", backend.url, "--clickhouse-user", "agent", "--clickhouse-password-file", password)
    ok(done.returncode == 2 and "chmod 600" in done.stderr, "a password that all can read is refused", done)
    proxy = Backend()
    folder, done = attempt(backend, "--clickhouse-proxy", proxy.url, url="http://backend.invalid:8123")
    ok(done.returncode == 0 and all(r.path.startswith("http://backend.invalid:8123/") for r in proxy.all) and proxy.all,
       "a proxy is used", done)
    ok(position(folder)["sent_records"] == total, "and all is sent")
    proxy.close()
    backend.close()


def test_usage():
    done = send(bad.scratch("none"), "--clickhouse-url", "http://127.0.0.1:1")
    ok(done.returncode == 1 and "none'" in done.stderr and not os.path.exists(bad.scratch("none")), "no spool: an error", done)
    done = send(SPOOL, "--clickhouse-url", "ftp://x")
    ok(done.returncode == 2 and "http://HOST:PORT" in done.stderr, "no URL of HTTP: an error", done)
    done = send(SPOOL)
    ok(done.returncode == 2 and "--clickhouse-url" in done.stderr, "no backend: an error", done)


def test_two_senders(total):
    backend = Backend(lambda h, r: time.sleep(2))
    folder = fresh()
    first = bad.start([bad.JANK, "send", "--spool", folder, "--clickhouse-url", backend.url], stdout=subprocess.DEVNULL)
    bad.wait_for(lambda: backend.all)
    done = send(folder, "--clickhouse-url", backend.url)
    ok(done.returncode == 1 and "another process sends" in done.stderr, "a second sender is refused", done)
    backend.answer = None
    ok(first.wait(30) == 0 and position(folder)["sent_records"] == total, "the first one goes on")
    backend.close()


# --- killed

def sender_of(tracer):
    """(its parent, the process that sends)"""
    parent = own_process(tracer.pid, "jankbpf-send")
    children = children_of(parent) if parent else []
    return parent, children[0] if children else 0


def test_killed(name, pick, least):
    """A hundred blocks a second, while the process is killed 20 times."""
    folder, truth_kills = bad.scratch(f"killed-{name}"), 0
    backend = Backend(times(3, lambda h, r: reply(h, 503)))
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 6000)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", folder, "--clickhouse-url", backend.url,
                        "-p", simjank.pid)
    if name == "sender":
        parent, child = sender_of(tracer)
        bad.wait_for(lambda: sender_of(tracer)[1])
        parent, child = sender_of(tracer)
        for pid, what in ((parent, "the sender's parent"), (child, "the sender")):
            bad.check_powerless(bad.status_of(pid), what, False)
    simjank.send_signal(signal.SIGUSR1)
    while truth_kills < 20 and simjank.poll() is None:
        seen = len(backend.all)
        bad.wait_for(lambda: pick(tracer) and (name != "sender" or len(backend.all) > seen), 5)
        pid = pick(tracer)
        try:
            if pid:
                os.kill(pid, signal.SIGKILL)
                truth_kills += 1
        except ProcessLookupError:
            pass
        time.sleep(0.1)
    if simjank.poll() is None:
        bad.end(simjank)
    result = tracer.finish(60)
    ok(result.status == 0 and truth_kills >= least, f"{name}: killed {truth_kills} times", result)
    ok(result.err.count("it is started again") == 1, f"{name}: reported once", result.err)
    done = send(folder, "--clickhouse-url", backend.url)
    want = [block["id"] for block in result.of("block")]
    spooled = sum(count for _, count in batches(folder))
    ok(done.returncode == 0 and spooled == len(result.records()), f"{name}: the spool has each of {len(result.records())} records once", spooled)
    keys = {(row["batch"], row.get("nr", 0)) for row in backend.rows()}
    ok(len(keys) == len(want), f"{name}: each of {len(want)} blocks arrived", f"{len(keys)} of {len(want)}")
    ok(same_bytes(backend), f"{name}: what came twice had the same bytes")
    ok(len(backend.rows()) >= len(keys), f"{name}: {len(backend.rows()) - len(keys)} rows came twice")
    backend.close()


def test_parent_killed():
    """Its process that sends takes the place of the parent, again and again; both end with the run."""
    folder, backend = bad.scratch("killed-parent"), Backend()
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 6000)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", folder, "--clickhouse-url", backend.url,
                        "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    parent, child = sender_of(tracer)
    pids = {parent, child}
    for _ in range(5):
        seen = len(backend.all)
        bad.wait_for(lambda: children_of(parent) and len(backend.all) > seen)
        child = children_of(parent)[0]
        pids |= {parent, child}
        os.kill(parent, signal.SIGKILL)
        parent = child
        if not bad.wait_for(lambda: children_of(parent)):
            break
    ok(bad.wait_for(lambda: children_of(parent)), "parent: killed 5 times, a new one has a process that sends", tracer.stderr())
    child = children_of(parent)[0]
    pids |= {parent, child}
    bad.check_powerless(bad.status_of(parent), "parent: the new one", False)
    os.kill(child, signal.SIGKILL)
    ok(bad.wait_for(lambda: [pid for pid in children_of(parent) if pid != child]), "parent: the new one starts it again, too")
    pids |= set(children_of(parent))
    bad.end(simjank)
    result = tracer.finish(60)
    left = [pid for pid in pids if alive(pid)]
    ok(result.status == 0 and not left, "parent: all end with the run", (left, result.err))
    ok(result.err.count("another one takes its place") == 1 and result.err.count("it is started again") <= 1, "parent: each reported once",
       result.err)
    keys = {(row["batch"], row.get("nr", 0)) for row in backend.rows()}
    want = result.of("block")
    ok(len(keys) == len(want) and same_bytes(backend), f"parent: each of {len(want)} blocks arrived", len(keys))
    backend.close()


def test_both_killed():
    """Nobody is left to start it again: the log says so."""
    folder, backend = bad.scratch("killed-both"), Backend()
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 300)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", folder, "--clickhouse-url", backend.url,
                        "-p", simjank.pid)
    bad.wait_for(lambda: sender_of(tracer)[1])
    pids = sender_of(tracer)
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, sig)
    ok(bad.wait_for(lambda: "both processes that send records have ended" in tracer.stderr()), "both killed: the log says it", tracer.stderr())
    simjank.send_signal(signal.SIGUSR1)
    simjank.wait()
    result = tracer.finish(60)
    spooled = sum(count for _, count in batches(folder))
    ok(result.status == 0 and spooled == len(result.records()), f"both killed: the spool has the {len(result.records())} records", spooled)
    backend.close()


def test_tracer_killed():
    """kill -9 of all: the open batch is in the spool, too."""
    folder, backend = bad.scratch("tracer"), Backend()
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 1000)
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "20s", "--spool", folder, "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    bad.wait_for(lambda: tracer.stdout().count(b"\n") > 50)
    deliver = own_process(tracer.pid, "jankbpf-deliver")
    os.kill(deliver, signal.SIGSTOP)
    written = tracer.stdout().count(b"\n")
    bad.end(tracer.process)
    os.kill(deliver, signal.SIGKILL)
    bad.wait_for(lambda: not os.path.exists(f"/proc/{deliver}"))
    bad.end(simjank)
    done = send(folder, "--clickhouse-url", backend.url)
    ok(done.returncode == 0 and len(backend.rows()) >= written - 1 > 40,
       f"kill -9: the {written} records of the open batch arrive", f"{len(backend.rows())} {done}")
    backend.close()


# --- the agent

USER = 65534


def metric(text, name):
    found = [line.split()[-1] for line in text.splitlines() if line.startswith(name)]
    return float(found[0]) if found else -1


def test_agent():
    """As another user, with a backend that is away at first; state and metrics say so."""
    os.chmod(bad.SCRATCH, 0o711)
    folder, config, prom = bad.scratch("agent"), bad.scratch("agent.conf"), bad.scratch("prom")
    os.mkdir(prom)
    os.chmod(prom, 0o777)
    state = {"answer": True}
    backend = Backend(lambda h, r: reply(h, 503) if state["answer"] else None)
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 6000)
    with open(config, "w", encoding="ascii") as file:
        file.write(f"""[select]
all = no
[block]
threshold = 5ms
[limits]
records-per-signature = 0
records-per-second = 0
[store]
spool = {folder}/spool
interval = 500ms
user = {USER}
[clickhouse]
url = {backend.url}
[metrics]
listen = off
textfile = {prom}/jankbpf.prom
""")
    tracer = bad.Tracer("agent", "--config", config, "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)

    def text():
        try:
            with open(f"{prom}/jankbpf.prom", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    waits = bad.wait_for(lambda: metric(text(), 'jankbpf_unsent_seconds{backend="clickhouse"}') >= 1, 30)
    ok(waits and metric(text(), 'jankbpf_unsent_records{backend="clickhouse"}') > 10 and metric(text(), "jankbpf_spool_bytes") > 1000,
       "agent: metrics show that records wait", text()[-2000:])
    parent, child = sender_of(tracer)
    deliver = own_process(tracer.pid, "jankbpf-deliver")
    owners = {os.stat(f"{folder}/spool/{name}").st_uid for name in os.listdir(f"{folder}/spool")}
    ids = {bad.status_of(pid)["Uid"].split()[0] for pid in (parent, child, deliver)}
    ok(ids == {str(USER)} and owners == {USER}, "agent: it writes and sends as its user, who owns the spool", (ids, owners))
    os.kill(tracer.pid, signal.SIGUSR1)
    ok(bad.wait_for(lambda: "records unsent, the oldest for" in tracer.stderr()), "agent: so does the state", tracer.stderr())
    state["answer"] = False
    ok(bad.wait_for(lambda: metric(text(), 'jankbpf_sent_records_total{backend="clickhouse"}') > 10, 60),
       "agent: then they are sent", text()[-2000:])
    os.kill(parent, signal.SIGKILL)
    ok(bad.wait_for(lambda: children_of(child)), "agent: without its parent the sender takes its place")
    result = tracer.stop()
    bad.end(simjank)
    ok(result.status == 0 and "no records are sent" not in result.err, "agent: and the run goes on", result)
    backend.close()


# --- the disk

def test_disk_full():
    folder = bad.scratch("small")
    os.mkdir(folder, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", folder], check=True)
    simjank = bad.simjank("--wait", "--scenario", "sleep:8ms", "--gap", "2ms", "--short-rate", "0", "--count", 1000)
    with open(f"{folder}/filler", "wb") as file:
        file.write(b"x" * (960 << 10))
    tracer = bad.Tracer("--json", "-t", "5ms", "-F", "0", "--interval", "100ms", "--spool", f"{folder}/spool", "-p", simjank.pid)
    simjank.send_signal(signal.SIGUSR1)
    full = bad.wait_for(lambda: "could not be written" in tracer.stderr(), 60)
    os.unlink(f"{folder}/filler")
    result = tracer.finish(60)
    lost = (result.summary() or {"lost": {}})["lost"].get("unwritten_records", 0)
    spooled = sum(count for _, count in batches(f"{folder}/spool"))
    ok(full and result.status == 1 and "spool: a record could not be written: No space left" in result.err, "disk full: reported", result.err)
    ok(lost > 0 and spooled + lost == len(result.records()), f"disk full: {lost} records are counted, exactly",
       f"{spooled} in the spool, {len(result.records())} records")
    ok(batches(f"{folder}/spool")[-1][0] == len(batches(f"{folder}/spool")), "disk full: it goes on when there is room")
    subprocess.run(["umount", folder], check=True)


def main():
    bad.need_tracing()
    result = make_spool()
    total = test_spool(result)
    test_sent(result, total)
    test_compressed(result, total)
    test_refused(total)
    test_again(total, "503", lambda h, r: reply(h, 503))
    test_again(total, "a cut answer", lambda h, r: raw(h, b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nx"))
    test_again(total, "no answer", raw)
    test_again(total, "a slow body", slow, "--clickhouse-timeout", "500ms")
    test_busy(total)
    test_user("garbage", lambda h, r: raw(h, b"\x00\x01\x02 what?\r\n\r\n"), "is this the URL", total)
    test_user("an endless body", endless, "is this the URL", total)
    test_user("a portal's page", lambda h, r: reply(h, 200, b"<html>"), "does the URL lead", total)
    test_user("an exception with 200", lambda h, r: reply(h, 200, X_ClickHouse_Exception_Code="241"), "the server failed", total)
    test_wrong(total, "400", lambda h, r: reply(h, 400, b"Code: 27. Cannot parse\nmore"))
    test_too_large(total, result)
    test_user("401", lambda h, r: reply(h, 401, b"who?"), "password-file", total)
    test_user("404", lambda h, r: reply(h, 404), "check the URL", total)
    test_redirect(total)
    test_replicas(total)
    test_tls(total)
    test_secrets(total)
    test_usage()
    test_two_senders(total)
    test_killed("sender", lambda tracer: sender_of(tracer)[1], 20)
    test_killed("deliver", lambda tracer: own_process(tracer.pid, "jankbpf-deliver"), 20)
    test_parent_killed()
    test_both_killed()
    test_tracer_killed()
    test_agent()
    test_disk_full()
    bad.done()


main()
