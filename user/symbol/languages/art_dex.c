/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of interpreted methods: from the address of a bytecode to the DEX file, its class and
 * method. See art.h.
 *
 * A file is indexed when the first bytecode in it comes. Another one may be at its place by then,
 * or when a name is read: what was read counts only if the list still has the file afterwards, or
 * the file's signature is as before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "files/unread.h"
#include "symbol/languages/art.h"
#include "symbol/languages/frame_places.h"

#define ID_OFF	8 /* in the header */
#define READ_NS 20000

/* --- the list */

static struct art_dex *add_dex(struct art *art, enum art_version version,
			       const struct art_entry *entry)
{
	if (art->dex_cnt == art->dex_cap) {
		size_t cap = art->dex_cap ? 2 * art->dex_cap : 16;
		struct art_dex *dexes = reallocarray(art->dexes, cap, sizeof(*dexes));

		if (!dexes)
			return NULL;
		art->dexes = dexes;
		art->dex_cap = cap;
	}
	art->dexes[art->dex_cnt] = (struct art_dex){ .entry = *entry, .version = version };
	return &art->dexes[art->dex_cnt++];
}

static bool take_entry(struct art *art, const struct art_head *head, const struct art_entry *entry)
{
	if (entry->size > UINT32_MAX || entry->symfile > UINT64_MAX - entry->size)
		return true; /* no DEX file */
	return art_entry__stands(art, &art->dex_list, head, entry) &&
	       add_dex(art, head->version, entry);
}

/* Frees the files of entries that are no longer known. */
static void drop(struct art *art)
{
	size_t cnt = art->dex_cnt;

	art->dex_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		struct art_dex *dex = &art->dexes[i];

		if (!dex->entry.at || art_list__knows(&art->dex_list, dex->entry.key)) {
			art->dexes[art->dex_cnt++] = *dex;
			continue;
		}
		art->dex_bytes -= dex->dex.run_cnt * sizeof(*dex->dex.runs);
		dex__free(&dex->dex);
	}
}

/* Walks the list once for each stack. Returns false when known files may have been replaced. */
static bool update(struct art *art)
{
	bool first = !art->dex_walked;

	if (!art->dex_list.descriptor)
		return true;
	if (!first && art->dex_stack_ns == art->reader->at_ns)
		return art->dex_list.current;
	art->dex_walked = true;
	art->dex_stack_ns = art->reader->at_ns;
	if (art_list__forget(art, &art->dex_list))
		drop(art);
	art->reads_left = first ? ART_READS_FIRST : ART_READS;
	art_list__walk(art, &art->dex_list, take_entry);
	return art->dex_list.current;
}

/* --- the file */

/* An index that was not used for the longest time goes, but not this one. */
static void bound_indexes(struct art *art, const struct art_dex *keep)
{
	while (art->dex_bytes > ART_DEX_BYTES_MAX) {
		struct art_dex *oldest = NULL;

		for (size_t i = 0; i < art->dex_cnt; i++) {
			struct art_dex *each = &art->dexes[i];

			if (each->state == ART_DEX_READY && each != keep &&
			    (!oldest || each->used < oldest->used))
				oldest = each;
		}
		if (!oldest)
			return;
		art->dex_bytes -= oldest->dex.run_cnt * sizeof(*oldest->dex.runs);
		dex__free(&oldest->dex);
		oldest->state = ART_DEX_NEW;
	}
}

/* Reads the header's checksum and signature. Returns false when they are not there. */
static bool read_id(struct art *art, const struct art_dex *of, uint8_t *ret)
{
	struct dex_cursor cur = { .bytes = &art->windows,
				  .at = of->entry.symfile + ID_OFF,
				  .end = UINT64_MAX };

	art->windows.windows[0].len = art->windows.windows[1].len = 0; /* as it is now */
	for (unsigned i = 0; i < ART_DEX_ID; i += 4) {
		uint32_t word = dex_cursor__fixed(&cur, 4);

		memcpy(ret + i, &word, sizeof(word));
	}
	return !cur.bad;
}

