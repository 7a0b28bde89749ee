/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded table of groups by key, in the order of their first use: blocks by loop, process, fault
 * or time. A group is the caller's struct, which begins with struct group_node. The table owns the
 * groups and copies of their keys. One thread at a time.
 */
#ifndef JANK_BASE_GROUPS_H
#define JANK_BASE_GROUPS_H

#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>

struct group_node {
	UT_hash_handle hh;
};

struct groups {
	size_t size;		    /* of the caller's struct */
	size_t max;		    /* groups, for groups__get */
	void (*clear)(void *group); /* frees what a group owns; NULL: it owns nothing */
	struct group_node *first;   /* the oldest; NULL: none */
};

/* Walks all groups from the oldest on; the one at hand must stay. */
#define GROUPS_EACH(groups, at)                                                                    \
	for ((at) = (void *)(groups)->first; (at); (at) = ((struct group_node *)(at))->hh.next)

/* The same; the one at hand may be dropped. next: a pointer of the caller. */
#define GROUPS_EACH_SAFE(groups, at, next)                                                         \
	for ((at) = (void *)(groups)->first;                                                       \
	     (at) && ((next) = ((struct group_node *)(at))->hh.next, true); (at) = (next))

/* size: of the caller's struct; clear and max: see above. It allocates nothing. */
void groups__init(struct groups *groups, size_t size, size_t max, void (*clear)(void *group));
void groups__free(struct groups *groups); /* drops all: the table is empty then */

size_t groups__cnt(const struct groups *groups);
bool groups__is_full(const struct groups *groups);

/* The group of a key of len bytes, or of a text. NULL: there is none. */
void *groups__find(const struct groups *groups, const void *key, size_t len);
void *groups__find_text(const struct groups *groups, const char *key);

/* The same; a missing one is made, all zero. NULL: out of memory, or the table is full. */
void *groups__get(struct groups *groups, const void *key, size_t len);
void *groups__get_text(struct groups *groups, const char *key);

/* The same beyond `max`: the group of the rest. NULL: out of memory. */
void *groups__get_rest(struct groups *groups, const void *key, size_t len);
void *groups__get_rest_text(struct groups *groups, const char *key);

void groups__drop(struct groups *groups, void *group); /* frees it */

/* The key, which the table owns; a NUL follows it. */
static inline const void *group__key(const void *group)
{
	return ((const struct group_node *)group)->hh.key;
}

#endif
