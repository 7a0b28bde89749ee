# SPDX-License-Identifier: GPL-2.0
"""A certificate that signs itself, for localhost, with its key."""
import os
import subprocess

import bad

SUBJECT = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
# openssl ca is the command that takes dates of the past.
AUTHORITY = """[ca]
default_ca = own
[own]
database = {0}/index
new_certs_dir = {0}
serial = {0}/serial
policy = any
[any]
commonName = supplied
"""


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True, timeout=60)


class Certificate:
    def __init__(self, name, expired=False):
        self.path, self.key = bad.scratch(name + ".cert.pem"), bad.scratch(name + ".key.pem")
        new = ["req", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, *SUBJECT]
        if expired:
            self.sign(name, new)
        else:
            openssl(*new, "-x509", "-days", "2", "-out", self.path)
        os.chmod(self.key, 0o600)

    def sign(self, name, new):
        directory = bad.scratch(name + ".authority")
        os.mkdir(directory)
        for file, text in (("index", ""), ("conf", AUTHORITY.format(directory))):
            with open(os.path.join(directory, file), "w", encoding="utf-8") as out:
                out.write(text)
        request = os.path.join(directory, "request")
        openssl(*new, "-out", request)
        openssl("ca", "-batch", "-selfsign", "-create_serial", "-notext", "-md", "sha256", "-config", os.path.join(directory, "conf"),
                "-in", request, "-keyfile", self.key, "-out", self.path, "-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
