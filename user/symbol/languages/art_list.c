/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of debug information, which ART changes while they are read. See art.h. */
#include "symbol/languages/art.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "symbol/languages/target_memory.h"

#define TAG_BITS 8

bool art__read_fresh(struct art *art, uint64_t addr, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t part =
			len - done < TARGET_LARGE - ART_PAGE ? len - done : TARGET_LARGE - ART_PAGE;

		if (!art->reads_left)
			return false;
		art->reads_left--;
		if (!target_memory__read_large(art->reader->mem, addr + done, (char *)buf + done,
					       part))
			return false;
		done += part;
	}
	return true;
}

bool art__read(struct art *art, uint64_t addr, void *buf, size_t len)
{
	uint64_t off = addr % ART_PAGE;

	if (off + len > ART_PAGE)
		return art__read_fresh(art, addr, buf, len);
	if (art->page_at != addr - off) {
		art->page_at = 1;
		if (!art__read_fresh(art, addr - off, art->page, ART_PAGE))
			return false;
		art->page_at = addr - off;
	}
	memcpy(buf, art->page + off, len);
	return true;
}

static uint64_t number(const uint8_t *bytes, size_t size)
{
	uint64_t ret = 0;

	memcpy(&ret, bytes, size); /* little-endian, like all supported machines */
	return ret;
}

static uint64_t pointer(const struct art *art, const uint8_t *bytes)
{
	uint64_t ret = number(bytes, art->file->is64 ? 8 : 4);

	return art->file->tagged ? ret << TAG_BITS >> TAG_BITS : ret;
}

/* Offsets of an entry's members behind the three pointers. */
static size_t size_off(const struct art *art)
{
	return art->file->is64 ? 24 : art->file->wide ? 16 : 12;
}

static size_t entry_size(const struct art *art, enum art_version version)
{
	size_t end = size_off(art) + 8 + (version >= ART_ANDROID1 ? 8 : 0) +
		     (version == ART_ANDROID2 ? 4 : 0);
	size_t align = art->file->is64 || art->file->wide ? 8 : 4;

	return (end + align - 1) / align * align;
}

bool art_head__read(struct art *art, uint64_t descriptor, struct art_head *ret)
{
	static const char *const magics[] = { "Android1", "Android2" };
	size_t magic = art->file->is64 ? 24 : 16;
	uint8_t bytes[56] = {};

	*ret = (struct art_head){};
	if (!art__read_fresh(art, descriptor, bytes, magic + 32) || number(bytes, 4) != 1)
		return false;
	ret->first = pointer(art, bytes + (art->file->is64 ? 16 : 12));
	for (unsigned i = 0; i < 2; i++)
		if (!memcmp(bytes + magic, magics[i], 8))
			ret->version = ART_ANDROID1 + i;
	if (ret->version == ART_OLD)
		return true;
	ret->lock = number(bytes + magic + 20, 4);
	ret->ts_ns = number(bytes + magic + 24, 8);
	return number(bytes + magic + 16, 4) == entry_size(art, ret->version);
}

bool art_entry__read(struct art *art, enum art_version version, uint64_t at, bool fresh,
		     struct art_entry *ret)
{
	size_t word = art->file->is64 ? 8 : 4, off = size_off(art);
	uint8_t bytes[48] = {};

	*ret = (struct art_entry){ .at = at };
	if (!(fresh ? art__read_fresh : art__read)(art, at, bytes, entry_size(art, version)))
		return false;
	ret->next = pointer(art, bytes);
	ret->symfile = pointer(art, bytes + 2 * word);
	ret->size = number(bytes + off, 8);
	ret->ts_ns = version >= ART_ANDROID1 ? number(bytes + off + 8, 8) : 0;
	ret->lock = version == ART_ANDROID2 ? number(bytes + off + 16, 4) : 0;
	/* without the pointers to other entries; 0 is no key */
	ret->key = XXH64(bytes + 2 * word, entry_size(art, version) - 2 * word, at) | 1;
	return true;
}

bool art_entry__stands(struct art *art, const struct art_list *list, const struct art_head *head,
		       const struct art_entry *entry)
{
	struct art_entry now;
	struct art_head now_head;

	if (!art_entry__read(art, head->version, entry->at, true, &now) || now.key != entry->key)
		return false;
	return head->version != ART_ANDROID1 ||
	       (art_head__read(art, list->descriptor, &now_head) && now_head.lock == head->lock);
}

/* --- known entries */

/* The slot of a key, or a free one. */
static struct art_known *slot_of(const struct art_list *list, uint64_t key)
{
	size_t at = (key >> 1) % list->cap;

	while (list->known[at].key && list->known[at].key != key)
		at = (at + 1) % list->cap;
	return &list->known[at];
}

