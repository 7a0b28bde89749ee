/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink thread gets the mappings in order with the stack copies. Each copy is then unwound with
 * the libraries that were mapped when it was taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/session_parts.h"

static void put(struct mapping_events *events, struct item *item)
{
	if (!process_table__queue(events->processes, item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD))
		free(item->data);
}

static bool wants(void *ctx, const char *name)
{
	return true;
}

static void on_map(void *ctx, const struct mmaps_map *map)
{
	struct mapping_events *events = ctx;
	size_t len = strlen(map->path) + 1;
	struct item item = { .kind = ITEM_MAP, .pid = map->pid };
	struct mapping *mapping;

	if (!process_table__find(events->processes, map->pid))
		return;
	mapping = malloc(sizeof(*mapping) + len);
	if (!mapping) {
		losses__add(events->losses, LOSS_NO_MEMORY, 1);
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
	put(events, &item);
}

/* It is not known which mappings were lost: read all again. */
static void on_lost(void *ctx, uint64_t cnt)
{
	struct mapping_events *events = ctx;
	const struct process_entry *process;

	for (process = events->processes->entries; process; process = process->hh.next)
		if (!process->ended)
			put(events, &(struct item){ .kind = ITEM_MAP, .pid = process->pid });
}

static void on_readable(void *ctx, uint64_t arg)
{
	(void)arg;
	mapping_events__until(ctx, clock__mono_ns());
}

void mapping_events__open(struct mapping_events *events, struct event_loop *loop)
{
	const struct mmaps_ops ops = {
		.wants = wants, .on_map = on_map, .on_lost = on_lost, .ctx = events, .lazy = true
	};
	struct err err = {};

	if (mmaps__new(&ops, &events->mmaps, &err))
		log__verbose("libraries that are loaded and unloaded within a block may have no "
			     "names: %s",
			     err.msg);
	else
		event_loop__add(loop, mmaps__fd(events->mmaps), on_readable, events, 0);
}

void mapping_events__until(struct mapping_events *events, uint64_t t_ns)
{
	if (events->mmaps)
		mmaps__consume_until(events->mmaps, t_ns);
}

void mapping_events__close(struct mapping_events *events)
{
	mmaps__free(events->mmaps);
}
