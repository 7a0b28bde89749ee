/* SPDX-License-Identifier: GPL-2.0 */
/* One list; the probes know the code by its addresses. */
#include "session/left_alone.h"

#include <stdio.h>

#include "procfs/procinfo.h"

/* Its loops are off, by whatever they wait. */
static bool is_off(const struct left_alone *left, const struct catalogue_row *row)
{
	return left->choice && row && row->is_off && !(row->waits & left->choice->waits) &&
	       !loop_choice__takes(left->choice, row, 0);
}

static int keep(struct left_alone *left, const struct identity *process,
		const struct catalogue_row *row)
{
	struct unwatched item = { .reason = UNWATCHED_LOOP_OFF, .pid = process->pid };

	snprintf(item.comm, sizeof(item.comm), "%s", process->name);
	snprintf(item.loop, sizeof(item.loop), "%s", row->name);
	return unwatched__add(&left->list, &item);
}

int left_alone__consider(struct left_alone *left, const struct identity *process,
			 const struct catalogue_row *row)
{
	struct proc_info info = {};
	char state = 'Z';
	int res;

	if (procinfo__read_stat(process->pid, &info, &state) || state == 'Z')
		return 0; /* what was known of it stays */
	unwatched__drop(&left->list, process->pid);
	if (!is_off(left, row))
		return 0;
	res = keep(left, process, row);
	if (res)
		return res;
	return parks__leave_alone(left->parks, process->pid, info.code_start, info.code_end);
}

int left_alone__tell(const struct left_alone *left, struct unwatched_list *list)
{
	int res = 0;

	for (size_t i = 0; i < left->list.cnt && !res; i++) {
		unwatched__drop(list, left->list.items[i].pid);
		res = unwatched__add(list, &left->list.items[i]);
	}
	list->more_cnt += left->list.more_cnt;
	return res;
}

void left_alone__free(struct left_alone *left)
{
	unwatched__free(&left->list);
}
