#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A loss that is found after a block was judged is in its record, in the record of a replay, and in
the summary. The loss here: source lines, because the debug information before them takes too long
to read."""
import json
import os
import platform
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import JANKBPF, Tap, Trace, end, need, start  # noqa: E402

WORD = "names_cut_short"
# A function that counts down, and its debug information, with FILLER empty entries before its own.
SOURCE = """
	.text
	.globl count_down
	.type count_down, @function
count_down:
	dec %rdi
	jnz count_down
	ret
	.size count_down, . - count_down
f_end:
	.section .debug_abbrev,"",@progbits
	.byte 1, 0x11, 1, 0x11, 1, 0x12, 1, 0, 0
	.byte 2, 0x0b, 0, 0, 0
	.byte 3, 0x2e, 0, 0x03, 8, 0x11, 1, 0x12, 1, 0, 0
	.byte 0
	.section .debug_info,"",@progbits
	.long end - begin
begin:	.short 3
	.long 0
	.byte 8
	.byte 1
	.quad count_down
	.quad f_end
	.fill FILLER, 1, 2
	.byte 3
	.asciz "count_down"
	.quad count_down
	.quad f_end
	.byte 0
end:
	.section .note.GNU-stack,"",@progbits
"""
LOOP = """
#include <sys/epoll.h>
void count_down(unsigned long n);
int main(void)
{
	struct epoll_event event;
	int epfd = epoll_create1(0);

	for (;;) {
		epoll_wait(epfd, &event, 1, 20);
		count_down(200000000);
	}
}
"""


def build(folder, name, filler):
    """Builds the program without debug information except that of the one function."""
    program = os.path.join(folder, name)
    for suffix, text in (".S", SOURCE.replace("FILLER", str(filler))), (".c", LOOP):
        with open(program + suffix, "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["gcc", "-O1", "-o", program, program + ".c", program + ".S"], check=True)
    return program


def trace(program):
    process = start(program)
    try:
        with Trace(process.pid, options=["-n", "3"]) as traced:
            traced.finish()
            replayed = subprocess.run([JANKBPF, "-q", "--json", "replay", traced.journal], capture_output=True, text=True,
                                      check=True, timeout=120)
    finally:
        end(process)
    again = [json.loads(line) for line in replayed.stdout.splitlines()]
    return traced, [record for record in again if record["type"] == "block"]


def check(tap, name, folder, filler, wanted):
    traced, again = trace(build(folder, name, filler))
    blocks = [block for block in traced.blocks if any(
        frame.get("function") == "count_down" for sample in block["samples"] for frame in sample["stack"])]
    said = [WORD in block.get("lost", {}) for block in blocks]
    tap.check(blocks and all(word == wanted for word in said), f"{name}: each record {'says' if wanted else 'does not say'} so",
              [block.get("lost") for block in traced.blocks])
    same = [(block["id"], block.get("lost")) for block in traced.blocks]
    tap.check([(block["id"], block.get("lost")) for block in again] == same, "  as does its replay",
              [block.get("lost") for block in again], same)
    total = sum(block.get("lost", {}).get(WORD, 0) for block in traced.blocks)
    tap.check(traced.summary["lost"].get(WORD, 0) >= total and bool(total) == wanted, "  as does the summary",
              traced.summary["lost"], total)
    if wanted:
        unsure = [block["cause"]["confidence"] <= 0.9 for block in blocks]
        tap.check(all(unsure), "  and the verdict's confidence is lower", [block["cause"] for block in blocks][:1])


def main():
    need("gcc")
    tap = Tap()
    if platform.machine() != "x86_64":
        tap.skip("look-ups that take too long", "the program is written for x86-64")
    else:
        with tempfile.TemporaryDirectory(prefix="jank-losses-") as folder:
            check(tap, "quick", folder, 1000, False)
            check(tap, "costly", folder, 40000000, True)
    tap.end()


if __name__ == "__main__":
    main()
