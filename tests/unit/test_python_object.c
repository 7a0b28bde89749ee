/* SPDX-License-Identifier: GPL-2.0 */
/* Which versions are known, and which offsets a program cannot publish. */
#include "tests/unit/python_image.h"

#define VERSION_313 0x030d00f0

static bool read_with(unsigned at, uint64_t value)
{
	uint8_t published[SCRIPT_OFFSETS_SZ];
	struct python_offsets offsets;

	image__offsets_313(published);
	memcpy(published + at * 8, &value, 8);
	return python_offsets__read(published, VERSION_313, &offsets);
}

static void check_published(void)
{
	struct python_offsets offsets = image__offsets(VERSION_313);

	is_uint(offsets.tstate.frame, 72, "the frame in a thread's state");
	is_uint(offsets.code.bytecode, 200, "the bytecode in a code object");
	is_uint(offsets.unicode.compact_sz, 56, "a str's text");
	ok(!read_with(0, 0), "no cookie");
	ok(!read_with(1, 0x030d01f0), "of another version");
	ok(!read_with(2, 1), "free-threaded");
	ok(!read_with(9, 1u << 30), "far out of range");
	ok(!read_with(31, 72), "an instruction beyond what is read of a frame");
	ok(!read_with(31, 60), "or unaligned");
	ok(!read_with(33, 72), "an owner beyond it");
	ok(!read_with(25, 70000), "more than the probes accept");
	ok(!read_with(39, 40), "a line too far from the name");
	ok(!read_with(39, 132), "or after it");
	ok(read_with(31, 48), "elsewhere in the frame");
}

int main(void)
{
	struct python_offsets offsets;

	ok(python_offsets__of(0x030b00a1, &offsets) && python_offsets__of(0x030b09f0, &offsets),
	   "3.11");
	is_uint(offsets.version, 0x030b09f0, "its version");
	ok(python_offsets__of(0x030c07f0, &offsets), "3.12");
	ok(!python_offsets__of(0x030a00f0, &offsets) && !python_offsets__told(0x030a00f0),
	   "3.10 not");
	ok(!python_offsets__of(VERSION_313, &offsets) && python_offsets__told(VERSION_313),
	   "3.13 publishes its offsets");
	ok(!python_offsets__told(0x030e00f0), "3.14 has another layout of frames");
	check_published();
	return tap__done();
}
