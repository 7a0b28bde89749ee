#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often jankbpf diff is right: pairs of runs of redis, node, nginx and simjank, equal ones and ones with a known
regression. `diff_trial.py [PAIRS [SECONDS]]`, as root on a machine with nothing else to do. Prints a line for each pair
and the two figures: regressions found, equal pairs with something worse."""
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JANKBPF = os.path.join(ROOT, "jankbpf")
REDIS_PORT, NODE_PORT, NGINX_PORT = 7393, 7394, 7395
NODE = """require('http').createServer((q, s) => { const ms = Number(q.url.slice(1)), t = process.hrtime.bigint();
while (process.hrtime.bigint() - t < BigInt(Math.round(ms * 1e6))); s.end(); }).listen(%d)""" % NODE_PORT
NGINX_PERL = "/usr/lib/nginx/modules/ngx_http_perl_module.so"

# Perl of a handler blocks its worker.
NGINX = "load_module " + NGINX_PERL + """;
daemon off; master_process off; pid %(dir)s/pid; error_log %(dir)s/log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path %(dir)s/a; proxy_temp_path %(dir)s/b; fastcgi_temp_path %(dir)s/c;
  uwsgi_temp_path %(dir)s/d; scgi_temp_path %(dir)s/e;
  server { listen 127.0.0.1:%(port)d; location / { perl 'sub { my $r = shift; my ($ms) = $r->uri =~ m{/([\\d.]+)};
    select(undef, undef, undef, $ms / 1000); $r->send_http_header("text/plain"); $r->print("x"); return OK; }'; } } }
"""


class Redis:
    def __init__(self, folder):
        self.process = subprocess.Popen(["redis-server", "--port", str(REDIS_PORT), "--save", "", "--dir", folder,
                                         "--enable-debug-command", "local"], stdout=subprocess.DEVNULL)

    def stall(self, ms):
        subprocess.run(["redis-cli", "-p", str(REDIS_PORT), "debug", "sleep", str(ms / 1000)], check=False,
                       stdout=subprocess.DEVNULL)


class Web:
    """A server that stalls for as many milliseconds as the path says."""

    port = None

    def stall(self, ms):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        while True:
            try:
                connection.request("GET", f"/{ms}")
                break
            except ConnectionRefusedError:  # it has not started yet
                time.sleep(0.1)
        connection.getresponse().read()
        connection.close()


class Node(Web):
    port = NODE_PORT

    def __init__(self, folder):
        self.process = subprocess.Popen(["node", "-e", NODE], cwd=folder)


class Nginx(Web):
    port = NGINX_PORT

    def __init__(self, folder):
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(NGINX % {"dir": folder, "port": self.port})
        self.process = subprocess.Popen(["nginx", "-c", path, "-e", os.path.join(folder, "log")])


def load(program, rng, end, short_cnt, ms):
    """Stalls at random times, and short requests between them."""
    while time.monotonic() < end:
        program.stall(rng.uniform(0.8, 1.2) * ms)
        for _ in range(rng.randint(0, 2 * short_cnt)):
            program.stall(1)
            time.sleep(rng.expovariate(1 / 0.01))


def run(kind, folder, seconds, seed, short_cnt, ms):
    out = os.path.join(folder, f"{seed}")
    if kind == "simjank":
        process = subprocess.Popen([os.path.join(ROOT, "simjank"), "--quiet", "--order", "random", "--seed", str(seed), "--count",
                                    "1000000", "--gap", "10ms", "--scenario",
                                    f"busy:{int(ms * .8)}ms-{int(ms * 1.2)}ms" + ",sleep:1ms" * short_cnt])
        program = None
    else:
        program = {"redis": Redis, "node": Node, "nginx": Nginx}[kind](folder)
        process = program.process
    time.sleep(0.7)
    tracer = subprocess.Popen([JANKBPF, "-q", "--json", "-t", "25ms", "-d", str(seconds + 1), "--interval", "500ms", "-o", out, "-p",
                               str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if program:
        load(program, random.Random(seed), time.monotonic() + seconds + 2, short_cnt, ms)
    tracer.wait()
    process.kill()
    process.wait()
    return out


def need_programs():
    missing = [program for program in ("redis-server", "redis-cli", "node", "nginx") if not shutil.which(program)]
    if not os.path.exists(NGINX_PERL):
        missing.append("nginx's module for Perl (package libnginx-mod-http-perl)")
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}")


def main():
    need_programs()
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 6
    found = false = 0
    for nr in range(2 * pairs):
        kind, worse = ("redis", "node", "simjank", "nginx")[nr // 2 % 4], nr % 2
        # A regression is three times as many stalls among the requests, or stalls of twice the length.
        before = (6, 40)
        after = ((2, 40), (6, 80))[nr // 8 % 2] if worse else before
        with tempfile.TemporaryDirectory(prefix="jankbpf-trial-") as folder:
            a, b = run(kind, folder, seconds, 2 * nr, *before), run(kind, folder, seconds, 2 * nr + 1, *after)
            done = subprocess.run([JANKBPF, "diff", "--json", a, b], capture_output=True, text=True, check=False)
        says = [f"{f['what']} {f.get('signature', '')[:8]} x{f.get('ratio', 0):.2f} p={f['p']:.4f}"
                for f in json.loads(done.stdout)["findings"] if f["verdict"] == "worse"]
        found += bool(worse and says)
        false += bool(not worse and says)
        print(f"{kind:8} {'worse' if worse else 'equal'} {after if worse else ''}: {'; '.join(says) or '-'}", flush=True)
    print(f"regressions found: {found} of {pairs}; equal pairs with something worse: {false} of {pairs}")


main()
