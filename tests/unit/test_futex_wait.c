/* SPDX-License-Identifier: GPL-2.0 */
/* Owners of locks, by their words. */
#include "procfs/futex_wait.h"

#include <string.h>

#include "bpf/futex.h"
#include "tests/tap.h"

#define PRIVATE 128

struct lock_case {
	const char *name;
	uint32_t op, val;
	uint64_t address, timeout;
	struct lock_words words;
	bool is_lock;
	enum lock_kind kind;
	uint32_t owner;
	bool shared;
};

static const struct lock_case cases[] = {
	{ "a glibc mutex",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 0, 4711, 1, 0 } },
	  true,
	  LOCK_MUTEX,
	  4711,
	  false },
	{ "a recursive one, locked twice",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 2, 4711, 1, 1 } },
	  true,
	  LOCK_MUTEX,
	  4711,
	  false },
	{ "a shared one",
	  FUTEX_WAIT,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 0, 4711, 1, 128 } },
	  true,
	  LOCK_MUTEX,
	  4711,
	  true },
	{ "a robust one",
	  FUTEX_WAIT | PRIVATE,
	  0x80000000 | 4711,
	  0x1000,
	  0,
	  { .word = { 0x80000000 | 4711, 0, 4711, 1, 16 } },
	  true,
	  LOCK_MUTEX,
	  4711,
	  false },
	{ "of musl, with its owner in the word",
	  FUTEX_WAIT | PRIVATE,
	  0x80000000 | 4711,
	  0x1004,
	  0,
	  { .before = 1, .word = { 0x80000000 | 4711, 1 } },
	  true,
	  LOCK_MUTEX,
	  4711,
	  false },
	{ "a normal one of musl does not say it",
	  FUTEX_WAIT | PRIVATE,
	  0x80000010,
	  0x1004,
	  0,
	  { .before = 0, .word = { 0x80000010, 1 } } },
	{ "a PI mutex",
	  FUTEX_LOCK_PI | PRIVATE,
	  0,
	  0x1000,
	  0,
	  { .word = { 0x80000000 | 4711, 0, 4711, 1, 32 } },
	  true,
	  LOCK_PI_MUTEX,
	  4711,
	  false },
	{ "a wait with a timeout ends",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0x7000,
	  { .word = { 2, 0, 4711, 1, 0 } } },
	{ "a mutex that was just released",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 0, 0, 0, 0, 0 } } },
	{ "another lock with a 2: the arena of malloc",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 0, 1, 0, 0 } } },
	{ "stdio's lock: a pointer is no number of users",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 1, 4711, 0x7f2c, 0 } } },
	{ "a Rust mutex with data behind it",
	  FUTEX_WAIT | PRIVATE,
	  2,
	  0x1000,
	  0,
	  { .word = { 2, 0, 4711, 99999, 77 } } },
	{ "a reader of a rwlock that a writer has",
	  FUTEX_WAIT_BITSET | PRIVATE,
	  3,
	  0x1008,
	  0,
	  { .word = { 3, 0, 0, 0, 4711 }, .base = { 11, 0 } },
	  true,
	  LOCK_RWLOCK,
	  4711,
	  false },
	{ "a second writer",
	  FUTEX_WAIT_BITSET | PRIVATE,
	  3,
	  0x100c,
	  0,
	  { .word = { 3, 0, 0, 4711 }, .base = { 3, 1 } },
	  true,
	  LOCK_RWLOCK,
	  4711,
	  false },
	{ "a writer that waits for readers: nobody knows them",
	  FUTEX_WAIT_BITSET | PRIVATE,
	  2,
	  0x1008,
	  0,
	  { .word = { 2, 1, 0, 0, 0 }, .base = { 10, 0 } } },
	{ "a condition variable",
	  FUTEX_WAIT_BITSET | PRIVATE,
	  0,
	  0x1028,
	  0,
	  { .word = { 0, 0, 4711, 1, 0 } } },
	{ "refused: a futex on the own stack",
	  FUTEX_WAIT_BITSET | PRIVATE,
	  0,
	  0x7ff0010,
	  0,
	  { .word = { 0 } },
	  true,
	  LOCK_REFUSED,
	  0,
	  false },
};

static void test_words(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct lock_case *c = &cases[i];
		const struct blocked_call call = {
			.args = { c->address, c->op, c->val, c->timeout }, .sp = 0x7ff0000
		};
		struct futex_wait wait;
		bool is_lock = lock_words__read(&call, &c->words, &wait);

		ok(is_lock == c->is_lock, "%s", c->name);
		if (c->is_lock)
			ok(wait.kind == c->kind && wait.owner == c->owner &&
				   wait.shared == c->shared,
			   "its kind and owner");
	}
}

static void test_text(void)
{
	struct blocked_call call;

	ok(blocked_call__parse("202 0x55e0 0x80 0x2 0x0 0x0 0x7f01 0x7ffd10 0x7f0bcd\n", &call) &&
		   call.nr == 202 && call.args[0] == 0x55e0 && call.args[2] == 2 &&
		   call.sp == 0x7ffd10 && call.pc == 0x7f0bcd,
	   "a system call in /proc");
	ok(!blocked_call__parse("running\n", &call), "a thread that runs");
	ok(!blocked_call__parse("-1 0x7ffd10 0x7f0bcd\n", &call), "outside of a call");
}

int main(void)
{
	test_words();
	test_text();
	return tap__done();
}
