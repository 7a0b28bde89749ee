# SPDX-License-Identifier: GPL-2.0
"""Results of a Python test as TAP (Test Anything Protocol)."""
import subprocess
import sys

DETAIL_MAX = 4000
# share of the machine's time that a hypervisor took; above it, measurements are not ours
STARVED = 0.15


def cpu_times():
    """All CPU time of the machine, the part that a hypervisor took, and the part that was not idle,
    in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        times = [int(field) for field in file.readline().split()[1:9]]
    return sum(times), times[7], sum(times) - times[3] - times[4]


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        self.begun = cpu_times()
        self.starved = None  # why measurements are not ours, if something else than a hypervisor is the reason

    def stolen(self):
        """The share of the machine that a hypervisor has taken since the start of the test."""
        total, stolen = (now - then for now, then in zip(cpu_times()[:2], self.begun[:2]))
        return stolen / max(total, 1)

    def check(self, good, text, *details):
        """Prints a result; if it is bad, also its details."""
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}", flush=True)
        for detail in () if good else details:
            self.note(str(detail).strip()[:DETAIL_MAX])
        return good

    def measured(self, good, text, *details):
        """Prints a result that a starved machine can spoil. On such a machine a bad one is
        skipped."""
        if not good and self.starved:
            self.skip(text, self.starved)
        elif not good and self.stolen() >= STARVED:
            self.skip(text, f"a hypervisor took {100 * self.stolen():.0f} % of the machine meanwhile")
        else:
            self.check(good, text, *details)
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


def need_tracing(jankbpf):
    """Skips the whole test where tracing is not possible."""
    doctor = subprocess.run([jankbpf, "doctor"], capture_output=True, text=True, timeout=60, check=False)
    if doctor.returncode:
        skip_all("tracing is not possible here: see jankbpf doctor")
