/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For each user a binary heap by age, and lists by size with two classes for each power of two.
 */
#include "model/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/hash.h"

#define CLASS_CNT 130 /* two for each bit of a size, from 1 */

/* A user's; freed when it holds nothing. */
struct account {
	uint32_t uid;
	size_t bytes;
	struct holder **heap; /* [1]: the oldest */
	size_t heap_cnt, heap_cap;
	struct holder *classes[CLASS_CNT];
	UT_hash_handle hh;
};

struct budget {
	size_t max, bytes, waiting;
	struct account *accounts;
};

struct budget *budget__new(size_t max)
{
	struct budget *budget = calloc(1, sizeof(*budget));

	if (budget)
		budget->max = max;
	return budget;
}

static void drop_account(struct budget *budget, struct account *account)
{
	HASH_DEL(budget->accounts, account);
	free(account->heap);
	free(account);
}

void budget__free(struct budget *budget)
{
	struct account *account, *next;

	if (!budget)
		return;
	HASH_ITER (hh, budget->accounts, account, next)
		drop_account(budget, account);
	free(budget);
}

static unsigned class_of(size_t bytes)
{
	unsigned bit = 63 - __builtin_clzll(bytes);

	return 1 + 2 * bit + (bit && bytes >> (bit - 1) & 1);
}

static void set_class(struct account *account, struct holder *holder, unsigned size_class)
{
	if (holder->size_class == size_class)
		return;
	if (holder->size_class)
		DL_DELETE(account->classes[holder->size_class], holder);
	holder->size_class = size_class;
	if (size_class)
		DL_APPEND(account->classes[size_class], holder);
}

static void place(struct account *account, struct holder *holder, size_t at)
{
	account->heap[at] = holder;
	holder->heap_at = at;
}

/* Moves the holder up from the free place `at` to its heap position. */
static void rise(struct account *account, struct holder *holder, size_t at)
{
	for (; at > 1 && account->heap[at / 2]->since_ns > holder->since_ns; at /= 2)
		place(account, account->heap[at / 2], at);
	place(account, holder, at);
}

/* The same downwards; returns the position. */
static size_t sink(struct account *account, const struct holder *holder, size_t at)
{
	for (;;) {
		size_t child = 2 * at;

		if (child > account->heap_cnt)
			return at;
		if (child < account->heap_cnt &&
		    account->heap[child + 1]->since_ns < account->heap[child]->since_ns)
			child++;
		if (account->heap[child]->since_ns >= holder->since_ns)
			return at;
		place(account, account->heap[child], at);
		at = child;
	}
}

static int join(struct account *account, struct holder *holder)
{
	if (account->heap_cnt + 1 >= account->heap_cap) {
		size_t cap = account->heap_cap ? 2 * account->heap_cap : 64;
		struct holder **heap = realloc(account->heap, cap * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		account->heap = heap;
		account->heap_cap = cap;
	}
	rise(account, holder, ++account->heap_cnt);
	return 0;
}

static void leave(struct account *account, struct holder *holder)
{
	size_t at = holder->heap_at;
	struct holder *last;

	set_class(account, holder, 0);
	holder->heap_at = 0;
	last = account->heap[account->heap_cnt--];
	if (last != holder)
		rise(account, last, sink(account, last, at));
}

/* --- accounts */

static struct account *find(const struct budget *budget, uint32_t uid)
{
	struct account *account;

	HASH_FIND(hh, budget->accounts, &uid, sizeof(uid), account);
	return account;
}

/* NULL: out of memory. */
static struct account *account_of(struct budget *budget, struct holder *holder)
{
	struct account *account = find(budget, holder->uid);

	if (!account && HASH_COUNT(budget->accounts) >= BUDGET_USERS_MAX) {
		holder->uid = UID_UNKNOWN;
		account = find(budget, holder->uid);
	}
	if (account)
		return account;
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->uid = holder->uid;
	HASH_ADD(hh, budget->accounts, uid, sizeof(account->uid), account);
	return account;
}

static void release(struct budget *budget, struct holder *holder)
{
	struct account *account = holder->heap_at ? find(budget, holder->uid) : NULL;

	if (!account)
		return;
	leave(account, holder);
	budget->bytes -= holder->bytes;
	account->bytes -= holder->bytes;
	holder->bytes = 0;
	if (!account->heap_cnt)
		drop_account(budget, account);
}

static int take(struct budget *budget, struct holder *holder)
{
	struct account *account = account_of(budget, holder);
	int res = account ? join(account, holder) : -ENOMEM;

	if (res && account && !account->heap_cnt)
		drop_account(budget, account);
	return res;
}

int budget__set(struct budget *budget, struct holder *holder, size_t bytes, bool thinnable)
{
	struct account *account;

	if (!bytes) {
		release(budget, holder);
		return 0;
	}
	if (!holder->heap_at && take(budget, holder))
		return -ENOMEM;
	account = find(budget, holder->uid);
	budget->bytes += bytes - holder->bytes;
	account->bytes += bytes - holder->bytes;
	holder->bytes = bytes;
	set_class(account, holder, thinnable ? class_of(bytes) : 0);
	return 0;
}

void budget__set_waiting(struct budget *budget, size_t bytes)
{
	budget->waiting = bytes;
}

static struct holder *largest(const struct account *account)
{
	for (unsigned i = CLASS_CNT - 1; i; i--)
		if (account->classes[i])
			return account->classes[i];
	return NULL;
}

/* The user who holds most gives: whoever holds less than an equal part loses nothing. */
static const struct account *heaviest(const struct budget *budget)
{
	const struct account *account, *next, *ret = budget->accounts;

	HASH_ITER (hh, budget->accounts, account, next)
		if (account->bytes > ret->bytes)
			ret = account;
	return ret;
}

/*
 * A dispatch below the average is not thinned: the only one with many samples may be a small one
 * among thousands with a few large samples.
 */
enum budget_step budget__step(const struct budget *budget, struct holder **ret)
{
	const struct account *account;

	*ret = NULL;
	if (budget->bytes + budget->waiting <= budget->max || !budget->accounts)
		return BUDGET_FITS;
	account = heaviest(budget);
	*ret = largest(account);
	if (*ret && (*ret)->bytes >= account->bytes / account->heap_cnt)
		return BUDGET_THIN;
	*ret = account->heap[1];
	return BUDGET_DROP;
}

size_t budget__bytes(const struct budget *budget)
{
	return budget->bytes;
}
