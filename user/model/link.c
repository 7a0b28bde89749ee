/* SPDX-License-Identifier: GPL-2.0 */
/* A link owns what it points to, but for names of system calls and strings in frames. */
#include "model/link.h"

#include <stdlib.h>
#include <string.h>

#include "model/sample.h"

static void free_one(struct link *link)
{
	free(link->task.cgroup);
	free(link->process);
	waited__free(link->waited);
	stack__free(&link->stack);
	stack__free(&link->wake_stack);
	tasks__free(link->preemptors, link->preemptor_cnt);
}

void links__free(struct link *links, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		free_one(&links[i]);
	free(links);
}

void links__cut(struct link **links, size_t *cnt, size_t keep)
{
	while (*cnt > keep)
		free_one(&(*links)[--*cnt]);
	if (*cnt)
		return;
	free(*links);
	*links = NULL;
}

size_t link__bytes(const struct link *link)
{
	return sizeof(*link) + (link->process ? strlen(link->process) + 1 : 0) +
	       waited__bytes(link->waited) + stack__bytes(&link->stack) +
	       stack__bytes(&link->wake_stack) + link->preemptor_cnt * sizeof(*link->preemptors);
}
