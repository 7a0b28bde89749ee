/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes records. The kernel writes them, but the file names in them may come from any user. */
#include "uprobes/mmaps.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"
#include "files/proc.h"

#define DELETED	     " (deleted)"
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

struct wire_map {
	struct perf_event_header hdr;
	uint32_t pid, tid;
	uint64_t start, len, file_offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char path[];
};

struct wire_comm {
	struct perf_event_header hdr;
	uint32_t pid, tid;
};

struct wire_task {
	struct perf_event_header hdr;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct wire_lost {
	struct perf_event_header hdr;
	uint64_t id, cnt;
};

/* Mappings without a file have names like "//anon" or "[vdso]". */
static bool take_path(const char *from, size_t len, char path[PATH_MAX])
{
	size_t cut = strlen(DELETED);

	len = strnlen(from, len);
	if (len < 2 || len >= PATH_MAX || from[0] != '/' || from[1] == '/')
		return false;
	memcpy(path, from, len);
	path[len] = 0;
	if (len > cut && !strcmp(path + len - cut, DELETED))
		path[len - cut] = 0;
	return true;
}

static bool decode_map(const void *data, size_t len, struct mmaps_record *ret)
{
	struct wire_map wire;

	memcpy(&wire, data, sizeof(wire));
	if (wire.hdr.misc & PERF_RECORD_MISC_MMAP_BUILD_ID || !wire.inode ||
	    !take_path((const char *)data + sizeof(wire), len - sizeof(wire), ret->path))
		return false;
	ret->pid = (pid_t)wire.pid;
	ret->map = (struct mmaps_map){ .pid = ret->pid,
				       .start = wire.start,
				       .len = wire.len,
				       .file_offset = wire.file_offset,
				       .dev = makedev(wire.major, wire.minor),
				       .inode = wire.inode,
				       .generation = wire.generation,
				       .path = ret->path };
	return true;
}

static bool decode_exec(const void *data, size_t len, struct mmaps_record *ret)
{
	struct wire_comm wire;

	memcpy(&wire, data, sizeof(wire));
	ret->pid = (pid_t)wire.pid;
	return wire.hdr.misc & PERF_RECORD_MISC_COMM_EXEC;
}

static bool decode_task(const void *data, size_t len, struct mmaps_record *ret)
{
	struct wire_task wire;

	memcpy(&wire, data, sizeof(wire));
	ret->pid = (pid_t)wire.pid;
	ret->tid = (pid_t)wire.tid;
	ret->parent = (pid_t)wire.ppid;
	return ret->kind == MMAPS_EXIT || wire.pid != wire.ppid; /* otherwise a new thread */
}

static bool decode_lost(const void *data, size_t len, struct mmaps_record *ret)
{
	struct wire_lost wire;

	memcpy(&wire, data, sizeof(wire));
	ret->lost_cnt = wire.cnt;
	return true;
}

static const struct {
	uint32_t type;
	enum mmaps_kind kind;
	size_t size; /* minimum */
	bool (*decode)(const void *data, size_t len, struct mmaps_record *ret);
} rows[] = {
	{ PERF_RECORD_MMAP2, MMAPS_MAP, sizeof(struct wire_map), decode_map },
	{ PERF_RECORD_COMM, MMAPS_EXEC, sizeof(struct wire_comm), decode_exec },
	{ PERF_RECORD_FORK, MMAPS_FORK, sizeof(struct wire_task), decode_task },
	{ PERF_RECORD_EXIT, MMAPS_EXIT, sizeof(struct wire_task), decode_task },
	{ PERF_RECORD_LOST, MMAPS_LOST, sizeof(struct wire_lost), decode_lost },
};

bool mmaps_record__decode(const void *data, size_t len, struct mmaps_record *ret)
{
	struct perf_event_header hdr;

	if (len < sizeof(hdr) + MMAPS_TRAILER_SZ)
		return false;
	memcpy(&hdr, data, sizeof(hdr));
	if (hdr.size != len)
		return false;
	len -= MMAPS_TRAILER_SZ;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].type != hdr.type)
			continue;
		ret->kind = rows[i].kind;
		return len >= rows[i].size && rows[i].decode(data, len, ret) &&
		       (ret->kind == MMAPS_LOST || ret->pid > 0);
	}
	return false;
}

/*
 * --- scan of running processes; ignores those that end or exec meanwhile, which the rings report
 */

struct scan {
	const struct mmaps_ops *ops;
	pid_t pid;
};

static int take(void *ctx, const struct proc_maps_line *line)
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
