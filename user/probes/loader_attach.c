/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches the probes that do not belong to one process; detaches everything. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/jank_abi.h"
#include "jankbpf.skel.h"
#include "probes/binder_event.h"
#include "probes/loader_parts.h"
#include "uprobes/links.h"
#include "uprobes/uprobes.h"

/*
 * --- clock of the sampler: one perf event for each CPU. An event for a task would be reprogrammed
 * at every context switch, which in a virtual machine is an exit to the hypervisor
 * (docs/kernel-facts.md).
 */

struct perf_events {
	struct bpf_link **links;
	unsigned cnt;
	bool hw;
};

/*
 * Idle CPUs need ticks, too: they notice a long wait when no thread runs. The cycles counter stops
 * on an idle CPU.
 */
static int open_event(int cpu, unsigned hz, bool hw)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = hw ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config =
			hw ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES : (uint64_t)PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_cpu(struct perf_events *events, struct bpf_program *prog, int cpu, unsigned hz)
{
	int fd = open_event(cpu, hz, events->hw);
	struct bpf_link *link;

	if (fd < 0 && events->hw && !events->cnt) {
		events->hw = false;
		fd = open_event(cpu, hz, false);
	}
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(prog, fd); /* the link owns fd now */
	if (!link) {
		int res = -errno;

		close(fd);
		return res;
	}
	events->links[events->cnt++] = link;
	return 0;
}

static void free_clock(struct perf_events *events)
{
	if (!events)
		return;
	links__destroy(events->links, events->cnt);
	free(events->links);
	free(events);
}

/* hw: try the cycles counter first. Skips a CPU that goes offline meanwhile. */
static int open_clock(struct bpf_program *prog, unsigned hz, bool hw, struct perf_events **ret,
		      struct err *err)
{
	int cpus = libbpf_num_possible_cpus(), res = -ENOMEM;
	struct perf_events *events = calloc(1, sizeof(*events));

	if (!events || cpus <= 0)
		goto fail;
	events->hw = hw;
	events->links = calloc(cpus, sizeof(struct bpf_link *));
	if (!events->links)
		goto fail;
	for (int cpu = 0; cpu < cpus; cpu++) {
		res = attach_cpu(events, prog, cpu, hz);
		if (res && res != -ENODEV) /* offline */
			goto fail;
	}
	*ret = events;
	return 0;
fail:
	free_clock(events);
	return err__set_exit(
		err, JANK_EXIT_CANNOT, -res,
		"cannot open the sampling clock: %s; run with -F 0 to do without stacks of "
		"running code, and see `jankbpf doctor`",
		strerror(-res));
}

static const char *clock_name(const struct perf_events *events)
{
	return events->hw ? "cycles" : "cpu-clock";
}

/* --- programs */

static void drop_compat(struct loader *loader)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(loader->compat_links[i]);
		loader->compat_links[i] = NULL;
	}
}

void loader__free(struct loader *loader)
{
	int left;

	if (!loader)
		return;
	left = perf_events__leave();
	uprobe_files__free(loader->files);
	uprobes__free(loader->uprobes);
	free_clock(loader->sampler);
	bpf_link__destroy(loader->iter_link);
	drop_compat(loader);
	links__destroy(loader->links, loader->link_cnt);
	if (left >= 0)
		close(left);
	if (loader->rest != loader->skel)
		jankbpf__destroy(loader->rest);
	jankbpf__destroy(loader->skel);
	free(loader);
}

/* Entered by another program. */
static bool is_tail(const struct jankbpf *skel, const struct bpf_program *prog)
{
	return prog == skel->progs.jank_at_leave || prog == skel->progs.jank_at_arrive;
}

/* Attached separately: by loader__see_compat or attach_waits, or as an iterator. */
static bool attached_apart(const struct loader *loader, const struct jankbpf *skel,
			   const struct bpf_program *prog)
{
	if (prog == skel->progs.jank_on_sys_enter || prog == skel->progs.jank_on_sys_exit)
		return loader->compat_apart;
	return prog == skel->progs.jank_on_task || is_tail(skel, prog) ||
	       bpf_program__type(prog) == BPF_PROG_TYPE_TRACEPOINT;
}

/* link: NULL, and errno is set, if the attachment failed. */
static int keep_link(struct loader *loader, const struct bpf_program *prog, struct bpf_link *link,
		     struct err *err)
{
	if (!link)
		return err__set_exit(err, JANK_EXIT_CANNOT, errno,
				     "cannot attach '%s': %s; see `jankbpf doctor`",
				     bpf_program__name(prog), strerror(errno));
	loader->links[loader->link_cnt++] = link;
	return 0;
}