static bool is_known(const struct art_dex *of)
{
	static const uint8_t none[ART_DEX_ID];

	return memcmp(of->id, none, sizeof(none));
}

static bool is_listed(struct art *art, const struct art_dex *of)
{
	struct art_entry now;

	art->reads_left++; /* make_ready has its own limit */
	return !of->entry.at || (art_entry__read(art, of->version, of->entry.at, true, &now) &&
				 now.key == of->entry.key);
}

static enum art_dex_state index_file(struct art *art, struct art_dex *of)
{
	uint8_t id[ART_DEX_ID];
	struct dex dex = {};
	enum art_dex_state ret = ART_DEX_READY;
	bool known = is_known(of);

	if (!known && !is_listed(art, of))
		return ART_DEX_GONE; /* another file may be there */
	art->windows_left = ART_DEX_WINDOWS;
	if (!art_source__open(art, of->entry.symfile, &of->source) ||
	    dex__open(&dex, &art->windows, of->entry.symfile) || dex__index(&dex, &art->windows) ||
	    !dex.run_cnt || !read_id(art, of, id) || !art->windows_left)
		ret = ART_DEX_BAD;
	of->source = art->source;
	art_source__close(art);
	if (known ? ret == ART_DEX_READY && memcmp(of->id, id, sizeof(id)) : !is_listed(art, of))
		ret = ART_DEX_GONE;
	if (ret == ART_DEX_BAD)
		unread__add(UNREAD_DEX, art->path);
	if (ret != ART_DEX_READY) {
		dex__free(&dex);
		return ret;
	}
	memcpy(of->id, id, sizeof(id));
	of->dex = dex;
	art->dex_bytes += dex.run_cnt * sizeof(*dex.runs);
	return ART_DEX_READY;
}

/* One file may take all of it. */
static bool has_time(struct art *art)
{
	const struct bucket_rate rate = { ART_DEX_NS_MAX, ART_DEX_NS_PER_S };

	return bucket__left(&art->dex_time, rate, clock__mono_ns()) >= ART_DEX_NS_MAX / 2;
}

/* The CPU time since begin_ns, and what the reads cost elsewhere. */
static void take_time(struct art *art, uint64_t begin_ns)
{
	bucket__take(&art->dex_time, clock__thread_ns() - begin_ns +
					     (ART_DEX_WINDOWS - art->windows_left) * READ_NS);
}

/* Returns false when the file has no index; reader->cut: it may have one later. */
static bool make_ready(struct art *art, struct art_dex *of)
{
	of->used = ++art->dex_tick;
	if (of->state == ART_DEX_NEW && !has_time(art)) {
		art->reader->cut = true;
		return false;
	}
	if (of->state == ART_DEX_NEW) {
		uint64_t begin_ns = clock__thread_ns();

		of->state = index_file(art, of);
		take_time(art, begin_ns);
		bound_indexes(art, of);
	}
	return of->state == ART_DEX_READY;
}

/* --- the method */

/* Data of several files of CompactDex may be behind all of them. */
static bool may_hold(const struct art_dex *of, uint64_t at)
{
	if (of->state == ART_DEX_READY)
		return at >= of->dex.base && at - of->dex.base < of->dex.size;
	return at >= of->entry.symfile && at - of->entry.symfile < of->entry.size;
}

static bool is_usable(const struct art_dex *of)
{
	return of->state == ART_DEX_NEW || of->state == ART_DEX_READY;
}

