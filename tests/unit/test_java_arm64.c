/* SPDX-License-Identifier: GPL-2.0 */
/* What is there of a frame at each instruction of the code that HotSpot makes on arm64. */
#include "symbol/unwind/java_code.h"
#include "tests/tap.h"

#define CODE_MAX 64 /* instructions */
#define FIRST	 (JAVA_ARM64_BEFORE / 4)

/* An instruction, and what is there of the frame before it runs. */
struct line {
	uint32_t insn;
	enum java_frame frame;
};

#define NONE  JAVA_FRAME_NONE
#define EMPTY JAVA_FRAME_EMPTY
#define PAIR  JAVA_FRAME_PAIR
#define WHOLE JAVA_FRAME_WHOLE

/* The entry that checks the receiver's class, a frame of 64 bytes, a call, a return with a poll. */
static const struct line small[] = {
	{ 0xb9400828, NONE },  /* ldr w8, [x1, #8] */
	{ 0xeb08013f, NONE },  /* cmp x9, x8 */
	{ 0x54000040, NONE },  /* b.eq 1f */
	{ 0x14000100, NONE },  /* b … */
	{ 0xd503201f, NONE },  /* 1: nop */
	{ 0xd14053e9, NONE },  /* sub x9, sp, #0x14, lsl #12 */
	{ 0xf900013f, NONE },  /* str xzr, [x9] */
	{ 0xd10103ff, NONE },  /* sub sp, sp, #64 */
	{ 0xa9037bfd, EMPTY }, /* stp x29, x30, [sp, #48] */
	{ 0xf90003e1, WHOLE }, /* str x1, [sp] */
	{ 0x94001000, WHOLE }, /* bl … */
	{ 0xaa0003e1, WHOLE }, /* mov x1, x0 */
	{ 0xa9437bfd, WHOLE }, /* ldp x29, x30, [sp, #48] */
	{ 0x910103ff, WHOLE }, /* add sp, sp, #64: the pair is still there */
	{ 0xf941d388, NONE },  /* ldr x8, [x28, #928] */
	{ 0xeb2863ff, NONE },  /* cmp sp, x8 */
	{ 0x54000068, NONE },  /* b.hi … */
	{ 0xd65f03c0, NONE },  /* ret */
};

/* 560 bytes: too far for a pair. */
static const struct line large[] = {
	{ 0xd503201f, NONE },  /* nop */
	{ 0xa9bf7bfd, NONE },  /* stp x29, x30, [sp, #-16]! */
	{ 0xd10883ff, PAIR },  /* sub sp, sp, #544 */
	{ 0xf90003e1, WHOLE }, /* str x1, [sp] */
	{ 0xd63f0100, WHOLE }, /* blr x8 */
	{ 0x910883ff, WHOLE }, /* add sp, sp, #544 */
	{ 0xa8c17bfd, PAIR },  /* ldp x29, x30, [sp], #16 */
	{ 0xd65f03c0, NONE },  /* ret */
};

/* 8,208 bytes: too many for an instruction. */
static const struct line huge[] = {
	{ 0xa9bf7bfd, NONE },  /* stp x29, x30, [sp, #-16]! */
	{ 0x910003fd, PAIR },  /* mov x29, sp */
	{ 0xd2840008, PAIR },  /* mov x8, #8192 */
	{ 0xcb2863ff, PAIR },  /* sub sp, sp, x8 */
	{ 0xf90003e1, WHOLE }, /* str x1, [sp] */
	{ 0x94001000, WHOLE }, /* bl … */
	{ 0xd2840008, WHOLE }, /* mov x8, #8192 */
	{ 0x8b2863ff, WHOLE }, /* add sp, sp, x8 */
	{ 0xa8c17bfd, PAIR },  /* ldp x29, x30, [sp], #16 */
	{ 0xd65f03c0, NONE },  /* ret */
};

static void test_frame(const char *what, uint32_t size, const struct line *lines, size_t cnt)
{
	uint32_t code[CODE_MAX] = {};
	unsigned wrong = 0;

	for (size_t i = 0; i < cnt; i++)
		code[FIRST + i] = lines[i].insn;
	for (size_t i = 0; i < cnt; i++) {
		enum java_frame got = java_arm64__frame((const uint8_t *)(code + i), size);

		if (got != lines[i].frame) {
			wrong++;
			diag("%s: instruction %zu: %d instead of %d", what, i, got, lines[i].frame);
		}
	}
	ok(!wrong, "%s frame: known at each of %zu instructions", what, cnt);
}

static void test_returns(void)
{
	static const struct {
		uint32_t code[3];
		bool is_return;
		const char *what;
	} returns[] = {
		{ { 0xf85f03b4, 0xf81f03bf, 0xf85b83b6 }, true, "into the interpreter, to JDK 21" },
		{ { 0xf85f03a8, 0x8b080fb4, 0xf81f03bf },
		  true,
		  "into the interpreter, from JDK 22 on" },
		{ { 0xf85f03b4, 0xf85b83b6, 0xd503201f },
		  false,
		  "an expression's stack is only read" },
		{ { 0xb940011f, 0xd503201f, 0xd503201f }, true, "to a poll of a safepoint" },
		{ { 0xb9400120, 0xd503201f, 0xd503201f }, false, "to another load" },
	};

	for (size_t i = 0; i < sizeof(returns) / sizeof(*returns); i++)
		ok(java_arm64__is_return((const uint8_t *)returns[i].code) == returns[i].is_return,
		   "%s: %s", returns[i].what, returns[i].is_return ? "returns there" : "no return");
	ok(java_arm64__is_bare_return((const uint8_t *)&small[17].insn) &&
		   !java_arm64__is_bare_return((const uint8_t *)&small[16].insn),
	   "the return itself");
}

int main(void)
{
	test_frame("a small", 64, small, sizeof(small) / sizeof(*small));
	test_frame("a large", 560, large, sizeof(large) / sizeof(*large));
	test_frame("a huge", 8208, huge, sizeof(huge) / sizeof(*huge));
	test_returns();
	return tap__done();
}
