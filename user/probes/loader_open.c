/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the programs by feature, opens the skeleton, configures it and loads it into the kernel.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/jank_abi.h"
#include "catalogue/syscalls.h"
#include "files/file.h"
#include "jankbpf.skel.h"
#include "jankbpf_plain.skel.h"
#include "probes/bpf_fds.h"
#include "probes/bpf_log.h"
#include "probes/calibration.h"
#include "probes/kernel_types.h"
#include "probes/loader.h"
#include "probes/loader_parts.h"
#include "uprobes/links.h"
#include "uprobes/uprobes.h"

/* --- configuration of the probes, from the options and the kernel's answers */

/* Maps to fill after load. A descriptor may be -1: the map does not exist. */
struct conf_maps {
	int globs_fd, marks_fd;
};

/* --- options and answers, in the form that the probes use */

#define SPAN_MIN_NS	   (1 * NS_PER_MS)
#define WATCH_DIVISOR	   10 /* part of the threshold: after such a wait, others are examined */
#define SAMPLE_AGE_DIVISOR 10 /* part of the threshold: the sampler ignores younger dispatches */

static void fill_filter(struct jank_conf *conf, const struct filter *filter)
{
	conf->all = filter->all;
	conf->main_thread = filter->main_thread;
	conf->loop_mask = filter->loops;
	conf->uid_cnt = filter->uid_cnt;
	conf->glob_cnt = filter->glob_cnt;
	conf->in_cgroups = filter->name_cnt > 0;
	memcpy(conf->uids, filter->uids, sizeof(conf->uids));
}

/*
 * CONFIG_HZ is at least 100. CPUs without a tick (nohz_full) still have one a second
 * (sched_tick_remote in kernel/sched/core.c).
 */
static uint64_t tick_ns(void)
{
	struct strbuf sb = STRBUF_INIT;
	bool tickless;

	tickless = !file__read("/sys/devices/system/cpu/nohz_full", 4096, &sb) && sb.len > 1 &&
		   strcmp(strbuf__str(&sb), "(null)\n") != 0;
	strbuf__free(&sb);
	return tickless ? 2 * NS_PER_SEC : 10 * NS_PER_MS;
}

/*
 * Pattern of a thread's name, or of its beginning if it ends with *: with the zero byte, or
 * without.
 */
static struct jank_comm_pattern comm_pattern(const char *glob)
{
	struct jank_comm_pattern ret = {};
	size_t len = strcspn(glob, "*");

	memcpy(ret.want, glob, len);
	memset(ret.mask, 0xff, glob[len] ? len : len + 1);
	return ret;
}

static void fill_ui_threads(struct jank_conf *conf, const struct catalogue *cat)
{
	size_t cnt = 0;

	for (size_t i = 0; i < catalogue__row_cnt(cat); i++) {
		const struct catalogue_functions *threads = &catalogue__row(cat, i)->threads;

		for (size_t j = 0; j < threads->cnt && cnt < JANK_UI_THREAD_MAX; j++)
			conf->ui_threads[cnt++] = comm_pattern(threads->globs[j]);
	}
}

static void fill_hang_limits(struct jank_conf *conf, const struct loader_opts *opts)
{
	for (size_t i = 0; i < JANK_HANG_LIMITS; i++)
		conf->hang_limit_ns[i] = opts->hang_limits ? opts->hang_limits[i]
					 : i		   ? UINT64_MAX
							   : opts->hang_ns;
}

/* infer_begin: see loop_wait__turn in bpf/loop_wait.bpf.h; compat_apart: struct jank_conf */
static void conf__fill(struct jank_conf *conf, const struct loader_opts *opts,
		       const struct calibration *calibration, bool infer_begin, bool compat_apart)
{
	conf->threshold_ns = opts->threshold_ns;
	conf->hang_ns = opts->hang_ns;
	fill_hang_limits(conf, opts);
	conf->span_min_ns = SPAN_MIN_NS;
	conf->sample_age_ns = opts->evidence_ns / SAMPLE_AGE_DIVISOR;
	conf->watch_ns = opts->frequency_hz ? opts->evidence_ns / WATCH_DIVISOR + 1 : 0;
	conf->copy_sz = opts->stack_sz;
	conf->startup_ns = opts->startup_ns;
	conf->tick_ns = tick_ns();
	conf->real_offset_ns = clock__real_offset_ns();
	conf->tgid = opts->only_pid;
	conf->self_tgid = getpid();
	conf->name_tgid = opts->name_pid;
	conf->debugging = opts->debugging;
	conf->adjustable = opts->adjustable;
	conf->history_cnt = opts->history.entry_cnt;
	conf->marks_hz = opts->marks_hz;
	conf->infer_begin = infer_begin;
	conf->compat_apart = compat_apart;
	conf->switch_state = features__has(opts->features, FEATURE_SWITCH_STATE);
	conf->thread_sz = calibration->thread_sz;
	conf->pid_level = calibration->pid_level;
	conf->pid_ns = calibration->pid_ns;
	conf->fair_class = calibration->fair_class;
	conf->user_ip_mask = calibration->user_ip_mask;
	syscalls__set(conf);
	if (opts->catalogue)
		fill_ui_threads(conf, opts->catalogue);
	if (opts->filter)
		fill_filter(conf, opts->filter);
}

