/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the processes to trace, and answers queries while the probes run. */
#include "probes/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "files/proc.h"
#include "jankbpf.skel.h"
#include "probes/bpf_fds.h"
#include "probes/loader_parts.h"
#include "uprobes/uprobes.h"

#define SWEEP_MAX 1024 /* ended processes dropped in one call */

int loader__admit(struct loader *loader, pid_t pid)
{
	__u32 tgid = pid, one = 1;

	if (loader->opts.only_pid)
		return 0;
	return bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_tgids), &tgid, &one, BPF_ANY)
		       ? -errno
		       : 0;
}

bool loader__admits(const struct loader *loader, pid_t pid)
{
	__u32 tgid = pid, one;

	if (loader->opts.only_pid)
		return pid == loader->opts.only_pid;
	return !bpf_map_lookup_elem(bpf_map__fd(loader->skel->maps.jank_tgids), &tgid, &one);
}

void loader__each_admitted(const struct loader *loader, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	int fd = bpf_map__fd(loader->skel->maps.jank_tgids);
	__u32 tgid, *last = NULL;

	/* When a key is deleted meanwhile, the walk starts again; this bounds it. */
	for (size_t i = 0; i < JANK_TGID_MAX && !bpf_map_get_next_key(fd, last, &tgid); i++) {
		fn(ctx, tgid);
		last = &tgid;
	}
}

void loader__sweep(struct loader *loader)
{
	int fd = bpf_map__fd(loader->skel->maps.jank_tgids);
	__u32 tgid, *last = NULL, ended[SWEEP_MAX];
	size_t cnt = 0;

	/* Delete afterwards: deleting the current key would restart the walk. */
	while (cnt < SWEEP_MAX && !bpf_map_get_next_key(fd, last, &tgid)) {
		if (!proc__exists(tgid))
			ended[cnt++] = tgid;
		last = &tgid;
	}
	while (cnt)
		bpf_map_delete_elem(fd, &ended[--cnt]);
}

int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err)
{
	const struct uprobe_programs progs = loader__uprobe_programs(loader);
	int res;

	if (ret_sites)
		*ret_sites = 0;
	if (loader__is_all(loader))
		return 0;
	res = loader__admit(loader, pid);
	if (res)
		return err__set(err, -res, "cannot trace process %d: %s (at most %d at once)", pid,
				strerror(-res), JANK_TGID_MAX);
	return uprobes__attach(loader->uprobes, pid, &progs, ret_sites, err);
}

void loader__update_poller(struct loader *loader, pid_t pid)
{
	__u32 tgid = pid;
	__u32 polls = loader->opts.catalogue && pollers__is_one(loader->opts.catalogue, pid);

	bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_pollers), &tgid, &polls, BPF_ANY);
}

static int duplicate(const struct bpf_map *map)
{
	return fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
}

int loader__park_maps(const struct loader *loader, struct park_bpf_fds *ret)
{
	ret->processes_fd = duplicate(loader->skel->maps.jank_parkers);
	ret->left_fd = duplicate(loader->skel->maps.jank_left);
	ret->places_fd = duplicate(loader->skel->maps.jank_parks);
	ret->change_fd = duplicate(loader->skel->maps.jank_park_gen);
	if (ret->processes_fd >= 0 && ret->left_fd >= 0 && ret->places_fd >= 0 &&
	    ret->change_fd >= 0)
		return 0;
	park_bpf_fds__close(ret);
	return -EMFILE;
}

int loader__copy_maps(const struct loader *loader, struct copy_bpf_fds *ret)
{
	ret->sizes_fd = duplicate(loader->skel->maps.jank_copy_szs);
	ret->deep_fd = duplicate(loader->skel->maps.jank_copy_deep);
	if (ret->sizes_fd >= 0 && ret->deep_fd >= 0)
		return 0;
	copy_bpf_fds__close(ret);
	return -EMFILE;
}

int loader__opening_maps(const struct loader *loader, struct opening_bpf_fds *ret)
{
	ret->openings_fd = duplicate(loader->skel->maps.jank_openings);
	ret->copies_fd = duplicate(loader->skel->maps.jank_copies);
	ret->execs_fd = duplicate(loader->skel->maps.jank_execs);
	if (ret->openings_fd >= 0 && ret->copies_fd >= 0 && ret->execs_fd >= 0)
		return 0;
	opening_bpf_fds__close(ret);
	return -EMFILE;
}

int loader__script_maps(const struct loader *loader, struct interp_bpf_fds *ret)
{
	ret->threads_fd = duplicate(loader->skel->maps.jank_scripts);
	ret->any_fd = duplicate(loader->skel->maps.jank_script_any);
	if (ret->threads_fd >= 0 && ret->any_fd >= 0)
		return 0;
	interp_bpf_fds__close(ret);
	return -EMFILE;
}

int loader__map_history(const struct loader *loader, struct history_buffers *ret)
{
	return history_buffers__open(ret, bpf_map__fd(loader->skel->maps.jank_history),
				     bpf_map__fd(loader->skel->maps.jank_hist_heads),
				     &loader->opts.history);
}

bool loader__lost_task(const struct loader *loader, pid_t pid)
{
	return uprobes__lost_task(loader->uprobes, pid);
}

int loader__renew_process(struct loader *loader, pid_t pid)
{
	return uprobes__renew(loader->uprobes, pid);
}

int loader__pause_marks(struct loader *loader, pid_t pid, bool pause)
{
	if (loader->files)
		return uprobe_files__pause(loader->files, pid, pause);
	return uprobes__pause(loader->uprobes, pid, pause);
}

bool loader__has_marks(const struct loader *loader)
{
	return !loader->files || uprobe_files__has_marks(loader->files);
}