/* Whether the file was there at the stack's time, and no later one at its place. */
static bool was_there(const struct art *art, const struct art_dex *of)
{
	uint64_t t_ns = art->reader->at_ns;

	if (t_ns && of->entry.ts_ns > t_ns)
		return false;
	for (size_t i = 0; i < art->dex_cnt; i++) {
		const struct art_dex *each = &art->dexes[i];

		if (each != of && each->entry.symfile == of->entry.symfile &&
		    each->entry.ts_ns >= of->entry.ts_ns && (!t_ns || each->entry.ts_ns <= t_ns) &&
		    (each->entry.ts_ns != of->entry.ts_ns || each > of))
			return false;
	}
	return true;
}

/* Other bytes are at its place. */
static void retire(struct art *art, struct art_dex *of)
{
	art->dex_bytes -= of->dex.run_cnt * sizeof(*of->dex.runs);
	dex__free(&of->dex);
	of->state = ART_DEX_GONE;
}

/* The latest file that may have the bytecode; NULL: none. A changed list may have lost it. */
static struct art_dex *latest_of(struct art *art, uint64_t at)
{
	struct art_dex *ret = NULL;

	for (size_t i = 0; i < art->dex_cnt; i++) {
		struct art_dex *each = &art->dexes[i];

		if (!is_usable(each) || !may_hold(each, at))
			continue;
		if (each->listed != art->dex_list.lock && !is_listed(art, each)) {
			retire(art, each);
			continue;
		}
		each->listed = art->dex_list.lock;
		if (was_there(art, each) && (!ret || each->entry.ts_ns > ret->entry.ts_ns))
			ret = each;
	}
	return ret;
}

bool art_dex__stands(struct art *art, struct art_dex *dex)
{
	uint8_t id[ART_DEX_ID];

	if (!read_id(art, dex, id)) {
		art->reader->cut = true;
		return false;
	}
	if (!memcmp(id, dex->id, sizeof(id)))
		return true;
	retire(art, dex);
	return false;
}

/* Names of the method in the files that may have it. */
struct found {
	char name[DEX_NAME_MAX], file[DEX_FILE_MAX];
	uint32_t line;
	unsigned cnt; /* of different names */
};

/* Reads the name in one file. Nothing is found when it is not certain. */
static void find_in(struct art *art, struct art_dex *of, const struct native_frame *frame,
		    struct found *ret)
{
	struct found found = { .cnt = 1 };
	struct dex_method method;

	if (!make_ready(art, of))
		return;
	art->windows_left = ART_NAME_WINDOWS;
	if (art_source__open(art, of->entry.symfile, &of->source) &&
	    dex__find(&of->dex, &art->windows, frame->dex, &method)) {
		if (method.shared ||
		    !dex_method__name(&of->dex, &art->windows, &method, found.name))
			found.cnt = 2;
		dex_method__file(&of->dex, &art->windows, &method, found.file);
		if (!frame->dex_begins)
			found.line = dex_method__line(&of->dex, &art->windows, &method);
		if (art_dex__stands(art, of) && (ret->cnt != 1 || strcmp(ret->name, found.name))) {
			found.cnt += ret->cnt;
			*ret = found;
		}
	}
	art->reader->cut |= !art->windows_left;
	art_source__close(art);
}

static bool has_in_state(const struct art *art, uint64_t at, enum art_dex_state state)
{
	for (size_t i = 0; i < art->dex_cnt; i++)
		if (art->dexes[i].state == state && may_hold(&art->dexes[i], at))
			return true;
	return false;
}

/*
 * Finds a file that no list has: one of the mappings, with the other files of its container. What
 * was there before is not known, so that only later stacks get names.
 */
static bool find_unlisted(struct art *art, uint64_t at)
{
	uint64_t begin_ns = clock__thread_ns(), now_ns = clock__mono_ns(), header = 0;
	bool found = false;
	struct dex dex;

	if (has_in_state(art, at, ART_DEX_BAD))
		return false;
	if (!has_time(art)) {
		art->reader->cut = true;
		return false;
	}
	art->windows_left = ART_DEX_WINDOWS;
	if (art_source__open(art, at, NULL))
		header = art_source__header(art, at);
	for (unsigned i = 0; header && i < ART_DEX_CHAIN; i++) {
		struct art_entry entry = { .symfile = header, .ts_ns = now_ns };

		if (art->dex_cnt == ART_ENTRIES_MAX || dex__open(&dex, &art->windows, header))
			break;
		entry.size = dex.base + dex.size - header;
		found |= add_dex(art, ART_OLD, &entry) != NULL;
		header = dex.next;
	}
	art_source__close(art);
	take_time(art, begin_ns);
	return found;
}

