/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owner of the skeleton: attaches its programs, and selects the processes to trace. */
#include "probes/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue.h"
#include "jankbpf.skel.h"
#include "probes/bpf_counters.h"
#include "probes/loader_parts.h"
#include "probes/perf_event.h"
#include "probes/task_iter.h"
#include "uprobes/links.h"
#include "uprobes/uprobes.h"

#define SWEEP_MAX 1024 /* ended processes dropped in one call */

static void drop_compat(struct loader *loader)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(loader->compat_links[i]);
		loader->compat_links[i] = NULL;
	}
}

void loader__free(struct loader *loader)
{
	if (!loader)
		return;
	uprobe_files__free(loader->files);
	uprobes__free(loader->uprobes);
	perf_events__free(loader->sampler);
	bpf_link__destroy(loader->iter_link);
	drop_compat(loader);
	links__destroy(loader->links, loader->link_cnt);
	jankbpf__destroy(loader->skel);
	free(loader);
}

/* Attached separately: by loader__see_compat, or as an iterator. */
static bool attached_apart(const struct loader *loader, const struct bpf_program *prog)
{
	const struct jankbpf *skel = loader->skel;

	if (prog == skel->progs.jank_on_sys_enter || prog == skel->progs.jank_on_sys_exit)
		return loader->compat_apart;
	return prog == skel->progs.jank_on_task;
}

static int attach_programs(struct loader *loader, struct err *err)
{
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, loader->skel->obj) {
		enum bpf_prog_type type = bpf_program__type(prog);
		struct bpf_link *link;

		if (!bpf_program__autoload(prog) || attached_apart(loader, prog) ||
		    type == BPF_PROG_TYPE_PERF_EVENT || type == BPF_PROG_TYPE_KPROBE)
			continue;
		link = bpf_program__attach(prog);
		/* The kernel lacks this system call: epoll_pwait2 before 5.11. */
		if (!link && errno == ENOENT && type == BPF_PROG_TYPE_TRACEPOINT)
			continue;
		if (!link)
			return err__set_exit(err, JANK_EXIT_CANNOT, errno,
					     "cannot attach '%s': %s; see `jankbpf doctor`",
					     bpf_program__name(prog), strerror(errno));
		loader->links[loader->link_cnt++] = link;
	}
	return 0;
}

int loader__see_compat(struct loader *loader, bool see)
{
	const struct bpf_program *progs[] = { loader->skel->progs.jank_on_sys_enter,
					      loader->skel->progs.jank_on_sys_exit };

	if (!loader->compat_apart)
		return -ENOTSUP;
	if (!see)
		drop_compat(loader);
	for (int i = 0; i < 2 && see; i++) {
		if (loader->compat_links[i] || !bpf_program__autoload(progs[i]))
			continue;
		loader->compat_links[i] = bpf_program__attach(progs[i]);
		if (!loader->compat_links[i])
			return -errno;
	}
	return 0;
}

static int attach_iter(struct loader *loader, struct err *err)
{
	DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	union bpf_iter_link_info info = {};

	if (!features__typed(loader->opts.features))
		return 0;
	if (loader->opts.only_pid && features__has(loader->opts.features, FEATURE_TASK_ITER_PID)) {
		info.task.pid = loader->opts.only_pid;
		opts.link_info = &info;
		opts.link_info_len = sizeof(info);
	}
	loader->iter_link = bpf_program__attach_iter(loader->skel->progs.jank_on_task, &opts);
	if (!loader->iter_link)
		return err__set_exit(err, JANK_EXIT_CANNOT, errno,
				     "cannot attach the task iterator: %s; see `jankbpf doctor`",
				     strerror(errno));
	return 0;
}

static struct uprobe_programs uprobe_programs(const struct loader *loader)
{
	struct jankbpf *skel = loader->skel;
	struct uprobe_programs ret = {};

