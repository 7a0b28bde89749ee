/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a session share: its state, and the parts that they play. */
#ifndef JANK_SESSION_SESSION_PARTS_H
#define JANK_SESSION_SESSION_PARTS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "catalogue/loop_choice.h"
#include "catalogue/loop_owner.h"
#include "catalogue/wait_note.h"
#include "enrich/interp_threads.h"
#include "enrich/machine.h"
#include "enrich/parks.h"
#include "enrich/read_message.h"
#include "enrich/stack_cache.h"
#include "enrich/untraced_procs.h"
#include "intake/ring.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/event.h"
#include "model/hist.h"
#include "model/judge.h"
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

/* A process that is traced. */
struct traced {
	uint32_t pid;
	int pidfd;		  /* -1 once it has ended; with -a also where none could be had */
	struct identity *process; /* NULL: not looked at yet */
	bool met;		  /* by its records */
	bool keeps_alive;	  /* tracing goes on while it lives */
	bool ended;		  /* -a: before it could be looked at */
	bool announced;		  /* the sink thread knows it */
	uint64_t late_ns;	  /* its first loop was known so long after the start; 0: at once */
	bool loop_seen, main_seen; /* some thread of it, its main thread was in a loop */
	bool scan_due;		   /* it may map libraries that were not looked at */
	unsigned probe_cnt;	   /* uprobes in what it maps */
	uint64_t dispatch_cnt;	   /* of its living threads, as of the last look */
	struct mark_duty duty;
	bool marks_off; /* as the loader was told */
	UT_hash_handle hh;
};

/*
 * The cost of our BPF programs: the kernel counts it only in short windows, since counting costs,
 * and seldom, since it patches its code to begin and to end.
 */
struct cost_meter {
	int stats_fd; /* open within a window, else -1 */
	bool always;  /* somebody switched the statistics on for good */
	uint64_t window_start_ns, windows_ns, last_ns, every_ns;
};

/*
 * 32-bit programs of -a, whose waits have probes of their own while there are such
 * (probe_choice.c).
 */
struct compat_watch {
	bool some;		   /* there are, wanted or not, or there were at the last look */
	bool seen;		   /* the probes are attached */
	bool told;		   /* that there is one */
	pid_t last;		   /* one that is wanted, as of the last look; 0: none */
	unsigned empty_cnt;	   /* looks in a row that found none wanted */
	uint64_t look_ns, cost_ns; /* the last look, and what it took */
};

/* For what is not watched: goes on where the slice before ended. */
struct first_look {
	DIR *proc;
	struct unwatched_list *list; /* NULL: it has not begun, or is over */
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
	struct filter filter; /* the options', with the waits of -l; descriptors are theirs */
	struct loop_owner *whose;
	struct park_bpf_fds park_maps;
	struct parks *parks;
	struct output *output;
	struct queue *queue;
	struct sink_thread *sinker;
	struct loader *loader;
	struct ring *ring;
	struct mmaps *maps; /* NULL: nobody tells what is mapped */
	struct event_loop *watch;
	struct mains *mains; /* NULL: not with -a, or the kernel has no look at all tasks */
	struct machine *machine;
	struct loops *loops;
	struct hists *living;  /* as of the last look at the threads */
	struct traced *traced; /* by pid */
	unsigned alive_cnt;    /* not with -a */
	uint32_t *untold;      /* -a: processes whose end the sink thread is still to be told of */
	size_t untold_cnt;
	struct strbuf raw; /* records on their way to the journal */
	struct cost_meter cost;
	struct compat_watch compat;
	uint64_t start_ns, machine_ns, status_ns;
	uint64_t machine_cost_ns; /* what the last reading took of our CPU time */
	uint64_t block_cnt, hang_cnt;
	struct unwatched_list children; /* not traced, as of the first look */
	struct first_look first_look;
	int signal_fd, closed_fd, find_timer_fd, unwatched_fd;
	unsigned find_tries;
	uint64_t meet_ns; /* since then processes were met by their questions */
	unsigned meet_cnt;
	bool leases_told; /* of a file that could not be searched */
	bool stop;
	bool own_end; /* stopped by us or the user, not by the traced processes' end */
};

