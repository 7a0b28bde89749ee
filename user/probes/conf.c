/* SPDX-License-Identifier: GPL-2.0 */
/* Options and answers, as the probes take them. */
#include "probes/conf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/anr.h"
#include "base/clock.h"
#include "base/file.h"
#include "catalogue/syscalls.h"

#define SPAN_MIN_NS	   (1 * NS_PER_MS)
#define WATCH_DIVISOR	   10 /* of the threshold: so long a wait is worth looking at the others */
#define SAMPLE_AGE_DIVISOR 10 /* of the threshold: the sampler leaves younger dispatches alone */

static void fill_filter(struct jank_conf *conf, const struct filter *filter)
{
	conf->all = filter->all;
	conf->main_thread = filter->main_thread;
	conf->loop_mask = filter->loops;
	conf->uid_cnt = filter->uid_cnt;
	conf->glob_cnt = filter->glob_cnt;
	conf->cgroup_cnt = filter->cgroup_cnt;
	memcpy(conf->uids, filter->uids, sizeof(conf->uids));
}

/*
 * CONFIG_HZ is 100 at least; on CPUs without a tick (nohz_full) there is a rest of one a second
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

/* A thread's name, or its beginning where a * ends it: with the zero byte, or without. */
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

/* --hang, then those of Android's limits that are longer. */
static void fill_hang_limits(struct jank_conf *conf)
{
	size_t cnt = 0;

	conf->hang_limit_ns[cnt++] = conf->hang_ns;
	for (size_t i = 0; i < ANR_LIMITS; i++)
		if (anr__limits_s[i] * NS_PER_SEC > conf->hang_ns)
			conf->hang_limit_ns[cnt++] = anr__limits_s[i] * NS_PER_SEC;
	while (cnt < JANK_HANG_LIMITS)
		conf->hang_limit_ns[cnt++] = UINT64_MAX;
}

void conf__fill(struct jank_conf *conf, const struct loader_opts *opts,
		const struct calibration *calibration, bool infer_begin, bool compat_apart)
{
	conf->threshold_ns = opts->threshold_ns;
	conf->hang_ns = opts->hang_ns;
	fill_hang_limits(conf);
	conf->span_min_ns = SPAN_MIN_NS;
	conf->sample_age_ns = opts->threshold_ns / SAMPLE_AGE_DIVISOR;
	conf->watch_ns = opts->frequency_hz ? opts->threshold_ns / WATCH_DIVISOR + 1 : 0;
	conf->copy_sz = opts->stack_sz;
	conf->tick_ns = tick_ns();
	conf->real_offset_ns = clock__real_offset_ns();
	conf->tgid = opts->only_pid;
	conf->self_tgid = getpid();
	conf->debugging = opts->debugging;
	conf->infer_begin = infer_begin;
	conf->compat_apart = compat_apart;
	conf->switch_state = features__has(opts->features, FEATURE_SWITCH_STATE);
	conf->thread_sz = calibration->thread_sz;
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
	return err__set(err, errno, "cannot tell the probes of %s: %s", what, strerror(errno));
}

int conf__fill_maps(const struct conf_maps *maps, const struct loader_opts *opts, struct err *err)
{
	const struct filter *filter = opts->filter;
	size_t mark_cnt = opts->catalogue ? catalogue__mark_cnt(opts->catalogue) : 0;
	int res = 0;

	for (__u32 i = 0; filter && i < filter->glob_cnt && !res; i++)
		res = put(maps->globs_fd, i, &filter->globs[i], "a process's name", err);
	for (__u32 i = 0; filter && i < filter->cgroup_cnt && !res; i++)
		res = put(maps->cgroups_fd, i, &filter->cgroup_fds[i], "a cgroup", err);
	for (__u32 i = 0; i < mark_cnt && !res; i++)
		res = put(maps->marks_fd, i, &catalogue__mark(opts->catalogue, i)->spec, "a mark",
			  err);
	return res;
}