/* The file of the stack's time that begins there. */
static struct art_dex *begins_at(struct art *art, uint64_t begin)
{
	for (size_t i = 0; i < art->dex_cnt; i++) {
		struct art_dex *each = &art->dexes[i];

		if (each->entry.symfile == begin && is_usable(each) && was_there(art, each) &&
		    is_listed(art, each))
			return each;
	}
	return NULL;
}

struct art_dex *art_dex__open(struct art *art, uint64_t begin)
{
	struct art_dex *ret;

	if (!update(art)) {
		art->reader->cut = true;
		return NULL;
	}
	ret = begins_at(art, begin);
	if (!ret || !make_ready(art, ret))
		return NULL;
	art->windows_left = ART_NAME_WINDOWS;
	return art_source__open(art, begin, &ret->source) ? ret : NULL;
}

static void count_unknown(struct art *art)
{
	if (!art->dex_unknown)
		unread__add(UNREAD_DEX, art->source.end ? art->path : "[no mapping]");
	art->dex_unknown = true;
}

static void name_place(struct art *art, const struct native_frame *frame, uint64_t key)
{
	static _Thread_local struct found found; /* too large for a stack */
	struct place_function function = { .interpreted = true };

	found = (struct found){};
	for (size_t i = 0; i < art->dex_cnt; i++)
		if (is_usable(&art->dexes[i]) && may_hold(&art->dexes[i], frame->dex) &&
		    was_there(art, &art->dexes[i]))
			find_in(art, &art->dexes[i], frame, &found);
	if (art->reader->cut)
		return;
	if (!found.cnt && has_in_state(art, frame->dex, ART_DEX_GONE))
		return; /* it went before it was read */
	if (!found.cnt)
		count_unknown(art);
	if (found.cnt == 1) {
		function.function = found.name;
		function.file = found.file[0] ? found.file : NULL;
		function.line = found.line;
	}
	frame_places__add(art->reader->places, key, &function, 1);
}

void art_dex__place(struct art *art, const struct native_frame *frame, uint64_t *ret_key)
{
	struct {
		uint64_t pc, begins, begin, ts_ns;
	} key = { .pc = frame->dex, .begins = frame->dex_begins };
	const struct art_dex *dex;

	if (!update(art)) {
		art->reader->cut = true;
		*ret_key = XXH64(&key, sizeof(key), 0);
		return;
	}
	dex = latest_of(art, frame->dex);
	key.begin = dex ? dex->entry.symfile : 0;
	key.ts_ns = dex ? dex->entry.ts_ns : 0;
	*ret_key = XXH64(&key, sizeof(key), 0);
	if (frame_places__find(art->reader->places, *ret_key))
		return;
	if (!dex && (find_unlisted(art, frame->dex) || has_in_state(art, frame->dex, ART_DEX_GONE)))
		art->reader->cut = true;
	else if (!dex && !art->reader->cut)
		count_unknown(art);
	else if (dex)
		name_place(art, frame, *ret_key);
}

size_t art_dex__bytes(const struct art *art)
{
	return art->dex_bytes + art->dex_cap * sizeof(*art->dexes) +
	       art->dex_list.cap * sizeof(*art->dex_list.known);
}

void art_dex__free(struct art *art)
{
	for (size_t i = 0; i < art->dex_cnt; i++)
		dex__free(&art->dexes[i].dex);
	free(art->dexes);
	free(art->dex_list.known);
}
