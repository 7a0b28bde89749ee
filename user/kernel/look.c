/* SPDX-License-Identifier: GPL-2.0 */
/* The two ways to look at each thread: an iterator of the kernel's, or a walk of our own hash. */
#include "kernel/look.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int look__iterate(int link_fd, look_fn *fn, void *ctx)
{
	struct jank_rec_thread recs[8];
	int fd = bpf_iter_create(link_fd);
	ssize_t len;

	if (fd < 0)
		return -errno;
	/* A sequence file returns whole records as long as they fit the buffer. */
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

/* The numbers in the hash, in order: where one is deleted meanwhile, the walk begins anew and finds the others again. */
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

static int look_at(const struct look_runs *runs, __u64 tid, void *room, look_fn *fn, void *ctx)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &tid, .ctx_size_in = sizeof(tid));
	__u32 zero = 0;

	if (bpf_prog_test_run_opts(runs->prog_fd, &run))
		return -errno;
	if (run.retval && !bpf_map_lookup_elem(runs->room_fd, &zero, room))
		fn(ctx, room);
	return 0;
}

int look__run_each(const struct look_runs *runs, look_fn *fn, void *ctx)
{
	__u32 *tids = calloc(2 * JANK_THREAD_MAX, sizeof(*tids));
	void *room = calloc(1, runs->room_sz);
	size_t cnt;
	int res = 0;

	if (!tids || !room) {
		res = -ENOMEM;
		goto out;
	}
	cnt = list_threads(runs->threads_fd, tids);
	for (size_t i = 0; i < cnt && !res; i++)
		res = look_at(runs, tids[i], room, fn, ctx);
out:
	free(room);
	free(tids);
	return res;
}
