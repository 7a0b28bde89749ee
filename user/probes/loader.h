/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loader of the BPF objects: opens, configures, loads and attaches them, and answers queries while
 * they run. It alone owns the skeleton and all links.
 */
#ifndef JANK_PROBES_LOADER_H
#define JANK_PROBES_LOADER_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include "catalogue/catalogue.h"
#include "options/filter.h"
#include "probes/bpf_fds.h"
#include "probes/features.h"
#include "probes/history_buffers.h"
#include "probes/kernel_types.h"
#include "uprobes/uprobe_files.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loader;

struct loader_opts {
	const struct features *features;
	const char *btf_path;	    /* a file to take for them, or NULL (btf_source__path) */
	struct kernel_types *types; /* its own, if it has any; borrowed until loader__attach ends */
	uint64_t threshold_ns, hang_ns;
	uint64_t startup_ns; /* 0: no start-up is watched */
	/* JANK_HANG_LIMITS of them, see struct jank_conf; NULL: hang_ns alone. Borrowed by _new. */
	const uint64_t *hang_limits;
	uint64_t evidence_ns; /* the least threshold of any process: stacks are taken for it */
	pid_t name_pid;	      /* jankbpf-name, which switches often: it is no other thread */
	pid_t only_pid; /* the one process to trace, or 0: those passed to loader__add_process;
			   in a pid namespace the latter */
	const struct filter *filter;	   /* NULL: none */
	const struct catalogue *catalogue; /* NULL: no marks; borrowed while the loader lives */
	bool debugging;			   /* --debugging */
	bool follow;			   /* trace children of traced processes, too */
	bool uprobe_waits;		   /* --backend uprobe */
	bool no_marks;			   /* only marks of loops that are not seen without them */
	unsigned marks_hz;		   /* see struct jank_conf */
	bool own_waits;			   /* of the catalogue: catalogue__waits_itself */
	bool compat_waits;		   /* some waits are of 32-bit programs (compat32.c) */
	bool adjustable;		   /* loader__set_threshold will be called */
	bool in_parts;			   /* what dispatches need is loaded and attached first */
	unsigned load_threads;		   /* beside libbpf: see program_loads.h */
	unsigned frequency_hz;
	uint32_t stack_sz;	     /* bytes of a user stack that are copied; 0: none */
	struct history_size history; /* entry_cnt 0: none */
};

/* Which probes see the epoll waits. */
enum wait_probe { WAIT_SYSCALL_TRACEPOINTS, WAIT_RAW_SYSCALLS, WAIT_UPROBES };

int loader__new(const struct loader_opts *opts, struct loader **ret, struct err *err);

/* Detaches everything. Accepts NULL. */
void loader__free(struct loader *loader);

/*
 * Attaches the probes that do not belong to one process. Nothing is traced before loader__admit.
 * With opts.in_parts, dispatches in epoll and their time are recorded while it loads the others;
 * blocks that end before it returns lack stacks. Later no BPF program is loaded. 0, or -errno with
 * a message.
 */
int loader__attach(struct loader *loader, struct err *err);

/*
 * With opts.adjustable: changes the threshold of dispatches that end from now on. Histograms keep
 * the one of the start.
 */
void loader__set_threshold(struct loader *loader, uint64_t ns);

/*
 * With opts.adjustable: the process has a threshold of its own, above that of all; UINT64_MAX: it
 * has no blocks. If the probes have no room for it, that of all applies.
 */
void loader__set_limit(struct loader *loader, uint32_t pid, uint64_t ns);
void loader__drop_limit(struct loader *loader, uint32_t pid);

/* Replaces the cgroups of -a by those of the filter now. 0 or -errno: some are not traced. */
int loader__set_cgroups(struct loader *loader, const struct filter *filter);

/* What the probes leave out from now on: JANK_REDUCE_*. */
void loader__reduce(struct loader *loader, uint32_t what);
/* Ends the sampling, or begins it again. 0 or -errno with a message; without a sampler 0. */
int loader__sample(struct loader *loader, bool on, struct err *err);
/*
 * Detaches all probes but uprobes, or attaches them again. After loader__reduce with
 * JANK_REDUCE_ALL and a look at the threads, no dispatch is taken for one that lasted meanwhile. 0
 * or -errno with a message.
 */
int loader__see(struct loader *loader, bool see, struct err *err);

/*
 * Traces pid from now on, and attaches uprobes to what it maps. Call it again after an exec or for
 * more libraries: it adds what is new. *ret_sites, if not NULL: number of uprobes in what it maps
 * now. Returns 0 or -errno (-ESRCH: it has ended).
 */
