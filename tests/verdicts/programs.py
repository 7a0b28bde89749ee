# SPDX-License-Identifier: GPL-2.0
"""Real programs with event loops: how each is started, and how to send a request with a mark.

`own` are the files (patterns) with the program's own functions: one of these should be blamed. For
named libuv is one of them, because it reads by itself.
"""
import os
import socket
import struct
import textwrap


def tcp(port, data, wait=True):
    """The request, until the server answers or closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(data)
        return client.recv(4096) if wait else b""


def http(port, mark):
    return tcp(port, f"GET /{mark} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())


def question(mark):
    name = b"".join(bytes([len(label)]) + label for label in (mark.encode(), b"jank", b"test"))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + name + b"\0" + struct.pack(">2H", 1, 1)


def dns_tcp(port, mark):
    data = question(mark)
    return tcp(port, struct.pack(">H", len(data)) + data)


def dns(port, mark):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)  # a datagram may come before the server is ready
        client.sendto(question(mark), ("127.0.0.1", port))
        return client.recv(4096)


def mqtt(port, mark):
    """CONNECT with the mark as the client's name; the answer is CONNACK."""
    body = b"\0\4MQTT\4\2\0\60" + struct.pack(">H", len(mark)) + mark.encode()
    return tcp(port, bytes([0x10, len(body)]) + body)


def pgsql(port, mark):
    body = struct.pack(">I", 196608) + b"user\0" + mark.encode() + b"\0database\0x\0\0"
    return tcp(port, struct.pack(">I", len(body) + 4) + body)


def line(text):
    """A text protocol: one line with the mark."""
    return lambda port, mark: tcp(port, text.replace("MARK", mark).encode() + b"\r\n")


class Program:
    """A row of the table. command: words, in which PORT and DIR are replaced by the run's; files:
    by name, with the same replacement."""

    def __init__(self, name, command, send, own, packages, files=None, udp=False):
        self.name, self.command, self.send, self.own, self.packages = name, command, send, own, packages
        self.files, self.udp = files or {}, udp

    def fill(self, text, port, folder):
        return text.replace("PORT", str(port)).replace("DIR", folder)

    def words(self, port, folder):
        return [self.fill(word, port, folder) for word in self.command.split(" ")]

    def write(self, port, folder):
        for name, text in self.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(self.fill(textwrap.dedent(text).lstrip("\n"), port, folder))


ZONE = """
    $TTL 60
    @ IN SOA ns.jank.test. root.jank.test. 1 60 60 60 60
    @ IN NS ns.jank.test.
    ns IN A 127.0.0.1
    * IN A 127.0.0.1
    """

