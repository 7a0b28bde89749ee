/* SPDX-License-Identifier: GPL-2.0 */
/* What runs already. A process that ends or execs meanwhile is no error: the rings tell of it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "procfs/maps_lines.h"
#include "uprobes/mmaps_record.h"

struct scan {
	const struct mmaps_ops *ops;
	pid_t pid;
};

static int take(void *ctx, const struct maps_line *line)
{
	const struct scan *scan = ctx;
	const struct mmaps_map map = { .pid = scan->pid,
				       .start = line->start,
				       .len = line->end - line->start,
				       .file_offset = line->offset,
				       .dev = line->dev,
				       .inode = line->inode,
				       .path = line->path };

	if (scan->ops->wants(scan->ops->ctx, text__base_name(line->path)))
		scan->ops->on_map(scan->ops->ctx, &map);
	return 0;
}

int mmaps__scan(const struct mmaps_ops *ops)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct scan scan = { .ops = ops, .pid = atoi(entry->d_name) };
		char path[64];

		if (scan.pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/maps", (int)scan.pid);
		maps_lines__each(path, take, &scan);
	}
	closedir(dir);
	return 0;
}
