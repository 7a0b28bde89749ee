/* SPDX-License-Identifier: GPL-2.0 */
#include "app/not_watched.h"

#include <stdio.h>

#include "base/log.h"
#include "kernel/procinfo.h"

#define LINES_MAX 10 /* on stderr */

struct completion {
	struct not_watched *nw;
	struct unwatched_list *list;
};

static void add(struct not_watched *nw, struct unwatched_list *list, struct unwatched *item,
		const char *name)
{
	snprintf(item->comm, sizeof(item->comm), "%s", name);
	if (unwatched__add(list, item))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}

/* Loops of that row are not reported, whatever the intake thread has seen of them. */
void not_watched__add_off(struct not_watched *nw, struct unwatched_list *list, uint32_t pid,
			  const char *name, const struct catalogue_row *row)
{
	struct unwatched item = { .reason = UNWATCHED_LOOP_OFF, .pid = pid };

	unwatched__drop(list, pid);
	snprintf(item.loop, sizeof(item.loop), "%s", row->name);
	add(nw, list, &item, name);
}

static void on_program(void *ctx, uint32_t pid, const struct catalogue_row *row)
{
	struct completion *completion = ctx;
	struct not_watched *nw = completion->nw;
	struct proc_info info;
	char state;

	if (row->is_off && !loop_choice__takes(nw->choice, row, 0) &&
	    !procinfo__read_stat(pid, &info, &state))
		not_watched__add_off(nw, completion->list, pid, info.comm, row);
}

/* The user asked for workers, and these cannot be watched. */
static void on_alike(void *ctx, uint32_t pid, uint32_t tid)
{
	struct unwatched item = { .reason = UNWATCHED_WORKERS, .pid = pid, .tid = tid };
	struct completion *completion = ctx;
	struct proc_info info;
	char state;

	if (!procinfo__read_stat(pid, &info, &state))
		add(completion->nw, completion->list, &item, info.comm);
}

void not_watched__complete(struct not_watched *nw, struct unwatched_list *list)
{
	struct completion completion = { nw, list };

	if (nw->workers)
		parks__each_alike(nw->parks, on_alike, &completion);
	whose__each_program(nw->whose, on_program, &completion);
}

static void tell_line(void *ctx, const char *line)
{
	(void)ctx;
	log__warn("not watched: %s", line);
}

void not_watched__tell(struct not_watched *nw, const struct unwatched_list *list)
{
	nw->told |= list->cnt > 0;
	if (unwatched__each_line(list, LINES_MAX, tell_line, NULL))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}
