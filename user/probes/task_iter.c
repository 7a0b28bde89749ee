/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two ways to inspect each thread: an iterator of the kernel, or a walk over our own hash. */
#include "probes/task_iter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int task_iter__iterate(int link_fd, look_fn *fn, void *ctx)
{
	struct jank_rec_thread recs[8];
	int fd = bpf_iter_create(link_fd);
	ssize_t len;

	if (fd < 0)
		return -errno;
	/* Each read returns as many whole records as fit into the buffer. */
	while ((len = read(fd, recs, sizeof(recs))) != 0) {
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (len < 0)
			break;
		for (size_t i = 0; i < (size_t)len / sizeof(recs[0]); i++)
			fn(ctx, &recs[i]);
	}
	close(fd);
	return len < 0 ? -EIO : 0;
}

static int compare(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return (x > y) - (x < y);
}

/*
 * Lists the tids in the hash, sorted. When a key is deleted meanwhile, the walk starts again and
 * finds the others a second time; duplicates are removed.
 */
static size_t list_threads(int map_fd, __u32 tids[2 * JANK_THREAD_MAX])
{
	__u32 *last = NULL;
	size_t cnt = 0, unique = 0;

	while (cnt < 2 * JANK_THREAD_MAX && !bpf_map_get_next_key(map_fd, last, &tids[cnt]))
		last = &tids[cnt++];
	qsort(tids, cnt, sizeof(*tids), compare);
	for (size_t i = 0; i < cnt; i++)
		if (!unique || tids[i] != tids[unique - 1])
			tids[unique++] = tids[i];
	return unique;
}

/* Arguments of the program: a thread; in a process with parks also their kinds and the process. */
enum { ARG_TID, ARG_PARKS, ARG_TGID, ARG_CNT };

static int look_at(const struct task_iter_runs *runs, __u64 tid, void *room, look_fn *fn, void *ctx)
{
	__u64 args[ARG_CNT] = { [ARG_TID] = tid };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(args));
	__u32 zero = 0;

	if (bpf_prog_test_run_opts(runs->prog_fd, &run))
		return -errno;
	if (run.retval && !bpf_map_lookup_elem(runs->room_fd, &zero, room))
		fn(ctx, room);
	return 0;
}

static void meet_threads(const struct task_iter_runs *runs, __u32 tgid, __u32 parks)
{
	__u64 args[ARG_CNT] = { [ARG_PARKS] = parks, [ARG_TGID] = tgid };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(args));
	struct dirent *entry;
	char path[64];
	__u32 tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		args[ARG_TID] = strtoul(entry->d_name, NULL, 10);
		if (args[ARG_TID])
			bpf_prog_test_run_opts(runs->prog_fd, &run);
		/*
		 * The thread may have ended before the probes knew it. Its exit was missed then,
		 * and its tid may be reused.
		 */
		tid = args[ARG_TID];
		if (faccessat(dirfd(dir), entry->d_name, F_OK, 0))
			bpf_map_delete_elem(runs->threads_fd, &tid);
	}
	if (dir)
		closedir(dir);
}

/* No other probe sees workers that only park. */
static void meet_workers(const struct task_iter_runs *runs)
{
	__u32 tgid, *last = NULL;
	struct jank_parks parks;

	for (size_t i = 0; i < JANK_TGID_MAX; i++) {
		if (bpf_map_get_next_key(runs->parkers_fd, last, &tgid))
			return;
		last = &tgid;
		if (!bpf_map_lookup_elem(runs->parkers_fd, &tgid, &parks))
			meet_threads(runs, tgid, parks.kinds);
	}
}

int task_iter__run_each(const struct task_iter_runs *runs, look_fn *fn, void *ctx)
{
	__u32 *tids = calloc(2 * JANK_THREAD_MAX, sizeof(*tids));
	void *room = calloc(1, runs->room_sz);
	size_t cnt;
	int res = 0;

	if (!tids || !room) {
		res = -ENOMEM;
		goto out;
	}
	meet_workers(runs);
	cnt = list_threads(runs->threads_fd, tids);
	for (size_t i = 0; i < cnt && !res; i++)
		res = look_at(runs, tids[i], room, fn, ctx);
out:
	free(room);
	free(tids);
	return res;
}
