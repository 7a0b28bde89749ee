#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Libraries that are loaded, keep a loop busy and are unloaded before jankbpf can read the
mappings. The next one is loaded at the same address."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import lazy  # noqa: E402
from live import JANKBPF, Tap, need  # noqa: E402

# The work is short compared with the time to read a process's mappings again.
LIBRARY = """
#include <time.h>
{others}
__attribute__((noinline)) static void spin_in_{name}(void)
{{
	struct timespec now;
	long long end = 0, at;

	do {{
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = now.tv_sec * 1000000000ll + now.tv_nsec;
		end = end ? end : at + 8000000;
	}} while (at < end);
}}

void work_in_{name}(void)
{{
	spin_in_{name}();
	__asm__ volatile("" ::: "memory");
}}
"""
OTHERS = "".join(f"int {{name}}_{number}(int v) {{{{ return v * {number + 3}; }}}}\n" for number in range(60))
FLAGS = ["-O2", "-fomit-frame-pointer"]


def build(folder):
    made = [os.path.join(folder, "unloaded")]
    subprocess.run(["gcc", *FLAGS, "-o", made[0], os.path.join(HERE, "programs", "unloaded.c")], check=True)
    for name, others in ("a", ""), ("b", OTHERS.format(name="of_b")), ("c", ""):
        source = os.path.join(folder, name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(LIBRARY.format(name=name, others=others))
        made.append(os.path.join(folder, f"lib{name}.so"))
        subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", "-Wl,--build-id", source, "-o", made[-1]], check=True)
    return made


def trace(*command, options=()):
    """(blocks, standard error) of a run under jankbpf."""
    done = subprocess.run([JANKBPF, "--json", "-F", "999", *options, "--", *command], capture_output=True, text=True, timeout=120,
                          check=False)
    records = [json.loads(line) for line in done.stdout.split("\n") if line]
    return [record for record in records if record["type"] == "block"], done.stderr


def user_stacks(blocks):
    for block in blocks:
        for sample in block["samples"]:
            stack = [frame.get("function") for frame in sample.get("stack", ()) if not frame.get("kernel")]
            if stack:
                yield stack


def check_places(tap, folder):
    blocks, said = trace(*build(folder), options=["-t", "5ms"])
    places = [line for line in said.splitlines() if line.startswith("0x")]
    tap.check(len(places) == 31 and len({place[:-3] for place in places[:-1]}) == 1,
              "two libraries are loaded at one address in turn", said[-1500:])
    for name in "abc":
        found = [stack for stack in user_stacks(blocks) if f"handle_{name}" in stack and "dlopen" not in " ".join(map(str, stack))]
        worked = [stack for stack in found if f"work_in_{name}" in stack]
        wrong = [stack for stack in found for other in "abc".replace(name, "") if f"work_in_{other}" in stack or
                 f"spin_in_{other}" in stack]
        chain = [f"work_in_{name}", "work", f"handle_{name}", "main"]
        broken = [stack for stack in worked if [function for function in stack if function in chain] != chain]
        tap.check(len(worked) >= (4 if name == "c" else 60) and not wrong and not broken,
                  f"{name}: {len(worked)} of {len(found)} stacks lead through its library, none through another's",
                  len(blocks), *wrong[:3], *broken[:3], said[-500:])
    lost = [stack for stack in user_stacks(blocks) if "main" not in stack]
    total = sum(1 for _ in user_stacks(blocks))
    tap.check(len(lost) <= total / 50, f"{total - len(lost)} of {total} stacks reach main", *lost[:5])


def check_lazy(tap, folder):
    program, library = lazy.build(folder, "gcc")
    blocks, said = trace(program, library, options=["-t", "1ms", "-F", "3999"])
    found = [stack for stack in user_stacks(blocks) if "call_all" in stack]
    wrong = [stack for stack in found if [name for name in stack if name in lazy.CHAIN] != lazy.CHAIN]
    deep = sum(stack.index("call_all") > 1 for stack in found)
    tap.check(deep >= 10 and not wrong, f"{deep} of {len(found)} stacks are of ld.so resolving a call", *wrong[:3], said[-500:])


def main():
    need("gcc")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-unloaded-") as folder:
        check_places(tap, folder)
        check_lazy(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
