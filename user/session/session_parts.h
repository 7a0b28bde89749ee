/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of a session and the functions that its files share. */
#ifndef JANK_SESSION_SESSION_PARTS_H
#define JANK_SESSION_SESSION_PARTS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "catalogue/catalogue.h"
#include "catalogue/loop_owner.h"
#include "catalogue/wait_note.h"
#include "enrich/block_facts.h"
#include "enrich/interp_threads.h"
#include "enrich/machine.h"
#include "enrich/parks.h"
#include "enrich/stack_cache.h"
#include "enrich/untraced_procs.h"
#include "intake/records.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/event.h"
#include "model/hist.h"
#include "model/loop.h"
#include "model/loss.h"
#include "model/unwatched.h"
#include "options/options.h"
#include "probes/features.h"
#include "probes/loader.h"
#include "session/event_loop.h"
#include "session/main_threads.h"
#include "session/mark_duty.h"
#include "session/output.h"
#include "session/queue.h"
#include "session/sink_thread.h"
#include "session/workload.h"
#include "symbol/names/symbolize.h"
#include "uprobes/mmaps.h"
#include <dirent.h>
#include <stdbool.h>
#include <uthash.h>

/* A traced process. */
struct traced {
	uint32_t pid;
	int pidfd;		  /* -1 once it has ended; with -a also if none could be opened */
	struct identity *process; /* NULL: not read yet */
	bool met;		  /* found by its records */
	bool keeps_alive;	  /* tracing continues while it lives */
	bool ended;		  /* -a: ended before it was read */
	bool announced;		  /* the sink thread knows it */
	uint64_t late_ns;	  /* delay from the start until its first loop was known; 0: none */
	bool loop_seen, main_seen; /* a thread, the main thread was in a loop */
	bool scan_due;		   /* may have mapped libraries that were not searched */
	unsigned probe_cnt;	   /* uprobes in its mappings */
	uint64_t dispatch_cnt;	   /* of its live threads, as of the last look */
	struct mark_duty duty;
	bool marks_off; /* as set in the loader */
	UT_hash_handle hh;
};

/*
 * Cost of our BPF programs. The kernel's run-time statistics cost time, so they are on only in
 * short windows. The windows are rare, since the kernel patches its code at start and end of each.
 */
struct cost_meter {
	int stats_fd; /* open within a window, else -1 */
	bool always;  /* another user switched the statistics on permanently */
	uint64_t window_start_ns, windows_ns, last_ns, every_ns;
};

/*
 * 32-bit programs of -a. Their waits have separate probes while such programs exist
 * (probe_choice.c).
 */
struct compat_watch {
	bool some;	    /* there are such programs, wanted or not, or were at the last look */
	bool seen;	    /* the probes are attached */
	bool told;	    /* the log has a line on them */
	pid_t last;	    /* a wanted one, as of the last look; 0: none */
	unsigned empty_cnt; /* looks in a row without a wanted one */
	uint64_t look_ns, cost_ns; /* time of the last look, and its cost */
};

/* Progress of the first look for unwatched threads: the next slice continues here. */
struct first_look {
	DIR *proc;
	struct unwatched_list *list; /* NULL: not started, or finished */
	uint64_t tell_ns;
};

struct session {
	const struct options *opts;
	struct features features;
	struct host_info host;
	struct judge judge;
	struct losses losses;
	struct losses kernel_losses; /* as of the end */
	struct workload workload;
	struct journal_writer *journal;
	struct symbolizer *symbolizer;
	struct untraced_procs *foreign;
	struct copy_bpf_fds copy_maps;
	struct stack_cache *callers;
	struct interp_bpf_fds script_maps;
	struct interp_threads *scripts;
	struct wait_copies wait_copies;
	struct message_names message_names;
	struct catalogue *catalogue;
	struct loop_choice choice;
	struct filter filter; /* with the waits of -l; opts owns its descriptors */
	struct loop_owner *whose;
	struct park_bpf_fds park_maps;
	struct parks *parks;
	struct output *output;
	struct queue *queue;
	struct sink_thread *sinker;
	struct loader *loader;
	struct ring *ring;
	struct mmaps *maps; /* NULL: no mapping events */
	struct event_loop *watch;
	struct mains *mains; /* NULL: without -a, or the kernel has no task iterator */
	struct machine *machine;
	struct loops *loops;
	struct hists *living;  /* as of the last look at the threads */
	struct traced *traced; /* by pid */
	unsigned alive_cnt;    /* not with -a */
	uint32_t *untold;      /* -a: ended processes that the sink thread does not know of yet */
	size_t untold_cnt;
	struct strbuf raw; /* records on their way to the journal */
	struct cost_meter cost;
	struct compat_watch compat;
	uint64_t start_ns, machine_ns, status_ns;
	uint64_t machine_cost_ns; /* CPU time that the last reading cost us */
	uint64_t block_cnt, hang_cnt;
	struct unwatched_list children; /* not traced, as of the first look */
	struct first_look first_look;
	int signal_fd, closed_fd, find_timer_fd, unwatched_fd;
	unsigned find_tries;
	uint64_t meet_ns; /* start of the current period of meet_cnt */
	unsigned meet_cnt;
	bool leases_told; /* the warning about a file that could not be searched is logged */
	bool stop;
	bool own_end; /* stopped by us or the user, not by the end of the traced processes */
};

