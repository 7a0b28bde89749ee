/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session: its parts, each with its owner, whose header describes it. A function takes its part;
 * it takes the session if it touches several parts. All functions here run on the intake thread;
 * the parts of the sink thread are in sink_thread.h.
 */
#ifndef JANK_SESSION_SESSION_PARTS_H
#define JANK_SESSION_SESSION_PARTS_H

#include "base/err.h"
#include "catalogue/catalogue.h"
#include "deliver/deliver.h"
#include "deliver/downloader.h"
#include "deliver/react.h"
#include "deliver/sender_process.h"
#include "files/user_account.h"
#include "intake/records.h"
#include "model/block.h"
#include "model/loss.h"
#include "name/name.h"
#include "options/filter.h"
#include "options/options.h"
#include "probes/features.h"
#include "probes/kernel_types.h"
#include "probes/loader.h"
#include "session/cgroup_watch.h"
#include "session/compat_watch.h"
#include "session/control.h"
#include "session/discovery.h"
#include "session/event_loop.h"
#include "session/formerly.h"
#include "session/govern.h"
#include "session/intake.h"
#include "session/interval.h"
#include "session/live_options.h"
#include "session/look.h"
#include "session/notify.h"
#include "session/openings.h"
#include "session/own_cost.h"
#include "session/pause.h"
#include "session/process_life.h"
#include "session/process_table.h"
#include "session/queue.h"
#include "session/sink_thread.h"
#include "session/startups.h"
#include "session/unwatched_look.h"
#include "session/workload.h"
#include <stdbool.h>
#include <stdint.h>

/* The known loops, the wanted ones of -l, and the filter with their waits. */
struct selection {
	struct catalogue *catalogue;
	struct loop_choice choice;
	struct filter filter; /* owns its descriptors */
};

struct reload {
	struct live_options *live; /* NULL: the options of the start apply */
};

struct run_end {
	int signal_fd,
		closed_fd; /* signals; written when nothing more can be written or is wanted */
	bool stop;
	bool own_end; /* stopped by us or the user, not by the end of the traced processes */
};

struct session {
	const struct options *opts;
	uint64_t begun_ns;	    /* when the start began (CLOCK_MONOTONIC) */
	struct kernel_types *types; /* during the start; NULL: the kernel has none */
	struct features features;
	struct host_info host;
	struct selection selection;
	struct workload workload;
	struct user_account as; /* --as; name NULL: not given */
	struct losses losses;
	struct event_loop *event_loop;
	struct queue *queue;	       /* to the sink thread */
	struct deliver *deliver;       /* NULL: the command has no sinks */
	struct downloader *downloader; /* NULL: no debug file is downloaded */
	struct react *react;	       /* NULL: no option asks for commands */
	struct sender_process *sender; /* NULL: no backend has a URL */
	struct name_client *names, *sites;
	struct sink_parts sink;
	struct sink_thread *sink_thread;
	struct loader *loader;
	struct ring *ring;
	struct intake intake;
	struct machine_readings machine;
	struct mapping_events mappings;
	struct process_table processes;
	struct site_search site_search;
	struct discovery discovery;
	struct compat_watch compat_watch;
	struct cgroup_watch cgroup_watch;
	struct unwatched_look unwatched_look;
	struct openings openings;
	struct startups startups;
	struct cost_meter cost_meter;
	struct own_cpu own_cpu;
	struct counts counts;
	struct intervals intervals;
	struct run_end end;
	struct reload reload;
	struct notify notify;
	struct control control;
	struct pause pause;
	struct govern govern;
	bool limited; /* a process has had a limit of its own */
};

/* --- status_line.c: on stderr */

void session__status(struct session *s);
/* Says on stderr that tracing has begun, and of what. */
void session__report_ready(const struct session *s);

/* --- count_records.c: intervals and the summary, for the sink thread */

/* The run begins now. */
void session__begin_counts(struct session *s);
int session__send_summary(struct session *s);
void session__interval(struct session *s); /* sends one to the sink thread */
void session__fill_now(struct session *s, struct intervals_now *ret); /* all but hists */

/* --- loss_log.c */

/* Adds those of the kernel side, and of reads and names that failed. */
void session__add_losses(const struct session *s, struct losses *ret);
bool loss__is_detail(int reason);		/* no block is missing by it */
void session__keep_losses(struct session *s);	/* of the kernel side, before it is closed */
void session__report_losses(struct session *s); /* on stderr, after all output */
void session__report_unread(void);		/* new reasons of unread.h */

/* --- probe_choice.c: choose and open the probes, report the missing ones */

int session__open_probes(struct session *s, struct err *err); /* needs features, loops, workload */

/* --- reload.c: SIGHUP of the agent */

void session__reload(struct session *s);
int session__time_intervals(struct session *s, uint64_t ns); /* from now on. 0 or -errno */

/* --- overrides.c: [override NAME] of the agent's configuration */

const struct options *session__options(const struct session *s); /* as of the last reload */
/* Sets the process's limit, also in the probes, and whether it is watched. */
void session__limit(struct session *s, struct process_entry *process);
size_t session__off_cnt(const struct session *s); /* living processes that are switched off */
void session__limit_all(struct session *s);	  /* the overrides, or the budget, have changed */

/* --- state.c: of the agent, for the log, the control socket and the service manager */

void session__log_state(struct session *s);
void session__add_state(struct session *s, struct strbuf *ret);	     /* the same lines */
void session__add_state_json(struct session *s, struct strbuf *ret); /* one object */
void session__tell_status(struct session *s); /* the manager; also periodic */
/* Tells the manager that tracing has begun; starts the timers of its messages. 0 or -errno. */
int session__begin_state(struct session *s);

/* --- wakeups.c: event sources of the intake thread */

int session__add_events(struct session *s, struct err *err); /* needs signals, ring, loader */

/* --- loops_report.c */

/* `jankbpf loops`: prints at the end on stdout. Called on the sink thread. */
void session__report_loops(void *session, struct loop_owner *loop_owner);

#endif
