/* SPDX-License-Identifier: GPL-2.0 */
/* One look at what a process maps, when it polls for the first time. */
#include "catalogue/pollers.h"

#include <stdio.h>

#include "procfs/maps_lines.h"

#define ROWS_MAX 16

static int polls(void *ctx, const struct maps_line *line)
{
	const struct catalogue *cat = ctx;
	const struct catalogue_file file = { .path = line->path };
	const struct catalogue_row *rows[ROWS_MAX];
	size_t cnt = catalogue__rows_of_file(cat, &file, rows, ROWS_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i]->waits & 1u << JANK_LOOP_POLL)
			return 1;
	return 0;
}

bool pollers__is_one(const struct catalogue *cat, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return maps_lines__each(path, polls, (void *)cat) == 1;
}