/* probe_choice.c: which probes can be opened, and what is told of those that cannot */
int session__open_probes(struct session *s, struct err *err); /* needs features, loops, workload */

/* wakeups.c: what the intake thread waits for from the first */
int session__watch_all(struct session *s, struct err *err); /* needs signals and ring */

/* intake.c: record → event → dispatch → block → queue */
void session__on_record(void *ctx, const void *data, size_t len);
void session__flush_raw(struct session *s);
void session__read_machine(struct session *s, uint64_t now_ns);
void session__machine_due(struct session *s); /* the same, by a timer */

/* intake.c: what the traced processes map */
void session__open_maps(struct session *s);
void session__maps_until(struct session *s,
			 uint64_t t_ns); /* tells the sink thread of all before */

/* probe_choice.c: 32-bit programs */
int session__choose_waits(const struct session *s, struct loader_opts *ret, struct err *err);
void session__on_compat_exec(struct session *s, uint32_t pid); /* it has become such a one */
void session__find_compat(struct session *s);		       /* at the start, and now and then */

/* traced.c: the traced processes' lives */
int session__trace(struct session *s, pid_t pid, struct err *err);
int session__place_probes(struct session *s, struct err *err); /* into all of them */
void session__on_exec(struct session *s, const struct jank_rec_exec *rec);
void session__on_new_loop(struct session *s, uint32_t pid);
void session__scan_due(struct session *s);
struct traced *session__traced(struct session *s, uint32_t pid);
struct traced *session__new_traced(struct session *s, uint32_t pid); /* NULL: out of memory */
void session__free_one(struct session *s, struct traced *traced);
void session__free_traced(struct session *s);

/* Reads what /proc tells of it, and tells the sink thread. -ESRCH: it is gone. */
int session__refresh(struct session *s, struct traced *traced, struct err *err);
/*
 * The same, if it was there at that time: else its number was another's then, and it is -ESRCH,
 * too.
 */
int session__refresh_of(struct session *s, struct traced *traced, uint64_t ts_ns, struct err *err);
void session__announce(struct session *s, struct traced *traced);

/* traced.c: the probes on messages, which the busy do without */
void session__pace_marks(struct session *s);		     /* after each look */
void session__forget_marks(struct session *s, uint32_t pid); /* it ends, or is another program */

/* session.c: which loops there are, and which are wanted */
int session__open_loops(struct session *s, struct err *err); /* needs the symbolizer */
void session__close_loops(struct session *s);
void session__report_loops(void *session, struct loop_owner *whose); /* jankbpf loops: at its end */

/* discovery.c: processes that are met by their records: with -a all, with -f the children */
void session__follow(struct session *s); /* those that are there already */
void session__on_process(struct session *s, const struct event *event);
void session__on_children(struct session *s); /* that have not told of a loop */
void session__open_mains(struct session *s);
void session__look_for_mains(struct session *s,
			     bool first); /* -a: whose main threads are watched */
/* Is the process known that asks? With -a it is met by that, but not too many at once. */
bool session__meet_asking(struct session *s, const struct jank_rec_wait *rec);
void session__sweep(struct session *s); /* now and then: those that nothing else told the end of */

/* unwatched_look.c: what is not watched, and why */
void session__saw(struct session *s, const struct jank_rec *hdr); /* a thread of it in a loop */
void session__saw_turns(struct session *s, const struct jank_rec_wait *rec); /* by its turns */
/* At the end. True: a loop waits that was not seen to turn. */
bool session__find_unwatched(struct session *s, struct unwatched_list *ret);
/*
 * A slice of the first look. True: it was the last one, and what was found goes through the sink
 * thread to stderr.
 */
bool session__look_unwatched(struct session *s);
void session__free_first_look(struct first_look *first);

/* report.c: status line, summary, own cost */
/* At the threads: hangs go to the ring, counts to living and, where wanted, to records. */
void session__look(struct session *s, struct strbuf *records);
void session__status(struct session *s);
void session__cost_window(struct session *s);
int session__send_summary(struct session *s);
void session__keep_losses(struct session *s);	/* the kernel side's, before it is closed */
void session__report_losses(struct session *s); /* on stderr, when all is written */

#endif
