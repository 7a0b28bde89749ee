# SPDX-License-Identifier: GPL-2.0
"""A slow HTTP server. argv: port, seconds."""
import http.server
import sys
import time


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(float(sys.argv[2]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"late")

    def log_message(self, *_):
        pass


with open("/proc/self/comm", "w", encoding="ascii") as comm:
    comm.write("slow-http")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()
