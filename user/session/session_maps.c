/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the traced processes map, told to the sink thread in step with the copies of their stacks: each is walked over the
 * libraries that were there when it was taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/session_parts.h"

static void put(struct session *s, const struct item *item)
{
	if (!queue__put(s->queue, item)) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
		free(item->data);
	}
}

static bool wants(void *ctx, const char *name)
{
	return true;
}

static void on_map(void *ctx, const struct mmaps_map *map)
{
	struct session *s = ctx;
	size_t len = strlen(map->path) + 1;
	struct item item = { .kind = ITEM_MAP, .pid = map->pid };
	struct mapping *mapping;

	if (!session__traced(s, map->pid))
		return;
	mapping = malloc(sizeof(*mapping) + len);
	if (!mapping) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	*mapping = (struct mapping){ .start = map->start,
				     .end = map->start + map->len,
				     .offset = map->file_offset,
				     .dev = map->dev,
				     .inode = map->inode,
				     .t_ns = map->t_ns,
				     .path = memcpy(mapping + 1, map->path, len) };
	item.data = mapping;
	item.size = sizeof(*mapping) + len;
	put(s, &item);
}

/* Which are lost is not known: all are read again. */
static void on_lost(void *ctx, uint64_t cnt)
{
	struct session *s = ctx;
	const struct traced *traced;

	for (traced = s->traced; traced; traced = traced->hh.next)
		if (!traced->ended)
			put(s, &(struct item){ .kind = ITEM_MAP, .pid = traced->pid });
}

static void on_maps(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	session__maps_until(s, clock__mono_ns());
}

void session__open_maps(struct session *s)
{
	const struct mmaps_ops ops = {
		.wants = wants, .on_map = on_map, .on_lost = on_lost, .ctx = s, .lazy = true
	};
	struct err err = {};

	if (mmaps__new(&ops, &s->maps, &err))
		log__verbose("libraries that are loaded and unloaded within a block may have no "
			     "names: %s",
			     err.msg);
	else
		watch__add(s->watch, mmaps__fd(s->maps), on_maps, s, 0);
}

void session__maps_until(struct session *s, uint64_t t_ns)
{
	if (s->maps)
		mmaps__consume_until(s->maps, t_ns);
}