/* point: "enter" or "exit" */
static int attach_wait(struct loader *loader, const char *point, const char *call,
		       const struct bpf_program *prog, struct err *err)
{
	struct bpf_link *link;
	char name[64];

	if (!prog || !bpf_program__autoload(prog))
		return 0;
	snprintf(name, sizeof(name), "sys_%s_%s", point, call);
	link = bpf_program__attach_tracepoint(prog, "syscalls", name);
	if (!link && errno == ENOENT) /* epoll_pwait2 came with kernel 5.11 */
		return 0;
	return keep_link(loader, prog, link, err);
}

static int attach_waits(struct loader *loader, const struct jankbpf *skel, struct err *err)
{
	struct bpf_program *epoll = skel->progs.jank_on_epoll, *poll = skel->progs.jank_on_poll;
	struct bpf_program *epoll_x = skel->progs.jank_on_epoll_x;
	struct bpf_program *poll_x = skel->progs.jank_on_poll_x;
	const struct {
		const char *call;
		const struct bpf_program *enter, *exit;
	} rows[] = {
		{ "epoll_wait", epoll, epoll_x },    { "epoll_pwait", epoll, epoll_x },
		{ "epoll_pwait2", epoll, epoll_x },  { "poll", poll, poll_x },
		{ "ppoll", poll, poll_x },	     { "select", poll, poll_x },
		{ "pselect6", poll, poll_x },	     { "io_uring_enter", poll, poll_x },
		{ "restart_syscall", NULL, poll_x },
	};
	int res = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !res; i++) {
		res = attach_wait(loader, "enter", rows[i].call, rows[i].enter, err);
		res = res ?: attach_wait(loader, "exit", rows[i].call, rows[i].exit, err);
	}
	return res;
}

/* A program that kernel_types.c makes a typed one has lost its section's handler. */
static struct bpf_link *attach_by_section(const struct bpf_program *prog)
{
	return bpf_program__type(prog) == BPF_PROG_TYPE_TRACING ? bpf_program__attach_trace(prog)
								: bpf_program__attach(prog);
}

#define X_DRIVER(name) name,
/* Attaches to calls and to their ends, of each driver whose records the programs can read. */
static int attach_binder(struct loader *loader, const struct jankbpf *skel, struct err *err)
{
	static const char *const drivers[] = { BINDER_DRIVERS(X_DRIVER) };
	const struct bpf_program *sent = skel->progs.jank_on_binder,
				 *got = skel->progs.jank_on_binder_got;
	int res = 0;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers) && !res; i++) {
		if (!bpf_program__autoload(sent) || binder_event__find(drivers[i]))
			continue;
		res = keep_link(loader, got,
				bpf_program__attach_tracepoint(got, drivers[i],
							       "binder_transaction_received"),
				err)
			      ?: keep_link(loader, sent,
					   bpf_program__attach_tracepoint(sent, drivers[i],
									  "binder_transaction"),
					   err);
	}
	return res;
}

/*
 * Attaches the ends of waits last: they open dispatches, whose time the other probes account. While
 * another tracer ends, the kernel may take 0.3 s from one attachment to the next.
 */
static int attach_programs(struct loader *loader, const struct jankbpf *skel, struct err *err)
{
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, skel->obj) {
		enum bpf_prog_type type = bpf_program__type(prog);
		int res;

		if (!bpf_program__autoload(prog) || attached_apart(loader, skel, prog) ||
		    type == BPF_PROG_TYPE_PERF_EVENT || type == BPF_PROG_TYPE_KPROBE)
			continue;
		res = keep_link(loader, prog, attach_by_section(prog), err);
		if (res)
			return res;
	}
	return attach_binder(loader, skel, err) ?: attach_waits(loader, skel, err);
}

/* The programs of the second part. */
static int attach_more(struct loader *loader, struct err *err)
{
	return loader->rest == loader->skel ? 0 : attach_programs(loader, loader->rest, err);
}

