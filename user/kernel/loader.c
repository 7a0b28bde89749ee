/* SPDX-License-Identifier: GPL-2.0 */
/* The skeleton's owner: which programs run with which features, and how each is attached. */
#include "kernel/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "jankbpf.skel.h"
#include "kernel/bpf_log.h"
#include "kernel/links.h"
#include "kernel/perf_event.h"
#include "kernel/syscalls.h"
#include "kernel/uprobes.h"

#define SPAN_MIN_NS	   (1 * NS_PER_MS)
#define SAMPLE_AGE_DIVISOR 10 /* of the threshold: the sampler leaves younger dispatches alone */
#define LINK_MAX	   64

struct loader {
	struct jankbpf *skel;
	struct loader_opts opts;
	enum wait_probe wait;
	bool infer_begin; /* see wait__turn in bpf/wait.bpf.h */
	struct bpf_link *links[LINK_MAX];
	unsigned link_cnt;
	struct perf_events *sampler;
	struct uprobes *uprobes;
	struct bpf_link *iter_link; /* of the one process, or of every task */
};

static enum wait_probe choose_wait_probe(const struct loader_opts *opts)
{
	if (opts->uprobe_waits)
		return WAIT_UPROBES;
	if (features__has(opts->features, FEATURE_SYSCALL_TRACEPOINTS))
		return WAIT_SYSCALL_TRACEPOINTS;
	if (features__has(opts->features, FEATURE_RAW_SYSCALLS))
		return WAIT_RAW_SYSCALLS;
	return WAIT_UPROBES;
}

/* Only x86-64 tells whether a system call is still under way (compat__in_syscall). */
static bool can_infer_begin(const struct loader *loader)
{
#ifdef __x86_64__
	return loader->wait != WAIT_UPROBES &&
	       features__has(loader->opts.features, FEATURE_TASK_PT_REGS);
#else
	return false;
#endif
}

static void set_conf(struct loader *loader)
{
	struct jank_conf *conf = (struct jank_conf *)&loader->skel->rodata->jank_conf;
	const struct loader_opts *opts = &loader->opts;

	conf->threshold_ns = opts->threshold_ns;
	conf->hang_ns = opts->hang_ns;
	conf->span_min_ns = SPAN_MIN_NS;
	conf->sample_age_ns = opts->threshold_ns / SAMPLE_AGE_DIVISOR;
	conf->tgid = opts->only_pid;
	conf->self_tgid = getpid();
	conf->debugging = opts->debugging;
	conf->infer_begin = loader->infer_begin;
	conf->task_pt_regs = features__has(opts->features, FEATURE_TASK_PT_REGS);
	conf->epoll_nr[0] = conf->epoll_nr[1] = conf->epoll_nr[2] = -1;
	conf->restart_nr = SYS_restart_syscall;
#ifdef SYS_epoll_wait
	conf->epoll_nr[0] = SYS_epoll_wait;
#endif
	conf->epoll_nr[1] = SYS_epoll_pwait;
#ifdef SYS_epoll_pwait2
	conf->epoll_nr[2] = SYS_epoll_pwait2;
#endif
	syscalls__classes(conf->syscall_class);
}

