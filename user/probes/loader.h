/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF side's life: open, configure, load, attach, and everything that is asked of it while it
 * runs. Sole owner of the skeleton and of all links.
 */
#ifndef JANK_PROBES_LOADER_H
#define JANK_PROBES_LOADER_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include "catalogue/catalogue.h"
#include "options/filter.h"
#include "probes/bpf_fds.h"
#include "probes/features.h"
#include "uprobes/uprobe_files.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loader;

struct loader_opts {
	const struct features *features;
	const char *btf_path; /* the kernel's types; NULL: its own (btf_source__path) */
	uint64_t threshold_ns, hang_ns;
	pid_t only_pid; /* the one process to be traced, or 0: those given to loader__add_process */
	const struct filter *filter;	   /* NULL: none */
	const struct catalogue *catalogue; /* NULL: no marks; borrowed while the loader lives */
	bool debugging;			   /* --debugging */
	bool follow;			   /* children of traced processes are traced, too */
	bool uprobe_waits;		   /* --backend uprobe */
	bool no_marks;			   /* but of loops that are not seen without */
	bool compat_waits;		   /* some are of 32-bit programs (compat32.h) */
	unsigned frequency_hz;
	uint32_t stack_sz; /* of a user stack that is copied; 0: none */
};

/* Which probes see the epoll waits. */
enum wait_probe { WAIT_SYSCALL_TRACEPOINTS, WAIT_RAW_SYSCALLS, WAIT_UPROBES };

int loader__new(const struct loader_opts *opts, struct loader **ret, struct err *err);

/* Detaches everything. Accepts NULL. */
void loader__free(struct loader *loader);

/*
 * Attaches the probes that are not a process's own. Nothing is traced before loader__add_process.
 */
int loader__attach(struct loader *loader, struct err *err);

/*
 * From now on pid is traced; its uprobes are attached where what it maps has a place for them.
 * Called again (a new program, more libraries) it adds what is new. *ret_sites, if not NULL: how
 * many uprobes are in what it maps now. -ESRCH: it is gone.
 */
int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err);

/* As loader__add_process, but without its uprobes, which may be added later. 0 or -errno. */
int loader__admit(struct loader *loader, pid_t pid);
bool loader__admits(const struct loader *loader,
		    pid_t pid); /* do the probes trace it? Not for -a */

/* Calls fn with each admitted process. */
void loader__each_admitted(const struct loader *loader, void (*fn)(void *ctx, pid_t pid),
			   void *ctx);

/* Forgets the admitted processes that have ended: their numbers may become others'. */
void loader__sweep(struct loader *loader);

/*
 * After an exec by another thread than the main one, whose uprobes were its own:
 * loader__add_process will attach them anew. 0 or -ENOMEM.
 */
int loader__renew_process(struct loader *loader, pid_t pid);

/*
 * The thread that its uprobes belonged to has ended, the process has not: loader__add_process is
 * due.
 */
bool loader__lost_task(const struct loader *loader, pid_t pid);

/*
 * The probes are told whether pid maps a library whose loop polls: before they ask, or once they
 * have (a WAIT record of no turns).
 */
void loader__update_poller(struct loader *loader, pid_t pid);

/*
 * 32-bit programs' waits are seen from now on, beside others', or no more. Each system call of the
 * machine gets slower by it. 0, or -ENOTSUP: not by the probes that this loader has; or why the
 * kernel refuses.
 */
int loader__see_compat(struct loader *loader, bool see);

/*
 * What the probes are told of parks; the caller closes it, before or after the loader. 0 or -errno.
 */
int loader__park_maps(const struct loader *loader, struct park_bpf_fds *ret);
int loader__copy_maps(const struct loader *loader, struct copy_bpf_fds *ret);

int loader__script_maps(const struct loader *loader, struct interp_bpf_fds *ret); /* the same */

/* -a: the files whose uprobes serve every process that maps them; NULL otherwise. */
struct uprobe_files *loader__files(const struct loader *loader);

/*
 * Takes the probes on messages off pid, or lets it have them again (loader__add_process puts them
 * on); with -a, off the files that it maps, within a second or two. 0; -EAGAIN: others are just
 * being taken off; -ENOMEM.
 */
int loader__pause_marks(struct loader *loader, pid_t pid, bool pause);

/* A process ended: its pid may become another's. */
void loader__drop_process(struct loader *loader, pid_t pid);

enum wait_probe loader__wait_probe(const struct loader *loader);
const char *loader__sampler_clock(const struct loader *loader); /* "cycles", "cpu-clock", "none" */
int loader__ring_fd(const struct loader *loader);		/* the ring's map, borrowed */

/* Looks at the living traced threads: hangs go to the ring; their counts to fn. 0 or -errno. */
int loader__each_thread(struct loader *loader,
			void (*fn)(void *ctx, const struct jank_rec_thread *rec), void *ctx);

/*
 * The refreshes of a display, as of now. False: none is told of; crtc counts from 0, all that there
 * are.
 */
bool loader__vblanks(const struct loader *loader, uint32_t crtc, struct jank_vblanks *ret);

/* Does a look meet threads that no probe has seen, by their processes and names? */
bool loader__meets_threads(const struct loader *loader);

/* Adds the kernel side's losses, by JANK_LOST_*. */
int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT]);

/* Runs of our programs that the kernel left out: see bpf_counters__skipped. */
uint64_t loader__skipped(const struct loader *loader);

/* Each program that was loaded. */
void loader__each_program(const struct loader *loader,
			  void (*fn)(void *ctx, const char *name, int fd), void *ctx);

/* Time and runs of our programs since the start; false where the kernel does not count them. */
bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs);

#endif