bool art_list__knows(const struct art_list *list, uint64_t key)
{
	return list->cap && slot_of(list, key)->key;
}

static bool grow(struct art_list *list)
{
	struct art_list larger = { .cap = list->cap ? 2 * list->cap : 128 };

	larger.known = calloc(larger.cap, sizeof(*larger.known));
	if (!larger.known)
		return false;
	for (size_t i = 0; i < list->cap; i++)
		if (list->known[i].key)
			*slot_of(&larger, list->known[i].key) = list->known[i];
	free(list->known);
	list->known = larger.known;
	list->cap = larger.cap;
	return true;
}

static bool add_known(struct art_list *list, const struct art_entry *entry)
{
	if (2 * (list->cnt + 1) > list->cap && !grow(list))
		return false;
	*slot_of(list, entry->key) = (struct art_known){ entry->key, entry->at };
	list->cnt++;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct art_known *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Keeps those of `all`, which are sorted by place, that are in memory as they were, beginning where
 * the last look ended. An entry that cannot be read now is kept.
 */
static void keep_listed(struct art *art, struct art_list *list, enum art_version version,
			const struct art_known *all, size_t cnt)
{
	struct art_entry now;
	size_t from = 0;

	while (from < cnt && all[from].at < list->swept)
		from++;
	list->swept = 0;
	memset(list->known, 0, list->cap * sizeof(*list->known));
	list->cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct art_known *each = &all[(from + i) % cnt];

		if (!art->reads_left && !list->swept)
			list->swept = each->at;
		if (art_entry__read(art, version, each->at, false, &now) && now.key != each->key)
			continue;
		*slot_of(list, each->key) = *each;
		list->cnt++;
	}
}

bool art_list__forget(struct art *art, struct art_list *list)
{
	size_t cnt = list->cnt, n = 0;
	struct art_known *all;
	struct art_head head;

	art->reads_left = ART_READS_FIRST;
	if (!list->full || list->full_cnt++ % ART_FULL_STACKS ||
	    !art_head__read(art, list->descriptor, &head))
		return false;
	all = malloc(cnt * sizeof(*all));
	if (!all)
		return false;
	for (size_t i = 0; i < list->cap; i++)
		if (list->known[i].key)
			all[n++] = list->known[i];
	qsort(all, n, sizeof(*all), by_place);
	art->page_at = 1;
	keep_listed(art, list, head.version, all, n);
	free(all);
	list->full = list->cnt == cnt;
	if (!list->full)
		list->full_cnt = 0;
	return list->cnt != cnt;
}

/* --- the walk */

/* Goes on at a later stack. */
static void interrupt(struct art_list *list, uint64_t at)
{
	list->resume = at;
	list->complete = false;
}

/* The list has ended, or the rest is known: unless it was changed on the way. */
static void finish(struct art *art, struct art_list *list, const struct art_head *head)
{
	struct art_head now;

	list->resume = 0;
	list->complete = art_head__read(art, list->descriptor, &now) && !(now.lock & 1) &&
			 now.lock == head->lock && now.first == head->first;
	list->head = *head;
}

/*
 * New entries are put in front, so a walk ends at the first known one; those of Android's zygote
 * follow after two entries without a file.
 */
void art_list__walk(struct art *art, struct art_list *list, art_take_fn take)
{
	bool was_complete = list->complete, jumped = false;
	struct art_entry entry;
	struct art_head head;
	uint64_t at;

	art->page_at = 1;
	list->current = false;
	if (!art_head__read(art, list->descriptor, &head) || head.lock & 1)
		return;
	list->lock = head.lock;
	list->current = !list->cnt;
	if (was_complete && head.version != ART_OLD && head.lock == list->head.lock &&
	    head.ts_ns == list->head.ts_ns && head.first == list->head.first) {
		list->current = true;
		return;
	}
	at = head.first;
	for (unsigned i = 0; at && i < ART_ENTRIES_MAX; i++) {
		if (!art_entry__read(art, head.version, at, false, &entry))
			return interrupt(list, at);
		if (entry.lock & 1) /* it may have another place soon */
			return interrupt(list, 0);
		if (art_list__knows(list, entry.key)) {
			list->current = true; /* what follows is older */
			if (was_complete)
				break;
			if (list->resume && !jumped) {
				at = list->resume;
				jumped = true;
				continue;
			}
		} else if (entry.symfile) {
			list->full |= list->cnt == ART_ENTRIES_MAX;
			if (list->full || !take(art, &head, &entry) || !add_known(list, &entry)) {
				/* of what is known, each is compared with the list before use */
				list->current |= list->full;
				return interrupt(list, at);
			}
		}
		at = entry.next;
	}
	list->current = true;
	finish(art, list, &head);
}