static int put(int map_fd, __u32 index, const void *value, const char *what, struct err *err)
{
	if (!bpf_map_update_elem(map_fd, &index, value, BPF_ANY))
		return 0;
	return err__set(err, errno, "cannot pass %s to the probes: %s", what, strerror(errno));
}

static int conf__fill_maps(const struct conf_maps *maps, const struct loader_opts *opts,
			   struct err *err)
{
	const struct filter *filter = opts->filter;
	size_t mark_cnt = opts->catalogue ? catalogue__mark_cnt(opts->catalogue) : 0;
	int res = 0;

	for (__u32 i = 0; filter && i < filter->glob_cnt && !res; i++)
		res = put(maps->globs_fd, i, &filter->globs[i], "a process's name", err);
	for (__u32 i = 0; i < mark_cnt && !res; i++)
		res = put(maps->marks_fd, i, &catalogue__mark(opts->catalogue, i)->spec, "a mark",
			  err);
	return res;
}

/*
 * System calls of 32-bit programs have no single tracepoints (ARCH_TRACE_IGNORE_COMPAT_SYSCALLS).
 */
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

/* Only x86-64 shows whether a system call is still running (compat__in_syscall). */
static bool can_infer_begin(const struct loader *loader)
{
#ifdef __x86_64__
	return loader->wait != WAIT_UPROBES;
#else
	return false;
#endif
}

/*
 * Other probes of waits see polls, too, which need the rest. A file with types may be closed when
 * the rest is loaded.
 */
static bool can_part(const struct loader *loader)
{
	return loader->wait == WAIT_SYSCALL_TRACEPOINTS && !loader->opts.btf_path &&
	       features__has(loader->opts.features, FEATURE_TAIL_CALLS);
}

/* The plain probes have programs and maps of the same names, so one skeleton serves for both. */
static struct jankbpf *open_skeleton(const struct loader_opts *opts)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts,
		    .btf_custom_path = opts->btf_path ?: kernel_types__path(opts->types));
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

/*
 * The programs: the condition for loading each, and whether it is of the first part. Polls are of
 * the second one: jank_at_leave sees where such a wait begins.
 */
static void choose_programs(const struct loader *loader, struct jankbpf *skel, bool first)
{
	const struct features *feats = loader->opts.features;
	bool tracepoints = loader->wait == WAIT_SYSCALL_TRACEPOINTS;
	bool raw = loader->wait == WAIT_RAW_SYSCALLS || loader->compat_apart;
	bool looper = features__has(feats, FEATURE_UPROBE);
	bool marks = looper && loader->opts.catalogue;
	bool file_fault = features__has(feats, FEATURE_FILE_FAULT);
	bool tails = features__has(feats, FEATURE_TAIL_CALLS);
	bool begins = !loader->infer_begin;
	/* its event has the machine's numbers of processes */
	bool binder = features__has(feats, FEATURE_BINDER) && !loader->in_pid_ns;
	const struct {
		struct bpf_program *prog;
		bool first, wanted;
	} rows[] = {
		{ skel->progs.jank_on_switch, true, tails },
		{ skel->progs.jank_on_waking, true, true },
		{ skel->progs.jank_on_exit, true, true },
		{ skel->progs.jank_on_exec, true, true },
		{ skel->progs.jank_on_fork, true,
		  loader->opts.follow || (loader__is_all(loader) && loader->opts.startup_ns) },
		{ skel->progs.jank_on_task, false, features__can_look(feats) },
		{ skel->progs.jank_on_epoll, true, tracepoints && begins },
		{ skel->progs.jank_on_epoll_x, true, tracepoints },
		/* not in each object, so not in the skeleton */
		{ bpf_object__find_program_by_name(skel->obj, "jank_on_switch_whole"), false,
		  !tails },
		{ skel->progs.jank_at_leave, false, tails },
		{ skel->progs.jank_at_arrive, false, tails },
		{ skel->progs.jank_on_poll, false, tracepoints && begins },
		{ skel->progs.jank_on_poll_x, false, tracepoints },
		{ skel->progs.jank_on_mark, false,
		  marks && features__has(feats, FEATURE_ATTACH_COOKIE) },
		{ skel->progs.jank_on_custom, false, marks && loader->opts.own_waits },
		{ skel->progs.jank_on_sys_enter, false, raw && begins },
		{ skel->progs.jank_on_sys_exit, false, raw },
		{ skel->progs.jank_on_wait_begin, false, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_wait_end, false, loader->wait == WAIT_UPROBES },
		{ skel->progs.jank_on_looper, false, looper },
		{ skel->progs.jank_on_sample, false, loader->opts.frequency_hz > 0 },
		{ skel->progs.jank_on_fault, false, file_fault },
		{ skel->progs.jank_on_cache, false,
		  !file_fault && features__has(feats, FEATURE_CACHE_ADD) },
		{ skel->progs.jank_on_vblank, false, features__has(feats, FEATURE_VBLANK) },
		{ skel->progs.jank_on_binder, false, binder },
		{ skel->progs.jank_on_binder_got, false, binder },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool here = !loader->opts.in_parts || rows[i].first == first;

		if (rows[i].prog)
			bpf_program__set_autoload(rows[i].prog, rows[i].wanted && here);
	}
}

