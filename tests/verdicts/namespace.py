# SPDX-License-Identifier: GPL-2.0
"""A network namespace for the programs that a script starts."""
import os
import subprocess
import sys


def enter():
    """Runs the script again in it: servers and browsers that search for others find none."""
    if "VERDICT_INSIDE" in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    os.environ["VERDICT_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
