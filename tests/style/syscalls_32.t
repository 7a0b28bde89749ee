#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares the list of 32-bit system calls with the kernel's headers, where they are installed."""
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "user", "base", "syscalls_32.tbl")
# column, the header's name, compilers that have it. On x86-64 the i386 header is beside the native
# one.
COLUMNS = [
    (0, "asm/unistd_32.h", ["cc", "i686-linux-gnu-gcc"]),
    (1, "asm/unistd.h", ["arm-linux-gnueabihf-gcc"]),
]
NAMES = ["i386", "arm"]
NUMBER = re.compile(r"#define __NR_([a-z0-9_]+) (?:\(__NR_SYSCALL_BASE ?\+ ?)?(\d+)\)?$", re.M)
# From here on all architectures have the same numbers, and the list may be newer than the headers.
FIRST_COMMON = 424
count = failed = 0


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {text}")
    for detail in () if good else details:
        print("#", detail)


def skip(text, reason):
    global count
    count += 1
    print(f"ok {count} - {text} # SKIP {reason}")


def read_table():
    """The system calls of each column: {name: number}."""
    columns = [{}, {}]
    with open(TABLE, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and line[0] != "#"]
    for name, *numbers in rows:
        for column, number in zip(columns, numbers, strict=True):
            if number != "-":
                column[name] = int(number)
    return [row[0] for row in rows], columns


def read_headers(header, compilers):
    for compiler in filter(shutil.which, compilers):
        done = subprocess.run([compiler, "-E", "-dM", "-x", "c", "-"], input=f"#include <{header}>\n",
                              capture_output=True, text=True)
        if done.returncode == 0:
            return {name: int(number) for name, number in NUMBER.findall(done.stdout)}
    return None


def check_headers(column, header, compilers, calls):
    headers = read_headers(header, compilers)
    if headers is None:
        skip(f"{NAMES[column]}: the headers' numbers", f"no {header} of {' or '.join(compilers)}")
        return
    headers = {name.replace("arm_sync_file_range", "sync_file_range2"): nr for name, nr in headers.items()}
    wrong = [f"{name}: {calls.get(name)}, {nr} in the headers" for name, nr in headers.items()
             if calls.get(name) != nr]
    check(len(headers) > 300 and not wrong, f"{NAMES[column]}: all {len(headers)} of the headers", *wrong)
    unknown = [f"{name} {nr}" for name, nr in calls.items() if name not in headers and nr < FIRST_COMMON]
    check(not unknown, f"{NAMES[column]}: has no other calls, except newer ones", *unknown)


def main():
    names, columns = read_table()
    check(len(set(names)) == len(names), "no name appears twice")
    for column, calls in enumerate(columns):
        check(len(set(calls.values())) == len(calls), f"{NAMES[column]}: no number appears twice")
        check(max(calls.values()) < 512, f"{NAMES[column]}: all numbers are below the other half's")
    unlike = [name for name, nr in columns[0].items()
              if nr >= FIRST_COMMON and columns[1].get(name, nr) != nr]
    check(not unlike, f"from {FIRST_COMMON} on both have the same numbers", *unlike)
    for column, header, compilers in COLUMNS:
        check_headers(column, header, compilers, columns[column])
    print(f"1..{count}")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
