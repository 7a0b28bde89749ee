/* SPDX-License-Identifier: GPL-2.0 */
/* A few, the oldest of which goes first. */
#include "procfs/mapped_paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define KEPT_CNT 16
#define KEPT_NS	 (60 * NS_PER_SEC)

struct kept {
	uint32_t pid; /* 0: none */
	struct file_number number;
	uint64_t until_ns;
	char *path;
};

static struct kept kept[KEPT_CNT];

static bool is_of(const struct kept *entry, uint32_t pid, const struct file_number *number)
{
	return entry->pid == pid && entry->number.inode == number->inode &&
	       entry->number.dev == number->dev;
}

/* Its own, or the one that was put first. */
static struct kept *place_of(uint32_t pid, const struct file_number *number)
{
	struct kept *ret = &kept[0];

	for (unsigned i = 0; i < KEPT_CNT; i++) {
		if (is_of(&kept[i], pid, number))
			return &kept[i];
		if (kept[i].until_ns < ret->until_ns)
			ret = &kept[i];
	}
	return ret;
}

void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns)
{
	struct kept *entry = place_of(pid, number);

	free(entry->path);
	*entry = (struct kept){ pid, *number, now_ns + KEPT_NS, strdup(path) };
}

const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns)
{
	for (unsigned i = 0; i < KEPT_CNT; i++)
		if (is_of(&kept[i], pid, number) && now_ns < kept[i].until_ns)
			return kept[i].path;
	return NULL;
}