	if (loader->wait == WAIT_UPROBES) {
		ret.wait_begin = skel->progs.jank_on_wait_begin;
		ret.wait_end = skel->progs.jank_on_wait_end;
	}
	if (bpf_program__autoload(skel->progs.jank_on_looper))
		ret.looper = skel->progs.jank_on_looper;
	if (bpf_program__autoload(skel->progs.jank_on_mark))
		ret.mark = skel->progs.jank_on_mark;
	if (bpf_program__autoload(skel->progs.jank_on_custom))
		ret.custom = skel->progs.jank_on_custom;
	ret.catalogue = loader->opts.catalogue;
	ret.no_pausable = loader->opts.no_marks;
	return ret;
}

static int attach_files(struct loader *loader, struct err *err)
{
	const struct uprobe_programs progs = uprobe_programs(loader);

	return uprobe_files__new(&progs, &loader->files, err);
}

struct uprobe_files *loader__files(const struct loader *loader)
{
	return loader->files;
}

int loader__attach(struct loader *loader, struct err *err)
{
	int res;

	if (loader->opts.frequency_hz) {
		bool hw = features__has(loader->opts.features, FEATURE_HW_CYCLES);

		res = perf_events__new(loader->skel->progs.jank_on_sample,
				       loader->opts.frequency_hz, hw, &loader->sampler, err);
		if (res)
			return res;
	}
	res = attach_iter(loader, err);
	if (!res)
		res = attach_programs(loader, err);
	if (!res && loader__is_all(loader))
		res = attach_files(loader, err);
	return res;
}

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
		if (kill(tgid, 0) && errno == ESRCH)
			ended[cnt++] = tgid;
		last = &tgid;
	}
	while (cnt)
		bpf_map_delete_elem(fd, &ended[--cnt]);
}

int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err)
{
	const struct uprobe_programs progs = uprobe_programs(loader);
	int res;

	if (loader__is_all(loader)) {
		if (ret_sites)
			*ret_sites = 0;
		return 0;
	}
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
	ret->places_fd = duplicate(loader->skel->maps.jank_parks);
	ret->change_fd = duplicate(loader->skel->maps.jank_park_gen);
	if (ret->processes_fd >= 0 && ret->places_fd >= 0 && ret->change_fd >= 0)
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

int loader__script_maps(const struct loader *loader, struct interp_bpf_fds *ret)
{
	ret->threads_fd = duplicate(loader->skel->maps.jank_scripts);
	ret->any_fd = duplicate(loader->skel->maps.jank_script_any);
	if (ret->threads_fd >= 0 && ret->any_fd >= 0)
		return 0;
	interp_bpf_fds__close(ret);
	return -EMFILE;
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

const char *loader__sampler_clock(const struct loader *loader)
{
	return loader->sampler ? perf_events__clock(loader->sampler) : "none";
}

int loader__ring_fd(const struct loader *loader)
{
	return bpf_map__fd(loader->skel->maps.jank_ring);
}

int loader__each_thread(struct loader *loader,
			void (*fn)(void *ctx, const struct jank_rec_thread *rec), void *ctx)
{
	const struct jankbpf *skel = loader->skel;
	const struct task_iter_runs runs = {
		.prog_fd = bpf_program__fd(skel->progs.jank_on_task),
		.threads_fd = bpf_map__fd(skel->maps.jank_threads),
		.parkers_fd = bpf_map__fd(skel->maps.jank_parkers),
		.room_fd = bpf_map__fd(skel->maps.jank_look),
		.room_sz = bpf_map__value_size(skel->maps.jank_look),
	};

	if (loader->iter_link)
		return task_iter__iterate(bpf_link__fd(loader->iter_link), fn, ctx);
	if (!bpf_program__autoload(skel->progs.jank_on_task))
		return -ENOTSUP;
	return task_iter__run_each(&runs, fn, ctx);
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

int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT])
{
	return bpf_counters__losses(bpf_map__fd(loader->skel->maps.jank_lost), cnt);
}

void loader__each_program(const struct loader *loader,
			  void (*fn)(void *ctx, const char *name, int fd), void *ctx)
{
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, loader->skel->obj) {
		if (bpf_program__autoload(prog))
			fn(ctx, bpf_program__name(prog), bpf_program__fd(prog));
	}
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

bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs)
{
	return bpf_counters__cost(loader->skel->obj, ret_ns, ret_runs);
}