static void choose_maps(const struct loader *loader, struct jankbpf *skel, bool first)
{
	const struct history_size *size = &loader->opts.history;

	/* 5 MB that the kernel clears, for programs of the second part */
	bpf_map__set_autocreate(skel->maps.jank_other_copies, !(loader->opts.in_parts && first));
	bpf_map__set_autocreate(skel->maps.jank_vblanks,
				features__has(loader->opts.features, FEATURE_VBLANK));
	bpf_map__set_autocreate(skel->maps.jank_history, size->entry_cnt);
	bpf_map__set_autocreate(skel->maps.jank_hist_heads, size->entry_cnt);
	if (!loader->opts.startup_ns) {
		bpf_map__set_max_entries(skel->maps.jank_execs, 1);
		bpf_map__set_max_entries(skel->maps.jank_startups, 1);
	}
	if (!size->entry_cnt)
		return;
	bpf_map__set_max_entries(skel->maps.jank_history, size->entry_cnt * size->cpu_cnt);
	bpf_map__set_max_entries(skel->maps.jank_hist_heads, size->cpu_cnt);
}

/*
 * One link for many sites, since perf events take 35 ms each to detach: for all sites of a file
 * with -a, and for the marks of a process, which come and go.
 */
static void choose_multi(const struct loader *loader, struct jankbpf *skel)
{
	bool all = loader__is_all(loader);
	struct bpf_program *prog;

	if (!uprobe_links__has_multi(!all))
		return;
	bpf_object__for_each_program (prog, skel->obj)
		if (bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE &&
		    (all || prog == skel->progs.jank_on_mark))
			bpf_program__set_expected_attach_type(prog, UPROBE_LINKS_MULTI);
}

/* Opens the object, and selects the programs of one part. NULL: errno is set. */
static struct jankbpf *open_part(const struct loader *loader, bool first)
{
	struct jankbpf *skel = open_skeleton(&loader->opts);
	int res;

	if (!skel) {
		errno = ENOMEM;
		return NULL;
	}
	choose_programs(loader, skel, first);
	choose_maps(loader, skel, first);
	choose_multi(loader, skel);
	res = loader__put_calls(loader, skel->obj);
	if (!res)
		return skel;
	jankbpf__destroy(skel);
	errno = -res;
	return NULL;
}

static int load_programs(const struct loader_opts *opts, struct jankbpf *skel)
{
	struct kernel_types *types = opts->types;
	int ret, res;

	if (!types)
		return jankbpf__load(skel);
	kernel_types__begin_loads(types, opts->load_threads);
	ret = jankbpf__load(skel);
	res = kernel_types__finish_loads(types);
	return ret ?: res;
}

static int load_part(const struct loader *loader, struct jankbpf *skel, struct err *err)
{
	int ret = 0;

	/* both parts name the same types */
	if (loader->opts.types && !loader->opts.btf_path && skel == loader->skel)
		ret = kernel_types__choose(loader->opts.types, bpf_object__btf(skel->obj));
	if (!ret)
		ret = load_programs(&loader->opts, skel);

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
			"cannot load the probes: %s; see `jankbpf doctor`, or run with -vv: %s",
			strerror(-ret), bpf_log__last());
	return 0;
}

