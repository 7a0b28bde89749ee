# SPDX-License-Identifier: GPL-2.0
"""A cluster of ClickHouse: servers in shards of replicas, and the ZooKeeper that they need, on free ports of
127.0.0.1 with data in a temporary directory. All of it ends with the test."""
import atexit
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

WAIT_S = 60
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SCHEMA = os.path.join(ROOT, "deploy/clickhouse/schema.sql")
ZOOKEEPER_JARS = "/usr/share/java/*:/etc/zookeeper/conf"

SERVER_XML = """<?xml version="1.0"?>
<yandex>
  <logger><level>information</level><log>{dir}/server.log</log><errorlog>{dir}/error.log</errorlog></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{inter}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
  <path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path>
  <users_config>{dir}/users.xml</users_config><default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
  <zookeeper><node><host>127.0.0.1</host><port>{zookeeper}</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>
  <macros><shard>{shard}</shard><replica>{replica}</replica></macros>
  <remote_servers><jankbpf>{shards}</jankbpf></remote_servers>
  <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
  <!-- a killed server with a single part may not know it: half of the table is wrong then, at which it would not start -->
  <merge_tree><replicated_max_ratio_of_wrong_parts>1</replicated_max_ratio_of_wrong_parts></merge_tree>
</yandex>
"""
USERS_XML = """<?xml version="1.0"?>
<yandex>
  <profiles><default><max_memory_usage>{memory}</max_memory_usage><max_threads>2</max_threads></default></profiles>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
    <quota>default</quota></default></users>
  <quotas><default></default></quotas>
</yandex>
"""


def missing():
    """What is not installed, or None."""
    for word in ("clickhouse-server", "java"):
        if not shutil.which(word):
            return word
    return None if os.path.exists("/usr/share/java/zookeeper.jar") else "zookeeper"


def free_ports(count):
    """Not of those that the kernel gives to connections: one could have the port of a server that is away for a while."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    others = [port for port in range(10240, 65536) if not first <= port <= last]
    sockets, ports = [], []
    for port in random.SystemRandom().sample(others, len(others)):
        sock = socket.socket()
        sockets.append(sock)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            continue
        ports.append(port)
        if len(ports) == count:
            break
    for sock in sockets:
        sock.close()
    return ports


def until(what, text, wait_s=WAIT_S):
    """The value of what() once it is true."""
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        if value := what():
            return value
        time.sleep(0.05)
    raise TimeoutError(text)


def statements(path):
    """The statements of a file of SQL, without its comments."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"--.*", "", file.read())
    return [statement.strip() for statement in text.split(";") if statement.strip()]


class Failed(Exception):
    """A server refused a request."""


