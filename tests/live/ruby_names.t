#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of Ruby's methods without any flag: known stalls of a program (tests/languages/stalls.rb), attached when warm. Each
stack has the program's method, with its line, and that one is blamed."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "languages")]
import cases  # noqa: E402
from live import Tap, need, skip_all  # noqa: E402

RUBY = "/usr/bin/ruby"
KNOWN = r"3\.[12]\."  # later ones have no symbol for what runs methods


def main():
    need("ruby")
    version = subprocess.run([RUBY, "-e", "print RUBY_VERSION"], capture_output=True, text=True, check=False).stdout
    if os.uname().machine != "x86_64" or not re.match(KNOWN, version):
        skip_all("Ruby's frames are known of 3.1 and 3.2 on x86-64")
    tap = Tap()
    results, _ = cases.run("ruby", RUBY, True)
    for case, result in results.items():
        tap.check(result.is_right, f"{case}: the right method is to blame", result.blamed, result.summary)
    stacks, named = (sum(getattr(r, what) for r in results.values()) for what in ("stacks", "named"))
    good, off = (sum(r.lines[is_good] for r in results.values()) for is_good in (True, False))
    tap.check(named == stacks > len(results), f"{named} of {stacks} stacks have the program's method")
    tap.check(good and not off, f"{good} of {good + off} lines are right", *[dict(r.off) for r in results.values()])
    tap.check(not any(r.wrong for r in results.values()), "no other name", *[dict(r.wrong) for r in results.values()])
    tap.end()


if __name__ == "__main__":
    main()
