/* SPDX-License-Identifier: GPL-2.0 */
/* Out of memory: failed allocations are counted, a hash table stays whole, must.h ends. */
#include "base/alloc.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/must.h"
#include "model/first_turns.h"
#include "model/loss.h"
#include "tests/tap.h"
#include "tests/unit/failing_memory.h"

#define ENTRIES 2000

struct entry {
	int key;
	UT_hash_handle hh;
};

/* Adds an entry, with memory for that many allocations beside it. */
static struct entry *add(struct entry **table, int key, long allocations)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	entry->key = key;
	allocations_left = allocations;
	HASH_ADD_INT(*table, key, entry);
	allocations_left = -1;
	return entry;
}

static int found_cnt(struct entry *table)
{
	struct entry *entry;
	int ret = 0;

	for (int key = 0; key < ENTRIES; key++) {
		HASH_FIND_INT(table, &key, entry);
		ret += entry && entry->key == key;
	}
	return ret;
}

/* Each entry is first added without memory, which fails when the table is made or has to grow. */
static void test_hash(void)
{
	struct entry *table = NULL, *entry, *next;
	int refused = 0, added = 0;

	entry = add(&table, 0, 1);
	ok(!entry && !table, "a table without memory for its buckets is not made");
	for (int key = 0; key < ENTRIES; key++) {
		entry = add(&table, key, 0);
		refused += !entry;
		if (!entry)
			entry = add(&table, key, -1);
		added += !!entry;
	}
	ok(refused >= 2 && refused < 10, "%d entries find no memory", refused);
	ok(added == ENTRIES && HASH_COUNT(table) == ENTRIES, "and can be added afterwards");
	ok(found_cnt(table) == ENTRIES, "all are found");
	HASH_ITER (hh, table, entry, next) {
		HASH_DEL(table, entry);
		free(entry);
	}
	ok(!table, "and removed");
}

/* Each entry first finds memory for itself, and none for the table. */
static void test_first_turns(void)
{
	struct first_turns *turns = first_turns__new();
	struct jank_rec_started rec = { .end_ns = 7 };
	int refused = 0, added = 0;

	for (int pid = 1; pid <= 200; pid++) {
		rec.hdr.tgid = rec.hdr.tid = pid;
		allocations_left = 1;
		if (first_turns__add(turns, &rec)) {
			refused++;
			allocations_left = -1;
			first_turns__add(turns, &rec);
		}
		allocations_left = -1;
		added += first_turns__of(turns, pid, 0) == 7;
	}
	ok(refused && added == 200, "a first turn without memory is refused (%d)", refused);
	first_turns__free(turns);
}

static void test_count(void)
{
	struct losses losses = { .cnt = { [LOSS_NO_MEMORY] = 1 } };
	uint64_t before = alloc__failed_cnt(), own = alloc__own_cnt();

	allocations_left = 0;
	free(malloc(1));
	free(calloc(1, 1));
	free(realloc(NULL, 1));
	free(strdup("text"));
	allocations_left = -1;
	free(malloc(1));
	ok(alloc__failed_cnt() - before == 4 && alloc__own_cnt() - own == 4,
	   "each failed allocation is counted");
	losses__add_memory(&losses);
	ok(losses.cnt[LOSS_NO_MEMORY] == alloc__failed_cnt(), "as out_of_memory");
	losses.cnt[LOSS_NO_MEMORY] = 1000;
	losses__add_memory(&losses);
	ok(losses.cnt[LOSS_NO_MEMORY] == 1000, "not again if their callers counted");
}

static void use_must(void)
{
	size_t cap = 0;
	int *list = NULL;
	char *text;

	for (int i = 0; i < 1000; i++) {
		list = must__grow(list, i, &cap, sizeof(*list));
		list[i] = i;
	}
	ok(cap >= 1000 && cap < 2000 && list[999] == 999 && !list[0], "an array grows");
	free(list);
	free(must__realloc(must__malloc(0), 1));
	free(must__calloc(0, 1));
	text = must__strdup("text");
	is_str(text, "text", "what must succeed does, with memory");
	free(text);
}

/* Without memory, a child ends in the call. Returns its exit status; -1: it did not end so. */
static int status_without(int which)
{
	size_t cap = 0;
	int status;
	pid_t pid = fork();

	if (!pid) {
		close(STDERR_FILENO);
		allocations_left = 0;
		if (which == 0)
			must__malloc(1);
		else if (which == 1)
			must__calloc(1, 1);
		else if (which == 2)
			must__realloc(NULL, 1);
		else if (which == 3)
			must__strdup("text");
		else
			must__grow(NULL, 0, &cap, 1);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_must(void)
{
	use_must();
	for (int which = 0; which < 5; which++)
		is_int(status_without(which), JANK_EXIT_FAILED,
		       "without memory, function %d of must.h ends the process", which);
}

int main(void)
{
	test_hash();
	test_count();
	test_first_turns();
	test_must();
	return tap__done();
}
