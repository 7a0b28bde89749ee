/* SPDX-License-Identifier: GPL-2.0 */
/* A table by thread. */
#include "app/idle_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "model/sample.h"
#include "symbol/unwind.h"

#define THREAD_MAX 8192 /* the oldest make room */

struct place {
	uint32_t tid, pid;
	uint64_t *addresses;
	uint32_t cnt;
	UT_hash_handle hh;
};

struct idle_places {
	struct symbolizer *sym;
	struct place *places;
	struct unwound unwound;
};

struct idle_places *idle_places__new(struct symbolizer *sym)
{
	struct idle_places *ret = calloc(1, sizeof(*ret));

	if (ret)
		ret->sym = sym;
	return ret;
}

static void drop(struct idle_places *places, struct place *place)
{
	HASH_DEL(places->places, place);
	free(place->addresses);
	free(place);
}

void idle_places__free(struct idle_places *places)
{
	if (!places)
		return;
	while (places->places)
		drop(places, places->places);
	free(places);
}

static struct place *find(const struct idle_places *places, uint32_t tid)
{
	struct place *place;

	HASH_FIND(hh, places->places, &tid, sizeof(tid), place);
	return place;
}

static int keep(struct idle_places *places, const struct jank_rec *hdr)
{
	size_t size = places->unwound.cnt * sizeof(*places->unwound.addresses);
	struct place *place = find(places, hdr->tid);

	if (place)
		drop(places, place);
	else if (HASH_COUNT(places->places) >= THREAD_MAX)
		drop(places, places->places);
	place = calloc(1, sizeof(*place));
	if (place)
		place->addresses = malloc(size);
	if (!place || !place->addresses) {
		free(place);
		return -ENOMEM;
	}
	place->tid = hdr->tid;
	place->pid = hdr->tgid;
	place->cnt = places->unwound.cnt;
	memcpy(place->addresses, places->unwound.addresses, size);
	HASH_ADD(hh, places->places, tid, sizeof(place->tid), place);
	return 0;
}

int idle_places__note(struct idle_places *places, const struct wait_note *note)
{
	struct copy_event copy;
	int res;

	if (!note->copy)
		return 0;
	copy.rec = *note->copy;
	copy.bytes = (const uint8_t *)(note->copy + 1);
	res = symbolizer__unwind(places->sym, note->rec.hdr.tgid, &copy, &places->unwound);
	return res ? res : keep(places, &note->rec.hdr);
}

int idle_places__fill(const struct idle_places *places, struct block *block)
{
	const struct place *place = find(places, block->tid);

	if (!place || place->pid != block->pid)
		return 0;
	block->idle_place.user_cnt = place->cnt;
	return stack__set_addresses(&block->idle_place, place->addresses);
}

void idle_places__gone(struct idle_places *places, uint32_t pid)
{
	struct place *place, *next;

	HASH_ITER (hh, places->places, place, next)
		if (place->pid == pid)
			drop(places, place);
}
