#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Names of Ruby's methods without any flag: known stalls of a program (tests/languages/stalls.rb), attached when warm. Each
stack has the program's method, with its line, and that one is blamed."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "languages")]
import cases  # noqa: E402
from bad import wait_for  # noqa: E402
from live import Tap, Trace, end, need, skip_all, start  # noqa: E402

RUBY = "/usr/bin/ruby"
KNOWN = r"3\.[12]\."  # later ones have no symbol for what runs methods

STALLS = """
loop do
  IO.select(nil, nil, nil, 0.02)
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.05
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end
"""


def test_stripped(tap):
    """As Debian's later ones: without the symbol of what runs methods."""
    linked = subprocess.run(["ldd", RUBY], capture_output=True, text=True, check=True).stdout
    library = re.search(r"(libruby\S*) => (\S+)", linked)
    if not library:
        tap.skip("ruby has no library of its own", 1)
        return
    with tempfile.TemporaryDirectory(prefix="jank-ruby-") as folder:
        with open(library[2], "rb") as file, open(os.path.join(folder, library[1]), "wb") as copy:
            copy.write(file.read().replace(b"\0rb_vm_exec\0", b"\0rb`Um_exec\0"))  # the linker's hash is the same
        program = start([RUBY, "-e", STALLS], env={**os.environ, "LD_LIBRARY_PATH": folder})
        try:
            with Trace(program.pid) as trace:
                wait_for(lambda: any("stripped of the symbol" in line for line in trace.messages))
        finally:
            end(program)
    tap.check(trace.summary["lost"].get("files_unread") == 1, "a stripped Ruby is told", trace.summary["lost"], *trace.messages)


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
    test_stripped(tap)
    tap.end()


if __name__ == "__main__":
    main()
