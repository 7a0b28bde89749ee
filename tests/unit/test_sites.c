/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The choice of the instruction to probe: on hand-assembled functions with the shapes of libcs, and
 * with shapes that must not be probed. Real libcs: tests/unit/test_targets.c, tests/live/sites.t.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/hex.h"
#include "uprobes/sites.h"

#define PICKS 8
#define B     SITE_WAIT_BEGIN
#define E     SITE_WAIT_END

struct want {
	int kind, cost;
	unsigned offset;
};

static const struct {
	const char *what, *code;
	size_t cnt;
	struct want want[3];
} x86_waits[] = {
	{ "a branch before and a branch after",
	  "85c0 7409 b8e8000000 0f05 483d00f0ffff 7701 c3 c3",
	  2,
	  { { B, SITE_EMULATED, 2 }, { E, SITE_EMULATED, 17 } } },
	{ "endbr64 and two system calls",
	  "f30f1efa 85c0 740f b819010000 0f05 483d00f0ffff 7700 c3 90 "
	  "b819010000 0f05 483d00f0ffff 7700 c3",
	  3,
	  { { B, SITE_EMULATED, 6 }, { E, SITE_EMULATED, 21 }, { E, SITE_EMULATED, 38 } } },
	{ "the first argument is overwritten at once",
	  "31ff 55 b8e8000000 0f05 7700 c3",
	  2,
	  { { B, SITE_STEPPED, 0 }, { E, SITE_EMULATED, 10 } } },
	{ "other arguments are overwritten before a cheap place",
	  "31f6 55 b8e8000000 0f05 7700 c3",
	  2,
	  { { B, SITE_EMULATED, 2 }, { E, SITE_EMULATED, 10 } } },
	{ "an int argument is extended in place",
	  "4863ff 55 b8e8000000 0f05 7700 c3",
	  2,
	  { { B, SITE_EMULATED, 3 }, { E, SITE_EMULATED, 11 } } },
	{ "only movs before: the entry",
	  "4989ca b8b9010000 0f05 c3",
	  2,
	  { { B, SITE_STEPPED, 0 }, { E, SITE_STEPPED, 10 } } },
	{ "an instruction emulated everywhere is preferred to nop5",
	  "0f1f440000 55 b8e8000000 0f05 0f1f440000 c3",
	  2,
	  { { B, SITE_EMULATED, 5 }, { E, SITE_NOP5, 13 } } },
	{ "the result is overwritten: right after the system call",
	  "55 b8e8000000 0f05 89c7 31c0 eb00 c3",
	  2,
	  { { B, SITE_EMULATED, 0 }, { E, SITE_STEPPED, 8 } } },
	{ "glibc 2.41: a helper gets the number",
	  "4883ec10 4863ff 68e8000000 e800000000 4883c418 c3",
	  2,
	  { { B, SITE_EMULATED, 12 }, { E, SITE_STEPPED, 17 } } },
	{ "musl: the number is the helper's first argument",
	  "4156 bf19010000 4889ee 6a08 e800000000 59 5e 83f8da 7500 c3",
	  2,
	  { { B, SITE_EMULATED, 0 }, { E, SITE_EMULATED, 22 } } },
	{ "the number belongs to one call only",
	  "55 68e8000000 e800000000 7500 e800000000 7500 c3",
	  2,
	  { { B, SITE_EMULATED, 0 }, { E, SITE_EMULATED, 11 } } },
	{ "a helper's call does not count beside a system call",
	  "55 68e8000000 e800000000 b8e8000000 0f05 7500 c3",
	  2,
	  { { B, SITE_EMULATED, 0 }, { E, SITE_EMULATED, 18 } } },
	{ "a jump to the branch after: the instruction before it",
	  "55 b8e8000000 0f05 483d00f0ffff 7700 ebfc",
	  2,
	  { { B, SITE_EMULATED, 0 }, { E, SITE_STEPPED, 8 } } },
	{ "a loop returns to the cheap place: the entry",
	  "85c0 7400 b8e8000000 0f05 7500 ebf3",
	  2,
	  { { B, SITE_STEPPED, 0 }, { E, SITE_EMULATED, 11 } } },
	{ "a jump right after the system call", "55 b8e8000000 0f05 7700 ebfc", 0, { { 0 } } },
	{ "another system call (futex)", "55 b8ca000000 0f05 7700 c3", 0, { { 0 } } },
	{ "an unknown number", "55 89f8 0f05 7700 c3", 0, { { 0 } } },
	{ "a number that is overwritten", "55 b8e8000000 31c0 0f05 7700 c3", 0, { { 0 } } },
	{ "nothing after the system call", "55 b8e8000000 0f05", 0, { { 0 } } },
	{ "no byte can be probed", "f00fb117 f00fb117 b8e8000000 0f05", 0, { { 0 } } },
	{ "one of two system calls has no site",
	  "55 b8e8000000 0f05 7700 b8e8000000 0f05",
	  0,
	  { { 0 } } },
	{ "no system call", "55 e800000000 c3", 0, { { 0 } } },
	{ "no code", "", 0, { { 0 } } },
};

