/* SPDX-License-Identifier: GPL-2.0 */
/* The skeleton's owner: which programs run with which features, and how each is attached. */
#include "kernel/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "jankbpf.skel.h"
#include "jankbpf_plain.skel.h"
#include "kernel/bpf_log.h"
#include "kernel/calibrate.h"
#include "kernel/conf.h"
#include "kernel/counts.h"
#include "kernel/links.h"
#include "kernel/look.h"
#include "kernel/perf_event.h"
#include "kernel/pollers.h"
#include "kernel/uprobe_links.h"
#include "kernel/uprobes.h"

#define LINK_MAX 64

struct loader {
	struct jankbpf *skel;
	struct loader_opts opts;
	enum wait_probe wait;
	bool infer_begin;  /* see wait__turn in bpf/wait.bpf.h */
	bool compat_apart; /* 32-bit programs' waits have probes of their own, attached on demand */
	struct bpf_link *compat_links[2];
	struct bpf_link *links[LINK_MAX];
	unsigned link_cnt;
	struct perf_events *sampler;
	struct uprobes *uprobes;
	struct uprobe_files *files; /* -a */
	struct bpf_link *iter_link; /* of the one process, or of every task */
};

/* 32-bit programs' system calls have no tracepoints of their own (ARCH_TRACE_IGNORE_COMPAT_SYSCALLS). */
static enum wait_probe choose_wait_probe(const struct loader_opts *opts)
{
	if (opts->uprobe_waits)
		return WAIT_UPROBES;
	if (!opts->compat_waits && features__has(opts->features, FEATURE_SYSCALL_TRACEPOINTS))
		return WAIT_SYSCALL_TRACEPOINTS;
	if (features__has(opts->features, FEATURE_RAW_SYSCALLS))
		return WAIT_RAW_SYSCALLS;
	return WAIT_UPROBES;
}

static bool can_see_compat(const struct loader *loader)
{
	return loader->wait == WAIT_SYSCALL_TRACEPOINTS &&
	       features__has(loader->opts.features, FEATURE_RAW_SYSCALLS);
}

/* Only x86-64 tells whether a system call is still under way (compat__in_syscall). */
static bool can_infer_begin(const struct loader *loader)
{
#ifdef __x86_64__
	return loader->wait != WAIT_UPROBES;
#else
	return false;
#endif
}

/* The plain probes have the same programs and maps by name, so that one skeleton serves both. */
static struct jankbpf *open_skeleton(const struct loader_opts *opts)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .btf_custom_path = opts->btf_path);
	struct jankbpf *skel = calloc(1, sizeof(*skel));

	if (!skel || jankbpf__create_skeleton(skel))
		goto fail;
	if (!features__typed(opts->features))
		skel->skeleton->data = (void *)jankbpf_plain__elf_bytes(&skel->skeleton->data_sz);
	if (!bpf_object__open_skeleton(skel->skeleton, &open_opts))
		return skel;
fail:
	jankbpf__destroy(skel);
	return NULL;
}

