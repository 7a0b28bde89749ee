/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/groups.h"

#include <string.h>

void groups__init(struct groups *groups, size_t size, size_t max, void (*clear)(void *group))
{
	*groups = (struct groups){ .size = size, .max = max, .clear = clear };
}

void groups__drop(struct groups *groups, void *group)
{
	struct group_node *at = group;

	HASH_DEL(groups->first, at);
	if (groups->clear)
		groups->clear(group);
	free(group);
}

void groups__free(struct groups *groups)
{
	while (groups->first)
		groups__drop(groups, groups->first);
}

size_t groups__cnt(const struct groups *groups)
{
	return HASH_COUNT(groups->first);
}

bool groups__is_full(const struct groups *groups)
{
	return groups__cnt(groups) >= groups->max;
}

void *groups__find(const struct groups *groups, const void *key, size_t len)
{
	struct group_node *ret;

	HASH_FIND(hh, groups->first, key, len, ret);
	return ret;
}

void *groups__find_text(const struct groups *groups, const char *key)
{
	return groups__find(groups, key, strlen(key));
}

/* The key lies behind the group. */
static struct group_node *add(struct groups *groups, const void *key, size_t len)
{
	struct group_node *ret = calloc(1, groups->size + len + 1);
	char *copy = (char *)ret + groups->size;

	if (!ret)
		return NULL;
	memcpy(copy, key, len);
	HASH_ADD_KEYPTR(hh, groups->first, copy, len, ret);
	return ret;
}

void *groups__get_rest(struct groups *groups, const void *key, size_t len)
{
	return groups__find(groups, key, len) ?: add(groups, key, len);
}

void *groups__get_rest_text(struct groups *groups, const char *key)
{
	return groups__get_rest(groups, key, strlen(key));
}

void *groups__get(struct groups *groups, const void *key, size_t len)
{
	struct group_node *ret = groups__find(groups, key, len);

	return ret || groups__is_full(groups) ? ret : add(groups, key, len);
}

void *groups__get_text(struct groups *groups, const char *key)
{
	return groups__get(groups, key, strlen(key));
}
