/* SPDX-License-Identifier: GPL-2.0 */
/* The life of what a thread waited for. */
#include "model/waited.h"

#include <stdlib.h>
#include <string.h>

#define CONTENDED 2 /* FUTEX_LOCK_CONTENDED in glibc's lowlevellock.h */

/* uapi/linux/futex.h */
#define FUTEX_COMMAND  0x7f
#define FUTEX_WAIT     0
#define FUTEX_LOCK_PI  6
#define FUTEX_LOCK_PI2 13

bool waited__is_lock(const struct jank_rec_waited *raw)
{
	uint32_t op = raw->args[1] & FUTEX_COMMAND;

	if (!(raw->hdr.flags & JANK_WAITED_ARGS))
		return false;
	return op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 ||
	       (op == FUTEX_WAIT && (uint32_t)raw->args[2] == CONTENDED);
}

struct waited *waited__new(const struct jank_rec_waited *raw)
{
	struct waited *waited = calloc(1, sizeof(*waited));

	if (waited)
		waited->raw = *raw;
	return waited;
}

void waited__free(struct waited *waited)
{
	if (!waited)
		return;
	free(waited->target);
	free(waited->path);
	free(waited->device);
	free(waited->peer);
	free(waited->peer_task.cgroup);
	free(waited->owner.cgroup);
	free(waited);
}

static bool copy(char **ret, const char *str)
{
	*ret = str ? strdup(str) : NULL;
	return *ret || !str;
}

struct waited *waited__copy(const struct waited *from)
{
	struct waited *to = from ? waited__new(&from->raw) : NULL;

	if (!to)
		return NULL;
	to->peer_task = from->peer_task;
	to->owner = from->owner;
	to->peer_task.cgroup = to->owner.cgroup = NULL;
	if (copy(&to->target, from->target) && copy(&to->path, from->path) &&
	    copy(&to->device, from->device) && copy(&to->peer, from->peer) &&
	    copy(&to->peer_task.cgroup, from->peer_task.cgroup) &&
	    copy(&to->owner.cgroup, from->owner.cgroup))
		return to;
	waited__free(to);
	return NULL;
}

static size_t len(const char *str)
{
	return str ? strlen(str) + 1 : 0;
}

size_t waited__bytes(const struct waited *waited)
{
	if (!waited)
		return 0;
	return sizeof(*waited) + len(waited->target) + len(waited->path) + len(waited->device) +
	       len(waited->peer);
}