static void test_x86_waits(void)
{
	struct site_pick picks[PICKS];
	uint8_t code[128];

	for (size_t i = 0; i < sizeof(x86_waits) / sizeof(*x86_waits); i++) {
		const char *what = x86_waits[i].what;
		size_t len = hex(x86_waits[i].code, code, sizeof(code));
		size_t cnt = sites__wait(&insn_x86, code, len, picks, PICKS);

		if (!is_uint(cnt, x86_waits[i].cnt, "%s: sites", what))
			continue;
		for (size_t j = 0; j < cnt; j++) {
			is_int(picks[j].kind, x86_waits[i].want[j].kind, "%s: kind", what);
			is_int(picks[j].cost, x86_waits[i].want[j].cost, "%s: cost", what);
			is_uint(picks[j].offset, x86_waits[i].want[j].offset, "%s: place", what);
		}
	}
}

static void test_limits(void)
{
	uint8_t code[256], *at = code;
	struct site_pick picks[PICKS];

	for (int i = 0; i < 8; i++)
		at += hex("b8e8000000 0f05 7700", at, 16);
	is_uint(sites__wait(&insn_x86, code, 7 * 9, picks, PICKS), 8, "seven system calls fit");
	is_uint(sites__wait(&insn_x86, code, 8 * 9, picks, PICKS), 0, "eight are too many");
	is_uint(sites__wait(&insn_x86, code, 7 * 9, picks, 7), 0, "no partial list");
}

static void test_entry(void)
{
	struct site_pick pick;
	uint8_t code[64];
	size_t len = hex("f30f1efa 4889fb 55 31ff 90 c3", code, sizeof(code));

	is_uint(sites__entry(&insn_x86, code, len, &pick), 1, "a Looper has a site");
	ok(pick.kind == SITE_LOOPER && pick.cost == SITE_EMULATED && pick.offset == 7,
	   "after endbr64, where this is intact");
	len = hex("f30f1efa 31ff 55 c3", code, sizeof(code));
	is_uint(sites__entry(&insn_x86, code, len, &pick), 1, "without a cheap one");
	ok(pick.cost == SITE_STEPPED && pick.offset == 0, "it is the entry");
	len = hex("0f05", code, sizeof(code));
	is_uint(sites__entry(&insn_x86, code, len, &pick), 0, "never a system call");
}

static size_t words(const uint32_t *from, size_t cnt, uint8_t *to)
{
	for (size_t i = 0; i < cnt * 4; i++)
		to[i] = (uint8_t)(from[i / 4] >> (i % 4 * 8));
	return cnt * 4;
}

static const struct {
	const char *what, *code;
	unsigned args, offset;
	int cost; /* -1: no site */
} x86_marks[] = {
	{ "no argument: the first cheap one", "31ff 31f6 55 c3", 0, 4, SITE_EMULATED },
	{ "the first argument is overwritten", "31ff 55 c3", 1, 0, SITE_STEPPED },
	{ "another one is", "31f6 55 c3", 1, 2, SITE_EMULATED },
	{ "the second is", "31f6 55 c3", 3, 0, SITE_STEPPED },
	{ "the third, by a load", "488b5610 55 c3", 4, 0, SITE_STEPPED },
	{ "the fourth, as a shift's count", "b908000000 55 c3", 8, 0, SITE_STEPPED },
	{ "the fifth", "4531c0 55 c3", 16, 0, SITE_STEPPED },
	{ "the fifth, moved elsewhere", "4d89c4 55 c3", 31, 3, SITE_EMULATED },
	{ "overwritten after the cheap place", "55 31ff 31f6 c3", 3, 0, SITE_EMULATED },
	{ "a call before it", "e800000000 31c0 c3", 1, 0, SITE_EMULATED },
	{ "only what must not be probed", "0f05", 0, 0, -1 },
};

