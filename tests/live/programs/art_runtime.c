// SPDX-License-Identifier: GPL-2.0
// A stand-in for libart.so: the lists of JIT code and DEX files that ART keeps for debuggers, with
// their locks (format of Android 11 and later, "Android2").
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "art_dex.h"
#include "art_lists.h"

struct descriptor __jit_debug_descriptor = {
	1, 0, 0, 0, "Android2", 0, sizeof(struct descriptor), sizeof(struct entry), 0, 0, {}
};
struct descriptor __dex_debug_descriptor = {
	1, 0, 0, 0, "Android2", 0, sizeof(struct descriptor), sizeof(struct entry), 0, 0, {}
};

static struct entry *unused;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#define BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)

static void *add(struct descriptor *list, const void *symfile, uint64_t size)
{
	struct entry *entry = unused;

	if (entry)
		unused = entry->next;
	else if ((entry = calloc(1, sizeof(*entry))))
		entry->lock = 1;
	if (!entry)
		abort();
	list->lock++;
	BARRIER();
	entry->symfile = symfile;
	entry->size = size;
	entry->timestamp = now();
	entry->prev = NULL;
	entry->next = list->first;
	if (list->first)
		list->first->prev = entry;
	BARRIER();
	entry->lock++;
	list->first = entry;
	list->timestamp = entry->timestamp;
	BARRIER();
	list->lock++;
	return entry;
}

static void remove_from(struct descriptor *list, void *of)
{
	struct entry *entry = of;

	list->lock++;
	BARRIER();
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		list->first = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
	entry->lock++;
	BARRIER();
	entry->symfile = NULL;
	entry->size = 0;
	entry->next = unused;
	unused = entry;
	list->timestamp = now();
	BARRIER();
	list->lock++;
}

void *art_add(const void *symfile, uint64_t size)
{
	return add(&__jit_debug_descriptor, symfile, size);
}

void art_remove(void *entry)
{
	remove_from(&__jit_debug_descriptor, entry);
}

void *art_add_dex(const void *dex, uint64_t size)
{
	return add(&__dex_debug_descriptor, dex, size);
}

void art_remove_dex(void *entry)
{
	remove_from(&__dex_debug_descriptor, entry);
}