TABLE = [
    Program("memcached", "memcached -u nobody -l 127.0.0.1 -p PORT -t 2", line("get MARK"), ["memcached"], ["memcached"]),
    Program("haproxy", "haproxy -db -f DIR/conf", http, ["haproxy"], ["haproxy"], {"conf": """
        defaults
            mode http
            timeout client 30s
        frontend main
            bind 127.0.0.1:PORT
            http-request return status 200
        """}),
    Program("lighttpd", "lighttpd -D -f DIR/conf", http, ["lighttpd", "mod_*"], ["lighttpd"], {"conf": """
        server.document-root = "DIR"
        server.bind = "127.0.0.1"
        server.port = PORT
        """}),
    Program("mosquitto", "mosquitto -c DIR/conf", mqtt, ["mosquitto"], ["mosquitto"], {"conf": """
        listener PORT 127.0.0.1
        allow_anonymous true
        """}),
    Program("dnsmasq", "dnsmasq -k -C DIR/conf", dns, ["dnsmasq"], ["dnsmasq-base"], {"conf": """
        port=PORT
        listen-address=127.0.0.1
        bind-interfaces
        no-resolv
        user=root
        pid-file=DIR/pid
        address=/jank.test/127.0.0.1
        """}, udp=True),
    Program("unbound", "unbound -d -c DIR/conf", dns, ["unbound"], ["unbound"], {"conf": """
        server:
            interface: 127.0.0.1
            port: PORT
            username: ""
            chroot: ""
            pidfile: "DIR/pid"
            directory: "DIR"
            do-daemonize: no
            num-threads: 1
            use-syslog: no
            local-zone: "jank.test." redirect
            local-data: "jank.test. A 127.0.0.1"
        """}, udp=True),
    Program("named", "named -g -4 -n 1 -c DIR/conf", dns_tcp, ["named", "libns-*", "libisc-*", "libdns-*", "libuv*"], ["bind9"], {"conf": """
        options {
            directory "DIR"; pid-file none; session-keyfile "DIR/key"; recursion no; dnssec-validation no;
            listen-on port PORT { 127.0.0.1; }; listen-on-v6 { none; };
        };
        controls { };
        zone "jank.test" { type primary; file "DIR/zone"; };
        """, "zone": ZONE}),
    Program("nsd", "nsd -d -c DIR/conf", dns, ["nsd"], ["nsd"], {"conf": """
        server:
            ip-address: 127.0.0.1@PORT
            username: ""
            zonesdir: "DIR"
            database: ""
            pidfile: "DIR/pid"
            zonelistfile: "DIR/list"
            xfrdfile: "DIR/xfrd"
            xfrdir: "DIR"
            server-count: 1
        remote-control:
            control-enable: no
        zone:
            name: "jank.test"
            zonefile: "zone"
        """, "zone": ZONE}, udp=True),
    Program("knotd", "knotd -c DIR/conf", dns, ["knotd", "libknot*"], ["knot"], {"conf": """
        server:
            listen: 127.0.0.1@PORT
            rundir: DIR
            udp-workers: 1
        database:
            storage: DIR
        zone:
          - domain: jank.test
            storage: DIR
            file: zone
        """, "zone": ZONE}, udp=True),
    Program("beanstalkd", "beanstalkd -l 127.0.0.1 -p PORT", line("use MARK"), ["beanstalkd"], ["beanstalkd"]),
    Program("ngircd", "ngircd -n -f DIR/conf", line("PING MARK\r\nQUIT"), ["ngircd"], ["ngircd"], {"conf": """
        [Global]
        Name = irc.jank.test
        Info = test
        Listen = 127.0.0.1
        Ports = PORT
        ServerUID = nobody
        ServerGID = nogroup
        [Limits]
        MaxConnectionsIP = 0
        [Options]
        DNS = no
        Ident = no
        PAM = no
        """}),
    Program("pgbouncer", "pgbouncer -u nobody DIR/conf", pgsql, ["pgbouncer"], ["pgbouncer"], {"conf": """
        [databases]
        x = host=127.0.0.1
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = PORT
        unix_socket_dir =
        auth_type = any
        """}),
    Program("squid", "squid -N -f DIR/conf", http, ["squid"], ["squid"], {"conf": """
        http_port 127.0.0.1:PORT
        cache deny all
        http_access deny all
        access_log none
        cache_log DIR/log
        pid_filename none
        coredump_dir DIR
        """}),
    Program("mpd", "mpd --no-daemon DIR/conf", line("find title MARK"), ["mpd"], ["mpd"], {"conf": """
        bind_to_address "127.0.0.1"
        port "PORT"
        db_file "DIR/db"
        music_directory "DIR"
        log_file "DIR/log"
        """}),
    Program("ruby", "ruby DIR/server.rb", line("MARK"), ["ruby*", "libruby*", "rubyeventmachine.so", "server.rb"],
            ["ruby", "ruby-eventmachine"], {"server.rb": """
        require 'eventmachine'
        module Echo
          def receive_data(data)
            send_data(data)
          end
        end
        EM.run { EM.start_server('127.0.0.1', PORT, Echo) }
        """}),
    Program("perl", "perl DIR/server.pl", line("MARK"), ["perl*", "libperl*", "EV.so", "IO.so"], ["perl", "libev-perl"], {"server.pl": """
        use EV; use IO::Socket::INET;
        my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => PORT, Listen => 5, ReuseAddr => 1);
        my %clients;
        my $accept = EV::io $server, EV::READ, sub {
            my $client = $server->accept;
            $clients{$client} = EV::io $client, EV::READ, sub {
                if (sysread($client, my $data, 4096)) { syswrite($client, $data) } else { delete $clients{$client}; close $client }
            };
        };
        EV::run;
        """}),
    Program("lua", "lua5.3 DIR/server.lua", line("MARK"), ["lua*", "liblua*"], ["lua5.3", "lua-socket"], {"server.lua": """
        local socket = require('socket')
        local server = socket.bind('127.0.0.1', PORT)
        local all = { server }
        while true do
            for _, ready in ipairs((socket.select(all, nil))) do
                if ready == server then
                    table.insert(all, (server:accept()))
                else
                    local line = ready:receive('*l')
                    if line then ready:send(line .. '\\n') end
                    if not line then
                        for i, each in ipairs(all) do if each == ready then table.remove(all, i) end end
                        ready:close()
                    end
                end
            end
        end
        """}),
    Program("php", "php DIR/server.php", line("MARK"), ["php*"], ["php-cli"], {"server.php": """
        <?php
        $server = stream_socket_server('tcp://127.0.0.1:PORT');
        $all = [$server];
        while (true) {
            $read = $all; $none = null;
            stream_select($read, $none, $none, null);
            foreach ($read as $ready) {
                if ($ready === $server) { $all[] = stream_socket_accept($server); continue; }
                $data = fread($ready, 4096);
                if ($data) fwrite($ready, $data);
                else { unset($all[array_search($ready, $all, true)]); fclose($ready); }
            }
        }
        """}),
    Program("tclsh", "tclsh DIR/server.tcl", line("MARK"), ["tclsh*", "libtcl*"], ["tcl"], {"server.tcl": """
        proc answer {channel} {
            if {[gets $channel line] >= 0} { puts $channel $line; flush $channel }
            if {[eof $channel]} { close $channel }
        }
        proc accept {channel address port} {
            fconfigure $channel -blocking 0
            fileevent $channel readable [list answer $channel]
        }
        socket -server accept -myaddr 127.0.0.1 PORT
        vwait forever
        """}),
    Program("python", "python3 DIR/server.py", line("MARK"), ["python3*", "server.py", "libpython*", "_socket*"], ["python3"], {"server.py": """
        import selectors, socket
        loop = selectors.DefaultSelector()
        server = socket.create_server(('127.0.0.1', PORT))
        def answer(client):
            data = client.recv(4096)
            if data:
                client.sendall(data)
            else:
                loop.unregister(client)
                client.close()
        loop.register(server, selectors.EVENT_READ, lambda s: loop.register(s.accept()[0], selectors.EVENT_READ, answer))
        while True:
            for key, _ in loop.select():
                key.data(key.fileobj)
        """}),
]
