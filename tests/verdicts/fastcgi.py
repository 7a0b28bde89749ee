# SPDX-License-Identifier: GPL-2.0
"""A request to a FastCGI server (FastCGI specification 1.0, 1996): one connection, one request, no
body."""
import socket
import struct

BEGIN_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
RESPONDER = 1


def record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def receive(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise OSError("the FastCGI server closed the connection")
        data += more
    return data


def get(port, script, query, timeout=10):
    """The script's output, including its header. OSError when there is no answer."""
    names = {"SCRIPT_FILENAME": script, "QUERY_STRING": query, "REQUEST_METHOD": "GET", "SCRIPT_NAME": script}
    params = b"".join(bytes((len(name), len(value))) + name.encode() + value.encode() for name, value in names.items())
    out = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as sock:
        sock.sendall(record(BEGIN_REQUEST, struct.pack("!HB5x", RESPONDER, 0)) + record(PARAMS, params) + record(PARAMS, b"") +
                     record(STDIN, b""))
        while True:
            _, kind, _, size, padding = struct.unpack("!BBHHBx", receive(sock, 8))
            content = receive(sock, size + padding)[:size]
            if kind == STDOUT:
                out += content
            if kind == END_REQUEST:
                return out