/* Programs and what must hold for each to be loaded. */
static void choose_programs(struct loader *loader)
{
	struct jankbpf *skel = loader->skel;
	const struct features *feats = loader->opts.features;
	bool tracepoints = loader->wait == WAIT_SYSCALL_TRACEPOINTS;
	bool raw = loader->wait == WAIT_RAW_SYSCALLS || loader->compat_apart;
	bool looper = features__has(feats, FEATURE_UPROBE);
	bool marks = looper && loader->opts.catalogue;
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
		{ skel->progs.jank_on_e_poll, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_poll, tracepoints },
		{ skel->progs.jank_on_e_ppoll, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_ppoll, tracepoints },
		{ skel->progs.jank_on_e_select, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_select, tracepoints },
		{ skel->progs.jank_on_e_psel6, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_psel6, tracepoints },
		{ skel->progs.jank_on_e_uring, tracepoints && !loader->infer_begin },
		{ skel->progs.jank_on_x_uring, tracepoints },
		{ skel->progs.jank_on_mark, marks && features__has(feats, FEATURE_ATTACH_COOKIE) },
		{ skel->progs.jank_on_custom, marks },
		{ skel->progs.jank_on_sys_enter, raw && !loader->infer_begin },
		{ skel->progs.jank_on_sys_exit, raw },
		{ skel->progs.jank_on_wait_begin, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_wait_end, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_looper, looper },
		{ skel->progs.jank_on_sample, loader->opts.frequency_hz > 0 },
		{ skel->progs.jank_on_task, features__can_look(feats) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bpf_program__set_autoload(rows[i].prog, rows[i].wanted);
}

static bool is_all(const struct loader *loader)
{
	return loader->opts.filter && loader->opts.filter->all;
}

/* -a: one link for all sites of a file. By perf events each would take 100 ms to be detached. */
static void choose_multi(struct loader *loader)
{
	struct bpf_program *prog;

	if (!is_all(loader) || !uprobe_links__has_multi())
		return;
	bpf_object__for_each_program(prog, loader->skel->obj) if (bpf_program__type(prog) ==
								  BPF_PROG_TYPE_KPROBE)
		bpf_program__set_expected_attach_type(prog, UPROBE_LINKS_MULTI);
}

static int load(struct loader *loader, struct err *err)
{
	int ret;

	ret = jankbpf__load(loader->skel);
	if (bpf_log__has_refusal())
		return err__set_exit(err, JANK_EXIT_CANNOT, -ret,
				     "this kernel's verifier refuses the probes (%s); run with "
				     "-vv for its log, and report it: %s",
				     strerror(-ret), bpf_log__last());
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

static int fill_maps(const struct loader *loader, struct err *err)
{
	const struct conf_maps maps = {
		.globs_fd = bpf_map__fd(loader->skel->maps.jank_globs),
		.cgroups_fd = bpf_map__fd(loader->skel->maps.jank_cgroups),
		.marks_fd = bpf_map__fd(loader->skel->maps.jank_marks),
	};

	return conf__fill_maps(&maps, &loader->opts, err);
}

int loader__new(const struct loader_opts *opts, struct loader **ret, struct err *err)
{
	struct loader *loader = calloc(1, sizeof(*loader));
	struct calibration calibration;
	int res = -ENOMEM;

	if (!loader)
		goto out;
	loader->opts = *opts;
	loader->wait = choose_wait_probe(opts);
	loader->infer_begin = can_infer_begin(loader);
	loader->compat_apart = can_see_compat(loader);
	if (loader->wait == WAIT_UPROBES && !features__has(opts->features, FEATURE_UPROBE)) {
		res = err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"no way to see waits: neither system-call tracepoints nor uprobes; "
			"see `jankbpf doctor`");
		goto fail;
	}
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	res = calibrate__run(opts->btf_path, &calibration, err);
	if (res)
		goto fail;
	res = -ENOMEM;
	loader->skel = open_skeleton(opts);
	if (!loader->skel)
		goto out;
	conf__fill((struct jank_conf *)&loader->skel->rodata->jank_conf, opts, &calibration,
		   loader->infer_begin, loader->compat_apart);
	choose_programs(loader);
	choose_multi(loader);
	res = load(loader, err);
	if (!res)
		res = fill_maps(loader, err);
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

/* Not with the others: by loader__see_compat, or read. */
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

	bpf_object__for_each_program(prog, loader->skel->obj)
	{
		enum bpf_prog_type type = bpf_program__type(prog);
		struct bpf_link *link;

		if (!bpf_program__autoload(prog) || attached_apart(loader, prog) ||
		    type == BPF_PROG_TYPE_PERF_EVENT || type == BPF_PROG_TYPE_KPROBE)
			continue;
		link = bpf_program__attach(prog);
		/* A system call that the kernel does not have: epoll_pwait2 before 5.11. */
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
	if (!res && is_all(loader))
		res = attach_files(loader, err);
	return res;
}

int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err)
{
	const struct uprobe_programs progs = uprobe_programs(loader);
	__u32 tgid = pid, one = 1;

	if (is_all(loader)) {
		if (ret_sites)
			*ret_sites = 0;
		return 0;
	}
	if (!loader->opts.only_pid &&
	    bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_tgids), &tgid, &one, BPF_ANY))
		return err__set(err, errno, "cannot trace process %d: %s (at most %d at once)", pid,
				strerror(errno), JANK_TGID_MAX);
	return uprobes__attach(loader->uprobes, pid, &progs, ret_sites, err);
}

void loader__consider_poller(struct loader *loader, pid_t pid)
{
	__u32 tgid = pid, yes = 1;

	if (loader->opts.catalogue && pollers__is_one(loader->opts.catalogue, pid))
		bpf_map_update_elem(bpf_map__fd(loader->skel->maps.jank_pollers), &tgid, &yes,
				    BPF_EXIST);
}

static int duplicate(const struct bpf_map *map)
{
	return fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
}

int loader__park_maps(const struct loader *loader, struct park_maps *ret)
{
	ret->processes_fd = duplicate(loader->skel->maps.jank_parkers);
	ret->places_fd = duplicate(loader->skel->maps.jank_parks);
	ret->change_fd = duplicate(loader->skel->maps.jank_park_gen);
	if (ret->processes_fd >= 0 && ret->places_fd >= 0 && ret->change_fd >= 0)
		return 0;
	park_maps__close(ret);
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
	const struct look_runs runs = {
		.prog_fd = bpf_program__fd(skel->progs.jank_on_task),
		.threads_fd = bpf_map__fd(skel->maps.jank_threads),
		.parkers_fd = bpf_map__fd(skel->maps.jank_parkers),
		.room_fd = bpf_map__fd(skel->maps.jank_look),
		.room_sz = bpf_map__value_size(skel->maps.jank_look),
	};

	if (loader->iter_link)
		return look__iterate(bpf_link__fd(loader->iter_link), fn, ctx);
	if (!bpf_program__autoload(skel->progs.jank_on_task))
		return -ENOTSUP;
	return look__run_each(&runs, fn, ctx);
}

int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT])
{
	return counts__losses(bpf_map__fd(loader->skel->maps.jank_lost), cnt);
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
	return counts__cost(loader->skel->obj, ret_ns, ret_runs);
}