int loader__add_process(struct loader *loader, pid_t pid, unsigned *ret_sites, struct err *err);

/* As loader__add_process, but without its uprobes, which may be added later. 0 or -errno. */
int loader__admit(struct loader *loader, pid_t pid);
bool loader__admits(const struct loader *loader,
		    pid_t pid); /* do the probes trace it? Not for -a */

/* Calls fn with each admitted process. */
void loader__each_admitted(const struct loader *loader, void (*fn)(void *ctx, pid_t pid),
			   void *ctx);

/* Drops the admitted processes that have ended: their pids may be reused. */
void loader__sweep(struct loader *loader);

/*
 * Call after an exec by another thread than the main one, since the uprobes belonged to that
 * thread. loader__add_process then attaches them anew. Returns 0 or -ENOMEM.
 */
int loader__renew_process(struct loader *loader, pid_t pid);

/*
 * True when the thread that owned the uprobes has ended but the process has not: call
 * loader__add_process.
 */
bool loader__lost_task(const struct loader *loader, pid_t pid);

/*
 * Tells the probes whether pid maps a library with a polling loop. Call it before they ask, or
 * after they ask (a WAIT record without turns).
 */
void loader__update_poller(struct loader *loader, pid_t pid);

/*
 * Turns the probes for waits of 32-bit programs on or off, beside those for other programs. They
 * slow down each system call of the machine. Returns 0; -ENOTSUP: impossible with this loader's
 * probes; or the kernel's -errno.
 */
int loader__see_compat(struct loader *loader, bool see);

/*
 * The BPF maps of parks. The caller closes them, before or after the loader. Returns 0 or -errno.
 */
int loader__park_maps(const struct loader *loader, struct park_bpf_fds *ret);
int loader__copy_maps(const struct loader *loader, struct copy_bpf_fds *ret);
int loader__opening_maps(const struct loader *loader, struct opening_bpf_fds *ret);

/* With opts.history: maps the buffers, which stay valid after the loader is freed. 0 or -errno. */
int loader__map_history(const struct loader *loader, struct history_buffers *ret);

int loader__script_maps(const struct loader *loader, struct interp_bpf_fds *ret); /* the same */

/* With -a: the files with uprobes for every process that maps them; otherwise NULL. */
struct uprobe_files *loader__files(const struct loader *loader);

/*
 * Takes the probes on messages off pid, or allows them again (loader__add_process attaches them).
 * With -a: off the files that it maps, within a second or two. Returns 0; -EAGAIN: others are just
 * being taken off; -ENOMEM.
 */
int loader__pause_marks(struct loader *loader, pid_t pid, bool pause);

/* False: no process has marks that could be paused. */
bool loader__has_marks(const struct loader *loader);

/* Call when a process ends: its pid may be reused. */
void loader__drop_process(struct loader *loader, pid_t pid);

enum wait_probe loader__wait_probe(const struct loader *loader);
const char *loader__sampler_clock(const struct loader *loader); /* "cycles", "cpu-clock", "none" */
int loader__ring_fd(const struct loader *loader);		/* the ring's map, borrowed */

/*
 * Inspects the living traced threads: hangs go to the ring, counts go to fn. Returns 0 or -errno.
 */
int loader__each_thread(struct loader *loader,
			void (*fn)(void *ctx, const struct jank_rec_thread *rec), void *ctx);

/*
 * The refreshes of a display, as of now. crtc counts from 0, over all displays. Returns false when
 * nothing is known.
 */
bool loader__vblanks(const struct loader *loader, uint32_t crtc, struct jank_vblanks *ret);

/* Does an inspection find threads that no probe has seen, by their processes and names? */
bool loader__meets_threads(const struct loader *loader);

/* Calls fn with the account of each user that the probes met (JANK_SHARE_OTHERS too). */
void loader__each_share(const struct loader *loader,
			void (*fn)(void *ctx, uint32_t uid, const struct jank_share *share),
			void *ctx);

/* Adds the losses on the kernel side to cnt, by JANK_LOST_*. */
int loader__losses(const struct loader *loader, uint64_t cnt[JANK_LOSS_CNT]);

/* Runs of our programs that the kernel skipped: see bpf_counters__skipped. */
uint64_t loader__skipped(const struct loader *loader);

/* Calls fn for each loaded program. */
void loader__each_program(const struct loader *loader,
			  void (*fn)(void *ctx, const char *name, int fd), void *ctx);

/*
 * Time and runs of our programs while the statistics were on, without what these cost. False: the
 * kernel does not count them.
 */
bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs);

#endif