/* --- probe_choice.c: choose and open the probes, report the missing ones */
int session__open_probes(struct session *s, struct err *err); /* needs features, loops, workload */

/* --- wakeups.c: event sources of the intake thread */
int session__watch_all(struct session *s, struct err *err); /* needs signals and ring */

/* --- intake.c: record → event → dispatch → block → queue */
void session__on_record(void *ctx, const void *data, size_t len);
void session__flush_raw(struct session *s);
void session__read_machine(struct session *s, uint64_t now_ns);
void session__machine_due(struct session *s); /* the same, called by a timer */

/* --- intake.c: mappings of the traced processes */
void session__open_maps(struct session *s);
void session__maps_until(struct session *s, uint64_t t_ns); /* passes on all earlier ones */

/* --- probe_choice.c: 32-bit programs */
int session__choose_waits(const struct session *s, struct loader_opts *ret, struct err *err);
void session__on_compat_exec(struct session *s, uint32_t pid); /* it runs one now */
void session__find_compat(struct session *s);		       /* at the start and periodically */

/* --- traced.c: life of the traced processes */
int session__trace(struct session *s, pid_t pid, struct err *err);
int session__place_probes(struct session *s, struct err *err); /* into all of them */
void session__on_exec(struct session *s, const struct jank_rec_exec *rec);
void session__on_new_loop(struct session *s, uint32_t pid);
void session__scan_due(struct session *s);
struct traced *session__traced(struct session *s, uint32_t pid);
struct traced *session__new_traced(struct session *s, uint32_t pid); /* NULL: out of memory */
void session__free_one(struct session *s, struct traced *traced);
void session__free_traced(struct session *s);

/* Reads the process's facts from /proc and passes them to the sink thread. -ESRCH: it ended. */
int session__refresh(struct session *s, struct traced *traced, struct err *err);
/* The same, but -ESRCH also if the process started after ts_ns: the pid was reused. */
int session__refresh_of(struct session *s, struct traced *traced, uint64_t ts_ns, struct err *err);
void session__announce(struct session *s, struct traced *traced);

/* --- traced.c: marks (probes on messages), off for busy processes */
void session__pace_marks(struct session *s);		     /* after each look */
void session__forget_marks(struct session *s, uint32_t pid); /* it ended or replaced its program */

/* --- session.c: the known loops and the wanted ones */
int session__open_loops(struct session *s, struct err *err); /* needs the symbolizer */
void session__close_loops(struct session *s);
void session__report_loops(void *session, struct loop_owner *whose); /* jankbpf loops: at the end */

/* --- discovery.c: processes found by their records: with -a all, with -f the children */
void session__follow(struct session *s); /* existing children */
void session__on_process(struct session *s, const struct event *event);
void session__on_children(struct session *s); /* children without a known loop */
void session__open_mains(struct session *s);
void session__look_for_mains(struct session *s, bool first); /* -a: main threads to watch */
/* True if the asking process is known. With -a it becomes traced here, at a limited rate. */
bool session__meet_asking(struct session *s, const struct jank_rec_wait *rec);
void session__sweep(struct session *s); /* periodic: finds ended processes without an exit event */

/* --- unwatched_look.c: what is not watched, and why */
void session__saw(struct session *s, const struct jank_rec *hdr);	     /* a thread loops */
void session__saw_turns(struct session *s, const struct jank_rec_wait *rec); /* by its turns */
/* Called at the end. True: a loop waits that was never seen to turn. */
bool session__find_unwatched(struct session *s, struct unwatched_list *ret);
/*
 * Runs a slice of the first look. True: it was the last slice; the result goes through the sink
 * thread to stderr.
 */
bool session__look_unwatched(struct session *s);
void session__free_first_look(struct first_look *first);

/* --- report.c: status line, summary, own cost */
/* Looks at the threads: hangs go to the ring, counts to living and, if requested, to records. */
void session__look(struct session *s, struct strbuf *records);
void session__status(struct session *s);
void session__cost_window(struct session *s);
int session__send_summary(struct session *s);
void session__keep_losses(struct session *s);	/* of the kernel side, before it is closed */
void session__report_losses(struct session *s); /* on stderr, after all output */

#endif