void loader__drop_process(struct loader *loader, pid_t pid)
{
	__u32 tgid = pid;

	bpf_map_delete_elem(bpf_map__fd(loader->skel->maps.jank_tgids), &tgid);
	uprobes__detach(loader->uprobes, pid);
}

enum wait_probe loader__wait_probe(const struct loader *loader)
{
	return loader->wait;
}

int loader__ring_fd(const struct loader *loader)
{
	return bpf_map__fd(loader->skel->maps.jank_ring);
}

/*
 * --- inspection of each thread, in two ways: by an iterator of the kernel, or by a walk over our
 * own hash
 */

typedef void look_fn(void *ctx, const struct jank_rec_thread *rec);

/* Typed probes: one read of the task iterator. 0 or -errno. */
static int iterate(int link_fd, look_fn *fn, void *ctx)
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

/* Maps and program of a walk over our own hash. */
struct task_runs {
	int prog_fd;	/* runs once for each thread */
	int threads_fd; /* hash of threads, by tid */
	int parkers_fd; /* processes with other threads that become known by this inspection */
	int room_fd;	/* the program writes the record at the beginning of the value */
	__u32 room_sz;	/* bytes of that value */
};

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

static int look_at(const struct task_runs *runs, __u64 tid, void *room, look_fn *fn, void *ctx)
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

static void meet_threads(const struct task_runs *runs, __u32 tgid, __u32 parks)
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
static void meet_workers(const struct task_runs *runs)
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

/* Plain probes: one run of the program for each thread. 0 or -errno. */
static int run_each(const struct task_runs *runs, look_fn *fn, void *ctx)
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

int loader__each_thread(struct loader *loader,
			void (*fn)(void *ctx, const struct jank_rec_thread *rec), void *ctx)
{
	const struct jankbpf *skel = loader->skel;
	const struct bpf_program *prog = loader->rest ? loader->rest->progs.jank_on_task : NULL;
	const struct task_runs runs = {
		.prog_fd = prog ? bpf_program__fd(prog) : -1,
		.threads_fd = bpf_map__fd(skel->maps.jank_threads),
		.parkers_fd = bpf_map__fd(skel->maps.jank_parkers),
		.room_fd = bpf_map__fd(skel->maps.jank_look),
		.room_sz = bpf_map__value_size(skel->maps.jank_look),
	};

	if (loader->iter_link)
		return iterate(bpf_link__fd(loader->iter_link), fn, ctx);
	if (!prog || !bpf_program__autoload(prog))
		return -ENOTSUP;
	return run_each(&runs, fn, ctx);
}

void loader__set_threshold(struct loader *loader, uint64_t ns)
{
	__atomic_store_n(&loader->skel->bss->jank_threshold_ns, ns, __ATOMIC_RELAXED);
}

void loader__set_limit(struct loader *loader, uint32_t pid, uint64_t ns)
{
	bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_limits), &pid, &ns, BPF_ANY);
}

void loader__drop_limit(struct loader *loader, uint32_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(loader->skel->maps.jank_limits), &pid);
}

void loader__reduce(struct loader *loader, uint32_t what)
{
	__atomic_store_n(&loader->skel->bss->jank_reduced, what, __ATOMIC_RELAXED);
}

bool loader__meets_threads(const struct loader *loader)
{
	return loader->iter_link;
}

bool loader__vblanks(const struct loader *loader, uint32_t crtc, struct jank_vblanks *ret)
{
	return features__has(loader->opts.features, FEATURE_VBLANK) && crtc < JANK_CRTC_MAX &&
	       !bpf_map_lookup_elem(bpf_map__fd(loader->skel->maps.jank_vblanks), &crtc, ret);
}

void loader__each_share(const struct loader *loader,
			void (*fn)(void *ctx, uint32_t uid, const struct jank_share *share),
			void *ctx)
{
	bpf_counters__each_share(bpf_map__fd(loader->skel->maps.jank_shares), fn, ctx);
}

int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT])
{
	return bpf_counters__losses(bpf_map__fd(loader->skel->maps.jank_lost), cnt);
}

static void each_program(const struct jankbpf *skel,
			 void (*fn)(void *ctx, const char *name, int fd), void *ctx)
{
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, skel->obj) {
		if (bpf_program__autoload(prog))
			fn(ctx, bpf_program__name(prog), bpf_program__fd(prog));
	}
}

void loader__each_program(const struct loader *loader,
			  void (*fn)(void *ctx, const char *name, int fd), void *ctx)
{
	each_program(loader->skel, fn, ctx);
	if (loader->rest && loader->rest != loader->skel)
		each_program(loader->rest, fn, ctx);
}

static void add_skipped(void *ctx, const char *name, int fd)
{
	uint64_t *sum = ctx;

	(void)name;
	*sum += bpf_counters__skipped(fd);
}

uint64_t loader__skipped(const struct loader *loader)
{
	uint64_t sum = 0;

	loader__each_program(loader, add_skipped, &sum);
	return sum;
}

struct cost {
	uint64_t ns, runs;
};

static void add_cost(void *ctx, const char *name, int fd)
{
	struct cost *cost = ctx;

	(void)name;
	bpf_counters__add_cost(fd, &cost->ns, &cost->runs);
}

bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct cost cost = {};
	uint64_t empty_ns;

	loader__each_program(loader, add_cost, &cost);
	*ret_ns = cost.ns;
	*ret_runs = cost.runs;
	if (!cost.runs)
		return false;
	empty_ns = cost.runs * loader->empty_run_ns;
	*ret_ns -= empty_ns < *ret_ns ? empty_ns : *ret_ns;
	return true;
}