int loader__see_compat(struct loader *loader, bool see)
{
	const struct bpf_program *progs[2];

	if (!loader->compat_apart)
		return -ENOTSUP;
	progs[0] = loader->rest->progs.jank_on_sys_enter;
	progs[1] = loader->rest->progs.jank_on_sys_exit;
	if (!see)
		drop_compat(loader);
	for (int i = 0; i < 2 && see; i++) {
		if (loader->compat_links[i] || !bpf_program__autoload(progs[i]))
			continue;
		loader->compat_links[i] = attach_by_section(progs[i]);
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
	loader->iter_link = bpf_program__attach_iter(loader->rest->progs.jank_on_task, &opts);
	if (!loader->iter_link)
		return err__set_exit(err, JANK_EXIT_CANNOT, errno,
				     "cannot attach the task iterator: %s; see `jankbpf doctor`",
				     strerror(errno));
	return 0;
}

struct uprobe_programs loader__uprobe_programs(const struct loader *loader)
{
	struct jankbpf *skel = loader->rest;
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
	const struct uprobe_programs progs = loader__uprobe_programs(loader);

	return uprobe_files__new(&progs, &loader->files, err);
}

struct uprobe_files *loader__files(const struct loader *loader)
{
	return loader->files;
}

/*
 * libbpf loads a program to see whether the kernel has perf links, at the first perf event. Make it
 * do so now, by an attachment that fails: later the filter of system calls forbids the load, and
 * without perf links uprobes would have no cookies.
 */
static void learn_perf_links(struct loader *loader)
{
	const int no_perf_event = bpf_map__fd(loader->skel->maps.jank_ring);
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, loader->rest->obj)
		if (bpf_program__autoload(prog)) {
			bpf_link__destroy(bpf_program__attach_perf_event(prog, no_perf_event));
			return;
		}
}

int loader__sample(struct loader *loader, bool on, struct err *err)
{
	bool hw = features__has(loader->opts.features, FEATURE_HW_CYCLES);

	if (!on) {
		free_clock(loader->sampler);
		loader->sampler = NULL;
		loader->skel->bss->jank_watch_on = 0; /* its ticks would have ended it */
		return 0;
	}
	if (!loader->opts.frequency_hz || loader->sampler)
		return 0;
	return open_clock(loader->rest->progs.jank_on_sample, loader->opts.frequency_hz, hw,
			  &loader->sampler, err);
}

int loader__see(struct loader *loader, bool see, struct err *err)
{
	if (see)
		return loader->link_cnt ? 0
					: attach_programs(loader, loader->skel, err)
						  ?: attach_more(loader, err);
	drop_compat(loader);
	links__destroy(loader->links, loader->link_cnt);
	loader->link_cnt = 0;
	return 0;
}

/* The programs that others enter by a tail call. The last one first: jank_at_leave enters it. */
static int enter_tails(struct loader *loader, struct err *err)
{
	const struct jankbpf *skel = loader->rest;
	const struct bpf_program *progs[JANK_TAIL_CNT] = {
		[JANK_TAIL_LEAVE] = skel->progs.jank_at_leave,
		[JANK_TAIL_ARRIVE] = skel->progs.jank_at_arrive,
	};

	for (__u32 i = JANK_TAIL_CNT; i--;) {
		int fd = bpf_program__fd(progs[i]);

		if (fd >= 0 &&
		    bpf_map_update_elem(bpf_map__fd(skel->maps.jank_tails), &i, &fd, BPF_ANY))
			return err__set_exit(err, JANK_EXIT_CANNOT, errno,
					     "cannot enter '%s': %s; see `jankbpf doctor`",
					     bpf_program__name(progs[i]), strerror(errno));
	}
	return 0;
}

/*
 * The sampler first, since attaching takes long while another tracer's end detaches its probes. The
 * probes of polls before what jank_on_switch enters: see sched__rests in bpf/sched.bpf.h.
 */
static int add_rest(struct loader *loader, struct err *err)
{
	return loader__load_rest(loader, err) ?: loader__sample(loader, true, err)
						 ?: attach_more(loader, err)
						 ?: enter_tails(loader, err);
}

static int attach_all(struct loader *loader, struct err *err)
{
	if (loader->rest)
		return enter_tails(loader, err) ?: loader__sample(loader, true, err)
						   ?: attach_programs(loader, loader->skel, err);
	return attach_programs(loader, loader->skel, err) ?: add_rest(loader, err);
}

int loader__attach(struct loader *loader, struct err *err)
{
	int res = attach_all(loader, err);

	if (res)
		return res;
	learn_perf_links(loader);
	res = attach_iter(loader, err);
	if (!res && loader__is_all(loader))
		res = attach_files(loader, err);
	return res;
}

const char *loader__sampler_clock(const struct loader *loader)
{
	return loader->sampler ? clock_name(loader->sampler) : "none";
}
