# SPDX-License-Identifier: GPL-2.0
"""The results of a test in Python, as TAP: Test Anything Protocol."""
import sys

DETAIL_MAX = 4000


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, text, *details):
        """A result; when it is bad, its details are shown."""
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}", flush=True)
        for detail in () if good else details:
            self.note(str(detail).strip()[:DETAIL_MAX])
        return good

    def skip(self, text, reason):
        self.count += 1
        print(f"ok {self.count} - {text} # SKIP {reason}", flush=True)

    @staticmethod
    def note(text):
        for line in text.splitlines():
            print("#", line, flush=True)

    def end(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}", flush=True)
    sys.exit(0)
