/* SPDX-License-Identifier: GPL-2.0 */
/* On request: where the process of a block runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/text/text.h"

#define INDENT	  "   "
#define ID_SHOWN  12 /* digits of a container's id, as its own tools show it */
#define ID_DIGITS 64

static void put_part(struct text *t, const char *what, const char *name, bool *first)
{
	if (!name)
		return;
	text__putf(t, STYLE_NONE, "%s%s ", *first ? INDENT : " · ", what);
	text__put_cut(t, STYLE_BOLD, name, text__left(t));
	*first = false;
}

void text__add_who(struct text *t, const struct block *block)
{
	const char *id = block->container;
	char digits[ID_SHOWN + 1];
	bool first = true;

	if (id && strlen(id) == ID_DIGITS) {
		snprintf(digits, sizeof(digits), "%.*s", ID_SHOWN, id);
		id = digits;
	}
	put_part(t, "container", id, &first);
	put_part(t, "pod", block->pod, &first);
	put_part(t, "unit", block->unit, &first);
	if (!block->container && !block->unit)
		put_part(t, "cgroup", block->cgroup, &first);
	if (block->ns_pid && block->ns_pid != block->pid) {
		text__putf(t, STYLE_NONE, "%spid %" PRIu32 " in its namespace",
			   first ? INDENT : " · ", block->ns_pid);
		first = false;
	}
	if (!first)
		text__nl(t);
}