/* Programs and what must hold for each to be loaded. */
static void choose_programs(struct loader *loader)
{
	struct jankbpf *skel = loader->skel;
	const struct features *feats = loader->opts.features;
	bool tracepoints = loader->wait == WAIT_SYSCALL_TRACEPOINTS;
	bool looper = features__has(feats, FEATURE_UPROBE);
	const struct {
		struct bpf_program *prog;
		bool wanted;
	} rows[] = {
		{ skel->progs.jank_on_e_wait, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_wait, tracepoints },
		{ skel->progs.jank_on_e_pwait, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_pwait, tracepoints },
		{ skel->progs.jank_on_e_pwait2, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_pwait2, tracepoints },
		{ skel->progs.jank_on_sys_enter,
		  loader->wait == WAIT_RAW_SYSCALLS && !loader->infer_begin },
		{ skel->progs.jank_on_sys_exit, loader->wait == WAIT_RAW_SYSCALLS },
		{ skel->progs.jank_on_wait_begin, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_wait_end, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_looper, looper },
		{ skel->progs.jank_on_sample, loader->opts.frequency_hz > 0 },
		{ skel->progs.jank_on_task, features__has(feats, FEATURE_TASK_ITER) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bpf_program__set_autoload(rows[i].prog, rows[i].wanted);
}

static int load(struct loader *loader, struct err *err)
{
	int ret;

	ret = jankbpf__load(loader->skel);
	if (ret == -EPERM || ret == -EACCES)
		return err__set_exit(
			err, JANK_EXIT_CANNOT, -ret,
			"the kernel refused the probes (%s); run as root, and see `jankbpf "
			"doctor`",
			strerror(-ret));
	if (ret)
		return err__set_exit(
			err, JANK_EXIT_CANNOT, -ret,
			"cannot load the probes: %s; see `jankbpf doctor`, or run with "
			"-vv: %s",
			strerror(-ret), bpf_log__last());
	return 0;
}

int loader__new(const struct loader_opts *opts, struct loader **ret, struct err *err)
{
	struct loader *loader = calloc(1, sizeof(*loader));
	int res = -ENOMEM;

	if (!loader)
		goto out;
	loader->opts = *opts;
	loader->wait = choose_wait_probe(opts);
	loader->infer_begin = can_infer_begin(loader);
	if (loader->wait == WAIT_UPROBES && !features__has(opts->features, FEATURE_UPROBE)) {
		res = err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"no way to see waits: neither system-call tracepoints nor uprobes; "
			"see `jankbpf doctor`");
		goto fail;
	}
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	loader->skel = jankbpf__open();
	if (!loader->skel)
		goto out;
	set_conf(loader);
	choose_programs(loader);
	res = load(loader, err);
	if (res)
		goto fail;
	res = uprobes__new(&loader->uprobes);
	if (res)
		goto out;
	*ret = loader;
	return 0;
out:
	err__set(err, -res, "cannot prepare the probes: %s", strerror(-res));
fail:
	loader__free(loader);
	return res;
}

void loader__free(struct loader *loader)
{
	if (!loader)
		return;
	uprobes__free(loader->uprobes);
	perf_events__free(loader->sampler);
	bpf_link__destroy(loader->iter_link);
	links__destroy(loader->links, loader->link_cnt);
	jankbpf__destroy(loader->skel);
	free(loader);
}

static int attach_programs(struct loader *loader, struct err *err)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, loader->skel->obj)
	{
		enum bpf_prog_type type = bpf_program__type(prog);
		struct bpf_link *link;

		if (!bpf_program__autoload(prog) || prog == loader->skel->progs.jank_on_task ||
		    type == BPF_PROG_TYPE_PERF_EVENT || type == BPF_PROG_TYPE_KPROBE)
			continue;
		link = bpf_program__attach(prog);
		if (!link)
			return err__set_exit(err, JANK_EXIT_CANNOT, errno,
					     "cannot attach '%s': %s; see `jankbpf doctor`",
					     bpf_program__name(prog), strerror(errno));
		loader->links[loader->link_cnt++] = link;
	}
	return 0;
}

static int attach_iter(struct loader *loader, struct err *err)
{
	DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	union bpf_iter_link_info info = {};

	if (!bpf_program__autoload(loader->skel->progs.jank_on_task))
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
	return res ? res : attach_programs(loader, err);
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
	return ret;
}

int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err)
{
	const struct uprobe_programs progs = uprobe_programs(loader);
	__u32 tgid = pid, one = 1;

	if (!loader->opts.only_pid &&
	    bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_tgids), &tgid, &one, BPF_ANY))
		return err__set(err, errno, "cannot trace process %d: %s (at most %d at once)", pid,
				strerror(errno), JANK_TGID_MAX);
	return uprobes__attach(loader->uprobes, pid, &progs, ret_sites, err);
}

bool loader__lost_task(const struct loader *loader, pid_t pid)
{
	return uprobes__lost_task(loader->uprobes, pid);
}

int loader__renew_process(struct loader *loader, pid_t pid)
{
	return uprobes__renew(loader->uprobes, pid);
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
	struct jank_rec_thread recs[8];
	ssize_t len;
	int fd;

	if (!loader->iter_link)
		return -ENOTSUP;
	fd = bpf_iter_create(bpf_link__fd(loader->iter_link));
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

int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT])
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *values = calloc(cpus > 0 ? cpus : 1, sizeof(*values));

	if (!values || cpus <= 0) {
		free(values);
		return -ENOMEM;
	}
	for (__u32 reason = 0; reason < JANK_LOSS_CNT; reason++) {
		if (bpf_map_lookup_elem(bpf_map__fd(loader->skel->maps.jank_lost), &reason, values))
			continue;
		for (int i = 0; i < cpus; i++)
			cnt[reason] += values[i];
	}
	free(values);
	return 0;
}

void loader__each_program(const struct loader *loader,
			  void (*fn)(void *ctx, const char *name, int fd), void *ctx)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, loader->skel->obj)
	{
		if (bpf_program__autoload(prog))
			fn(ctx, bpf_program__name(prog), bpf_program__fd(prog));
	}
}

bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct bpf_program *prog;

	*ret_ns = *ret_runs = 0;
	bpf_object__for_each_program(prog, loader->skel->obj)
	{
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_program__autoload(prog) ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		*ret_ns += info.run_time_ns;
		*ret_runs += info.run_cnt;
	}
	return *ret_runs > 0;
}
