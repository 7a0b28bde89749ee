#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""deploy/prometheus: promtool accepts rules and their tests; a real Prometheus that scrapes a real agent answers each
query of the dashboard and each recording rule with data, and its alerts fire for a loop that janks."""
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from agents import Agent, free_port
from bad import ok
from certificate import Certificate
from group import Group

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/prometheus")
RULES = os.path.join(DEPLOY, "jankbpf.rules.yml")
# Grafana fills these in.
VARIABLES = {"$job": "jankbpf", "$instance": ".*", "$unit": ".*", "$__rate_interval": "5s", "$__range": "1m"}


class Prometheus:
    def __init__(self, jobs):
        self.port, directory = free_port(), bad.scratch("server")
        os.mkdir(directory)
        path = os.path.join(directory, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"}, "rule_files": [os.path.abspath(RULES)],
                       "scrape_configs": jobs}, file)
        self.checked = subprocess.run(["promtool", "check", "config", path], capture_output=True, text=True, check=False, timeout=60)
        self.log = open(os.path.join(directory, "log"), "w", encoding="utf-8")
        process = subprocess.Popen(["prometheus", "--config.file", path, "--storage.tsdb.path", os.path.join(directory, "data"),
                                    "--web.listen-address", f"127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        bad.STARTED.append(process)

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def values(self, query):
        data = self.get("query", query=query)
        return [float(one["value"][1]) for one in data["result"]] if data else []

    def firing(self):
        return {one["labels"]["alertname"] for one in (self.get("alerts") or {"alerts": []})["alerts"]}


def filled(query):
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


def dashboard_queries():
    with open(os.path.join(DEPLOY, "dashboard.json"), encoding="utf-8") as file:
        for panel in json.load(file)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], filled(target["expr"])


def check_tool():
    for what, args in (("rules are valid", ["check", "rules", RULES]),
                       ("rules do what they say", ["test", "rules", "jankbpf.test.yml"]),
                       ("the example of a configuration is valid", ["check", "config", "prometheus.yml"])):
        done = subprocess.run(["promtool", *args], cwd=DEPLOY, capture_output=True, text=True, check=False, timeout=60)
        ok(not done.returncode, what, done.stdout + done.stderr)


def check_alerts(server):
    with open(RULES, encoding="utf-8") as file:
        named = set(re.findall(r"alert: (\w+)", file.read()))
    with open(os.path.join(DEPLOY, "jankbpf.test.yml"), encoding="utf-8") as file:
        tested = set(re.findall(r"alertname: (\w+)", file.read()))
    ok(named and named == tested, "each alert has a test", named ^ tested)
    loaded = {rule["name"] for group in server.get("rules")["groups"] for rule in group["rules"] if rule["type"] == "alerting"}
    ok(loaded == named, "Prometheus has all alerts", loaded)
    # Those that burn a budget need hours, JankNewSignature 15 minutes of history.
    ok(bad.wait_for(lambda: "JankUnitSlow" in server.firing(), 60), "JankUnitSlow is raised by real jank", server.firing())
    ok("JankNewSignature" not in server.firing(), "the faults of the first scrape are not new", server.firing())
    ok(not server.firing() & {"JankAgentGone", "JankAgentBlind"}, "and none about the agent", server.firing())


def check_data(server):
    for title, query in dashboard_queries():
        ok(bad.wait_for(lambda q=query: server.values(q), 60), f"{title}: data", query)
    with open(RULES, encoding="utf-8") as file:
        records = re.findall(r"record: (\S+)", file.read())
    for record in records:
        ok(bad.wait_for(lambda r=record: server.values(r), 60), f"{record}: data")
    ok(bad.wait_for(lambda: max(server.values('jankbpf_open_dispatch_seconds{process="simjank", loop="epoll"}'), default=0) > 0.05, 60),
       "an open dispatch has the program's name")
    # Until the program has run for 10 s the rate is lower.
    lost = lambda: sum(server.values('sum(rate(jankbpf_blocked_seconds_total{job="jankbpf"}[10s]))'))
    ok(bad.wait_for(lambda: 0.3 < lost() < 1.2, 60), "the rate of lost time is that of the program", lost())


def job(name, port, **more):
    return {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}], **more}


class Closed:
    """An agent that asks for TLS and a password, and what Prometheus needs for it."""

    def __init__(self, group):
        self.port, self.certificate = free_port(), Certificate("agent")
        self.files = {name: self.password(name) for name in ("right", "wrong")}
        self.agent = Agent("closed", group, {"store": {"interval": "500ms"},
                                             "metrics": {"listen": f"127.0.0.1:{self.port}", "cert-file": self.certificate.path,
                                                         "key-file": self.certificate.key, "user": "prometheus",
                                                         "password-file": self.files["right"]}})

    @staticmethod
    def password(word):
        path = bad.scratch(word + ".password")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(word + "\n")
        return path

    def job(self, name, password):
        return job(name, self.port, scheme="https", tls_config={"ca_file": self.certificate.path},
                   basic_auth={"username": "prometheus", "password_file": self.files[password]})

    def jobs(self):
        return [self.job("closed", "right"), self.job("wrong", "wrong"), job("plain", self.port)]

    def check(self, server):
        ok(not server.checked.returncode, "promtool accepts tls_config and basic_auth", server.checked.stderr)
        ok(bad.wait_for(lambda: server.values('jankbpf_blocks_total{job="closed"}'), 60), "by TLS and password it reads an agent that asks for them")
        for name in ("wrong", "plain"):
            ok(bad.wait_for(lambda n=name: server.values(f'up{{job="{n}"}}') == [0.0], 60), f"{name}: it gets nothing")
        ok(server.values('up{job="closed"}') == [1.0], "while the other goes on")


def main():
    if not shutil.which("prometheus"):
        bad.skip_all("no prometheus: make deps-fleet")
    check_tool()
    bad.need_tracing()
    group = Group("jankbpf-prometheus-test")
    process = group.start(bad.SIMJANK, "--quiet", "--scenario", "sleep:120ms", "--count", "100000")
    bad.STARTED.append(process)
    port = free_port()
    agent = Agent("prometheus", group, {"store": {"interval": "500ms"}, "metrics": {"listen": f"127.0.0.1:{port}"}})
    closed = Closed(group)
    server = Prometheus([job("jankbpf", port), *closed.jobs()])
    ok(bad.wait_for(lambda: server.values("jankbpf_blocks_total"), 60), "Prometheus reads the agent's metrics")
    check_data(server)
    closed.check(server)
    closed.agent.tracer.stop()
    check_alerts(server)
    agent.tracer.stop()
    bad.end(process)
    group.remove()
    bad.done()


main()