class Process:
    """A server in a process group of its own, which ends with the test."""

    def __init__(self, command, log):
        with open(log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        atexit.register(self.kill)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()


class Server:
    """One replica."""

    def __init__(self, where, ports, shard, replica):
        self.dir, self.shard, self.replica = where, shard, replica
        self.http, self.tcp, self.inter = ports
        self.url = f"http://127.0.0.1:{self.http}"
        self.process = None

    def configure(self, shards, zookeeper, memory):
        for name in ("data", "tmp"):
            os.makedirs(os.path.join(self.dir, name))
        with open(os.path.join(self.dir, "config.xml"), "w", encoding="ascii") as file:
            file.write(SERVER_XML.format(dir=self.dir, http=self.http, tcp=self.tcp, inter=self.inter, zookeeper=zookeeper,
                                         shard=self.shard, replica=self.replica, shards=shards))
        with open(os.path.join(self.dir, "users.xml"), "w", encoding="ascii") as file:
            file.write(USERS_XML.format(memory=memory))

    def start(self, tries=4):
        """Again, as a service manager does: 18.16 ends at its start when ZooKeeper answers late."""
        while True:
            tries -= 1
            self.process = Process(["clickhouse-server", f"--config-file={self.dir}/config.xml"], f"{self.dir}/output.log")
            try:
                until(self.answers, f"clickhouse-server in {self.dir} does not answer: see its logs")
                return
            except Failed as failed:
                if not tries:
                    raise
                print(f"# {str(failed)[:1000]}".replace("\n", " "), flush=True)

    def answers(self):
        if not self.runs():
            with open(f"{self.dir}/error.log", encoding="utf-8", errors="replace") as file:
                lines = [line[:600] for line in file if "Exception" in line]
            raise Failed(f"clickhouse-server ended with {self.process.process.returncode}: {' '.join(lines[-3:])}")
        try:
            return self.ask("SELECT 1") == "1\n"
        except (OSError, http.client.HTTPException):
            return False

    def runs(self):
        return self.process.process.poll() is None

    def stop(self):
        self.process.end()

    def post(self, path, body, timeout=120):
        """(status, text) of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=timeout)
        try:
            connection.request("POST", path, body=body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def ask(self, sql, **settings):
        """The text of the answer."""
        status, text = self.post("/?" + urllib.parse.urlencode(settings), sql.encode())
        if status != 200:
            raise Failed(f"{sql[:500]}: {status} {text[:1500]}")
        return text

    def rows(self, sql, **settings):
        """The rows, as objects."""
        text = self.ask(sql + " FORMAT JSONEachRow", output_format_json_quote_64bit_integers=0, **settings)
        return [json.loads(line) for line in text.splitlines()]

    def value(self, sql, **settings):
        row, = self.rows(sql, **settings)
        value, = row.values()
        return value


class Cluster:
    """shards lists of replicas."""

    def __init__(self, shards=2, replicas=2, memory=1 << 30):
        self.dir = tempfile.mkdtemp(prefix="jankbpf-clickhouse-")
        atexit.register(shutil.rmtree, self.dir, True)
        self.zookeeper_port, = free_ports(1)
        self.zookeeper = self.start_zookeeper()
        ports = free_ports(3 * shards * replicas)
        self.shards = [[Server(f"{self.dir}/{s}-{r}", [ports.pop() for _ in range(3)], f"s{s}", f"r{r}")
                        for r in range(replicas)] for s in range(shards)]
        self.servers = [server for shard in self.shards for server in shard]
        for server in self.servers:
            server.configure(self.shards_xml(), self.zookeeper_port, memory)
            server.start()
        atexit.register(self.end)

    def shards_xml(self):
        return "".join("<shard><internal_replication>true</internal_replication>" +
                       "".join(f"<replica><host>127.0.0.1</host><port>{server.tcp}</port></replica>" for server in shard) +
                       "</shard>" for shard in self.shards)

    def start_zookeeper(self):
        where = f"{self.dir}/zookeeper"
        os.makedirs(where, exist_ok=True)
        config = f"{where}/zoo.cfg"
        with open(config, "w", encoding="ascii") as file:
            file.write(f"tickTime=2000\ndataDir={where}\nclientPort={self.zookeeper_port}\nclientPortAddress=127.0.0.1\n"
                       "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok\n")
        process = Process(["java", "-Xmx128m", "-cp", ZOOKEEPER_JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config],
                          f"{where}/output.log")
        until(self.zookeeper_answers, f"ZooKeeper does not answer: see {where}/output.log")
        return process

    def zookeeper_answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.zookeeper_port), 5) as sock:
                sock.sendall(b"ruok")
                return sock.recv(4) == b"imok"
        except OSError:
            return False

    def apply_schema(self, path=SCHEMA):
        """On each server, as docs/clickhouse.md says."""
        for server in self.servers:
            for statement in statements(path):
                server.ask(statement)

    def synced(self):
        """Waits until each replica has what its shard has."""
        for server in self.servers:
            for table in server.rows("SELECT name FROM system.tables WHERE database = 'jankbpf' AND engine LIKE 'Replicated%'"):
                server.ask(f"SYSTEM SYNC REPLICA jankbpf.`{table['name']}`")

    def end(self):
        for server in self.servers:
            if server.process and server.runs():
                server.process.kill()
        self.zookeeper.kill()
        shutil.rmtree(self.dir, ignore_errors=True)