static void test_marks(void)
{
	static const uint32_t move[] = { 0xaa0003e1, 0xb4000040, 0xd65f03c0 }; /* mov x1,x0; cbz */
	struct site_pick pick;
	uint8_t code[64];

	for (size_t i = 0; i < sizeof(x86_marks) / sizeof(*x86_marks); i++) {
		size_t len = hex(x86_marks[i].code, code, sizeof(code));
		bool found = sites__mark(&insn_x86, code, len, x86_marks[i].args, &pick);

		is_int(found ? (int)pick.cost : -1, x86_marks[i].cost, "a mark, %s: cost",
		       x86_marks[i].what);
		if (found)
			ok(pick.kind == SITE_MARK && pick.offset == x86_marks[i].offset,
			   "%s: at %u", x86_marks[i].what, pick.offset);
	}
	is_uint(sites__mark(&insn_arm64, code, words(move, 3, code), 1, &pick), 1, "arm64: a mark");
	is_uint(pick.offset, 4, "arm64: the first argument is still intact");
	is_uint(sites__mark(&insn_arm64, code, words(move, 3, code), 3, &pick), 1,
		"arm64: another");
	is_uint(pick.offset, 0, "arm64: the second is not");
}

static void test_callees(void)
{
	uint8_t code[64];
	int64_t to[4];
	size_t len = hex("4531c0 e968ffffff", code, sizeof(code));

	is_uint(sites__callees(&insn_x86, code, len, to, 4), 1, "the target of a tail jump");
	is_int(to[0], -0x90, "a target before the function");
	len = hex("74fe eb00 e800000000 e810000000 ffe0", code, sizeof(code));
	is_uint(sites__callees(&insn_x86, code, len, to, 4), 1, "branches within it do not count");
	is_int(to[0], 14 + 0x10, "a call after the function");
	is_uint(sites__callees(&insn_x86, code, len, to, 0), 0, "no more than the caller's limit");
}

static void test_arm64(void)
{
	static const uint32_t direct[] = {
		0xd503245f, /* bti c */
		0x93407c42, /* sxtw x2,w2 */
		0x340000c5, /* cbz w5,… */
		0xd28002c8, /* mov x8,#22 */
		0xd4000001, /* svc #0 */
		0xb140041f, /* cmn x0,#4096 */
		0x54000048, /* b.hi */
		0xd65f03c0, /* ret */
		0xd65f03c0,
	};
	static const uint32_t helper[] = {
		0xa9bf7bfd, /* stp x29,x30,[sp,#-16]! */
		0x93407c00, /* sxtw x0,w0 */
		0xd28002c6, /* mov x6,#22 */
		0x94000100, /* bl */
		0xa8c17bfd, /* ldp x29,x30,[sp],#16 */
		0xd65f03c0, /* ret */
	};
	static const uint32_t jump[] = { 0xd2800004, 0x17ffffde };
	struct site_pick picks[PICKS];
	uint8_t code[64];
	int64_t to;

	is_uint(sites__wait(&insn_arm64, code, words(direct, 9, code), picks, PICKS), 2,
		"arm64, a system call: sites");
	ok(picks[0].offset == 8 && picks[0].cost == SITE_EMULATED, "it begins at cbz");
	ok(picks[1].offset == 24 && picks[1].cost == SITE_EMULATED, "and ends at b.hi");
	is_uint(sites__wait(&insn_arm64, code, words(helper, 6, code), picks, PICKS), 2,
		"arm64, a helper: sites");
	ok(picks[0].offset == 12 && picks[1].offset == 20, "it begins at bl and ends at ret");
	is_uint(sites__callees(&insn_arm64, code, words(jump, 2, code), &to, 1), 1,
		"arm64, a tail jump");
	is_int(to, 4 - 0x22 * 4, "and where it leads");
}

/* Any bytes: a site is within them, and never on a system call. */
static void test_garbage(void)
{
	const struct insn_arch *archs[] = { &insn_x86, &insn_arm64 };
	struct site_pick picks[PICKS];
	uint8_t code[600];
	bool sane = true;
	size_t found = 0;

	srand(1);
	for (int i = 0; i < 40000; i++) {
		size_t len = (size_t)rand() % 64, cnt;

		for (size_t j = 0; j < len; j++)
			code[j] = (uint8_t)(rand() >> 7);
		if (len > 20)
			hex("b8e8000000 0f05", code + rand() % (len - 8), 7);
		cnt = sites__wait(archs[i % 8 == 0], code, len, picks, PICKS);
		cnt += sites__entry(archs[i % 8 == 0], code, len, picks + cnt) && cnt < PICKS;
		for (size_t j = 0; j < cnt; j++)
			sane &= picks[j].offset < len &&
				!(code[picks[j].offset] == 0x0f && picks[j].offset + 1 < len &&
				  code[picks[j].offset + 1] == 0x05);
		found += cnt;
	}
	ok(sane, "arbitrary bytes: each site within them, none on a system call");
	ok(found > 1000, "(%zu sites were checked)", found);
}

int main(void)
{
	test_x86_waits();
	test_limits();
	test_entry();
	test_callees();
	test_marks();
	test_arm64();
	test_garbage();
	return tap__done();
}