/* An unused entry would keep a removed cgroup in memory. */
int loader__set_cgroups(struct loader *loader, const struct filter *filter)
{
	int map_fd = bpf_map__fd(loader->skel->maps.jank_cgroups), res = 0;

	for (uint32_t i = 0; i < FILTER_MAX; i++) {
		if (i >= filter->cgroup_cnt)
			bpf_map_delete_elem(map_fd, &i);
		else if (bpf_map_update_elem(map_fd, &i, &filter->cgroup_fds[i], BPF_ANY))
			res = -errno;
	}
	__atomic_store_n(&loader->skel->bss->jank_cgroup_cnt, filter->cgroup_cnt, __ATOMIC_RELAXED);
	return res;
}

static int fill_maps(struct loader *loader, struct err *err)
{
	const struct conf_maps maps = {
		.globs_fd = bpf_map__fd(loader->skel->maps.jank_globs),
		.marks_fd = bpf_map__fd(loader->skel->maps.jank_marks),
	};

	int res = conf__fill_maps(&maps, &loader->opts, err);

	if (res || !loader->opts.filter)
		return res;
	res = loader__set_cgroups(loader, loader->opts.filter);
	return res ? err__set(err, -res, "cannot pass a cgroup to the probes: %s", strerror(-res))
		   : 0;
}

/* The second part has the maps of the first one, and those that only it needs. 0 or -errno. */
static int share_maps(const struct jankbpf *from, struct jankbpf *to)
{
	const struct bpf_map *own;
	struct bpf_map *map;
	int res = 0;

	bpf_object__for_each_map (map, to->obj) {
		own = bpf_object__find_map_by_name(from->obj, bpf_map__name(map));
		if (own && bpf_map__fd(own) >= 0)
			res = bpf_map__reuse_fd(map, bpf_map__fd(own));
		if (res)
			break;
	}
	return res;
}

int loader__load_rest(struct loader *loader, struct err *err)
{
	int res;

	loader->rest = open_part(loader, false);
	res = loader->rest ? share_maps(loader->skel, loader->rest) : -errno;
	if (res)
		return err__set(err, -res, "cannot prepare the probes: %s", strerror(-res));
	return load_part(loader, loader->rest, err);
}

int loader__new(const struct loader_opts *opts, struct loader **ret, struct err *err)
{
	struct loader *loader = calloc(1, sizeof(*loader));
	struct calibration calibration = {};
	int res = -ENOMEM;

	if (!loader)
		goto out;
	loader->opts = *opts;
	loader->wait = choose_wait_probe(opts);
	loader->infer_begin = can_infer_begin(loader);
	loader->compat_apart = can_see_compat(loader);
	loader->opts.in_parts = opts->in_parts && can_part(loader);
	if (loader->wait == WAIT_UPROBES && !features__has(opts->features, FEATURE_UPROBE)) {
		res = err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"no way to see waits: neither system-call tracepoints nor uprobes; "
			"see `jankbpf doctor`");
		goto fail;
	}
	if (features__has(opts->features, FEATURE_BPF_STATS))
		loader->empty_run_ns = bpf_counters__empty_run_ns();
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	res = calibration__get(opts->types, opts->btf_path, &calibration, err);
	if (res)
		goto fail;
	loader->cast_regs = calibration.found_regs && !opts->btf_path && opts->features->has_cast;
	loader->in_pid_ns = calibration.pid_level;
	if (loader->in_pid_ns) /* it is compared with the machine's number */
		loader->opts.only_pid = 0;
	loader->skel = open_part(loader, true);
	res = -errno;
	if (!loader->skel)
		goto out;
	conf__fill((struct jank_conf *)&loader->skel->rodata->jank_conf, &loader->opts,
		   &calibration, loader->infer_begin, loader->compat_apart);
	loader->skel->bss->jank_threshold_ns = opts->evidence_ns;
	if (!loader->opts.in_parts)
		loader->rest = loader->skel;
	res = load_part(loader, loader->skel, err);
	if (!res)
		res = fill_maps(loader, err);
	if (res)
		goto fail;
	res = uprobes__new(&loader->uprobes, opts->marks_hz);
	if (res)
		goto out;
	*ret = loader;
	return 0;
out:
	err__set(err, -res, "cannot prepare the probes: %s", strerror(-res));
fail:
	if (loader)
		jankbpf__destroy(loader->skel);
	free(loader);
	return res;
}
