# SPDX-License-Identifier: GPL-2.0
"""Cases from the field: reports of people who hunt stalls, reproduced with the real software. Each
test of tests/field/ has cases of one kind, a row of the table in docs/verdicts.md."""
import json
import os
import shutil
import tempfile

from tap import Tap

# Within `make check` a test has only seconds.
SHORT = os.environ.get("FIELD") == "short"


class Field(Tap):
    """Tap that counts cases, and appends the counts to $FIELD_RESULTS for tests/field/table."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.counts = kind, {}

    def case(self, text, right, *details):
        """One case, right or not. Returns it."""
        self._count(text, int(bool(right)), 1)
        return self.check(right, text, *details)

    def cases(self, text, right, tried, share=0.98, details=()):
        """Many cases in one check, which passes if there are any and at least `share` of them are
        right."""
        self._count(text, right, tried)
        return self.check(tried and right >= share * tried, f"{text}: {right} of {tried}", *details)

    def programs(self, *runs):
        """Calls each run(field, folder) with a folder of its own. runs: (run, program); without that
        program it is skipped, and None needs no program."""
        for run, program in runs:
            if program and not shutil.which(program):
                self.skip(program, "not installed")
                continue
            with tempfile.TemporaryDirectory(prefix="jank-field-", dir="/var/tmp") as folder:
                run(self, folder)

    def _count(self, text, right, tried):
        before = self.counts.get(text, (0, 0))
        self.counts[text] = (before[0] + right, before[1] + tried)

    def done(self):
        path = os.environ.get("FIELD_RESULTS")
        if path:
            with open(path, "a", encoding="utf-8") as file:
                for text, (right, tried) in self.counts.items():
                    file.write(json.dumps({"kind": self.kind, "case": text, "right": right, "tried": tried}) + "\n")
        self.end()
