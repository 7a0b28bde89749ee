# SPDX-License-Identifier: GPL-2.0
"""The results of a test in Python, as TAP: Test Anything Protocol."""
import sys

DETAIL_MAX = 4000
STARVED = 0.15  # of the machine's time, taken by a hypervisor: what is measured then is its doing


def cpu_times():
    """All of the machine's CPU time, what a hypervisor took of it, and what was not idle, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        times = [int(field) for field in file.readline().split()[1:9]]
    return sum(times), times[7], sum(times) - times[3] - times[4]


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        self.begun = cpu_times()

    def stolen(self):
        """The share that a hypervisor took of the machine since this began."""
        total, stolen = (now - then for now, then in zip(cpu_times()[:2], self.begun[:2]))
        return stolen / max(total, 1)

    def check(self, good, text, *details):
        """A result; when it is bad, its details are shown."""
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}", flush=True)
        for detail in () if good else details:
            self.note(str(detail).strip()[:DETAIL_MAX])
        return good

    def measured(self, good, text, *details):
        """A result that a starved machine spoils: bad there, it says nothing of us."""
        if good or self.stolen() < STARVED:
            return self.check(good, text, *details)
        self.skip(text, f"a hypervisor took {100 * self.stolen():.0f} % of the machine meanwhile")
        return False

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
