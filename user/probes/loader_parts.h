/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the loader, shared by its files only. */
#ifndef JANK_PROBES_LOADER_PARTS_H
#define JANK_PROBES_LOADER_PARTS_H

#include "probes/loader.h"

#define BPF_LINKS_MAX 64

struct bpf_link;
struct bpf_object;
struct jankbpf;
struct perf_events;
struct uprobe_programs;

struct loader {
	struct jankbpf *skel; /* with opts.in_parts: the first part. Its maps serve both */
	struct jankbpf *rest; /* the second part, or skel */
	struct loader_opts opts;
	enum wait_probe wait;
	bool infer_begin;  /* see loop_wait__turn in bpf/loop_wait.bpf.h */
	bool cast_regs;	   /* see loader__put_calls */
	bool in_pid_ns;	   /* our processes have other numbers than the machine's */
	bool compat_apart; /* waits of 32-bit programs have their own probes, attached on demand */
	struct bpf_link *compat_links[2];
	struct bpf_link *links[BPF_LINKS_MAX];
	unsigned link_cnt;
	struct perf_events *sampler;
	struct uprobes *uprobes;
	struct uprobe_files *files; /* with -a */
	struct bpf_link *iter_link; /* for the one process, or for every task */
	uint64_t empty_run_ns;	    /* see bpf_counters__empty_run_ns */
};

/*
 * kernel_calls.c: puts calls of the kernel's functions into the programs. Call before load.
 * - Keeps probes from being preempted half-way (bpf/preempt.bpf.h), those that this kernel
 *   preempts, if it has FEATURE_PREEMPT_OFF; else such a kernel counts `probes_skipped`.
 * - Finds user registers without a call (compat__user_regs), with loader->cast_regs: the
 *   calibration found them, the object has the kernel's own types, and there is bpf_rdonly_cast.
 * Returns 0 or -ENOMEM.
 */
int loader__put_calls(const struct loader *loader, struct bpf_object *obj);

/* loader_open.c: loads the second part. Only with opts.in_parts. 0, or -errno with a message. */
int loader__load_rest(struct loader *loader, struct err *err);

/* loader_attach.c: the programs that uprobes run. */
struct uprobe_programs loader__uprobe_programs(const struct loader *loader);

static inline bool loader__is_all(const struct loader *loader)
{
	return loader->opts.filter && loader->opts.filter->all;
}

#endif
