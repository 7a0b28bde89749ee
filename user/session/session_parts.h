/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a session, each with its owner: the file named above its struct. `struct session` only
 * holds the parts. A function takes its part; it takes the session if it touches several parts.
 * All functions run on the intake thread; the parts of the sink thread are in sink_thread.h.
 */
#ifndef JANK_SESSION_SESSION_PARTS_H
#define JANK_SESSION_SESSION_PARTS_H

#include "base/err.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "catalogue/catalogue.h"
#include "catalogue/wait_note.h"
#include "deliver/deliver.h"
#include "deliver/downloader.h"
#include "deliver/react.h"
#include "deliver/sender_process.h"
#include "enrich/machine.h"
#include "files/user_account.h"
#include "intake/records.h"
#include "model/block.h"
#include "model/event.h"
#include "model/governor.h"
#include "model/hist.h"
#include "model/loop.h"
#include "model/loss.h"
#include "model/unwatched.h"
#include "name/name.h"
#include "options/filter.h"
#include "options/options.h"
#include "probes/features.h"
#include "probes/kernel_types.h"
#include "probes/loader.h"
#include "session/control.h"
#include "session/event_loop.h"
#include "session/live_options.h"
#include "session/main_handler.h"
#include "session/notify.h"
#include "session/queue.h"
#include "session/sink_thread.h"
#include "session/startup_names.h"
#include "uprobes/mmaps.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* --- process_table.c: the traced processes, and their facts as the sink thread gets them */

/*
 * Duty cycle of a process's marks. Each message costs a trap of 1 to 3 us. That is nothing for a
 * window's hundreds a second, but a tenth and more for a server with ten thousands. A process has
 * its marks off at first, and gets them after a second below this rate; one that exceeds it loses
 * them at once. A busy server has them when a dispatch was slow, then for some seconds, a tenth of
 * the time at most.
 */
#define MARKS_BUSY_HZ 2000 /* dispatches or marks: 2,000 traps of 3 us are 0.6 % of a CPU */

struct mark_duty {
	uint64_t looked_ns, dispatch_cnt; /* as of the last look */
	uint64_t rate;			  /* dispatches a second up to the last look */
	/* times of the last switch; on_ns 0: not for a slow dispatch; off_ns 0: never busy */
	uint64_t on_ns, off_ns;
	bool on;
	bool slow; /* a dispatch was slow since they went off */
};

/*
 * dispatch_cnt: dispatches of the process up to now_ns. A call less than a second after the last
 * look only returns the current state. Returns whether the marks are to be on.
 */
bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt);

/* A dispatch was a block or hangs. */
void mark_duty__slow(struct mark_duty *duty);

/* A thread meets marks at this rate, a busy one, in marks a second. */
void mark_duty__busy(struct mark_duty *duty, uint64_t now_ns, uint64_t rate);

struct process_entry {
	uint32_t pid;
	int pidfd;		   /* -1 once it has ended; with -a also if none could be opened */
	struct identity *identity; /* NULL: not read yet */
	bool found;		   /* by its records or as a child; false: the user gave its pid */
	bool keeps_alive;	   /* tracing continues while it lives */
	bool ended;		   /* -a: ended before it was read */
	bool announced;		   /* the sink thread knows it */
	bool facts_due;		   /* its queue refused the last facts */
	/* since when a thread, and the main thread, is known to loop (CLOCK_MONOTONIC); 0: not */
	uint64_t loop_ns, main_ns;
	struct unwatched_list formerly; /* what was not watched of it, and is by now */
	bool scan_due;			/* may have mapped libraries that were not searched */
	unsigned probe_cnt;		/* uprobes in its mappings */
	uint64_t dispatch_cnt;		/* of its live threads, as of the last look */
	struct mark_duty duty;
	bool marks_off;	      /* as set in the loader */
	uint64_t limit_ns;    /* its least threshold; 0: no override; UINT64_MAX: not watched */
	unsigned over_budget; /* the governor's level that does not watch it; 0: none */
	uint64_t now_cnt, rate_cnt; /* dispatches; of the last period */
	UT_hash_handle hh;
};

struct pending_exit {
	uint32_t pid, uid;
};

struct process_table {
	struct queue *queue; /* borrowed, as are losses and over_share */
	struct losses *losses;
	struct over_shares *over_share;
	void (*on_facts)(void *ctx, struct process_entry *process); /* they are read again */
	void *ctx;
	struct process_entry *entries;	    /* by pid */
	unsigned alive_cnt;		    /* of those with keeps_alive */
	struct pending_exit *pending_exits; /* of processes that the sink thread still knows */
	size_t pending_cnt;
	bool marks_later; /* of new processes; with -a they have the marks of their files at once */
};

struct process_entry *process_table__find(const struct process_table *table, uint32_t pid);
struct process_entry *process_table__add(struct process_table *table, uint32_t pid); /* or NULL */
void process_table__drop(struct process_table *table, struct process_entry *process);
void process_table__free(struct process_table *table);
uint32_t process_table__uid(const struct process_table *table, uint32_t pid); /* or UID_UNKNOWN */

/*
 * Puts an item of a process into the queue and sets its uid. False: refused and counted as a loss,
 * as share_exceeded of the user if that is the reason, else as `reason`. kind: JANK_SHARE_*.
 */
bool process_table__queue(struct process_table *table, struct item *item, int reason,
			  unsigned kind);

/*
 * Reads the process's facts from /proc and passes them to the sink thread. -ESRCH: it ended, or it
 * started after ts_ns, so the pid was reused.
 */
int process_table__read(struct process_table *table, struct process_entry *process, uint64_t ts_ns,
			struct err *err);
/* The process can't be read any more: its name is comm. Returns 0 or -ENOMEM. */
int process_entry__set_name(struct process_entry *process, const char *comm);
void process_table__announce(struct process_table *table, struct process_entry *process);
/* Announces those again that the queue refused. */
void process_table__announce_due(struct process_table *table);

/* False: the queue to the sink thread is full. */
bool process_table__send_exit(struct process_table *table, uint32_t pid);
void process_table__report_exit(struct process_table *table, uint32_t pid); /* now or later */
void process_table__report_pending(struct process_table *table);

bool process_entry__has_ended(const struct process_entry *process);
void process_table__saw(struct process_table *table, const struct jank_rec *hdr); /* it loops */

/* --- process_life.c: a process from its first pidfd to its end */

/* Search for uprobe sites in programs that have just started. */
struct site_search {
	int timer_fd; /* -1: no search is on */
	unsigned try_cnt;
	bool leases_reported; /* the warning about a file that could not be searched is logged */
};

int session__trace(struct session *s, pid_t pid, struct err *err); /* a given pid */
/* Opens a pidfd. -errno: the end is then found by session__sweep. */
int session__watch_end(struct session *s, struct process_entry *process);
void session__unwatch_end(struct session *s, struct process_entry *process);
/* The one exit path of the intake thread. All records of the process must have been handled. */
void session__on_exit(struct session *s, struct process_entry *process);
void session__on_exec(struct session *s, const struct jank_rec_exec *rec);
void session__on_new_loop(struct session *s, uint32_t pid);
int session__place_probes(struct session *s, struct err *err); /* into all of them */
void session__scan_due(struct session *s);
void session__pace_marks(struct session *s); /* after each look at the threads */
void session__on_busy_marks(struct session *s, const struct jank_rec_marks *rec);

/*
 * --- main_threads.c: processes of -a with a main thread watched wherever it waits (docs/loops.md).
 * The filters must admit them; they must be at least one second old; at most MAINS_MAX at once.
 * Found by reading /proc.
 */

#define MAINS_MAX 768 /* of JANK_PARKER_MAX: the rest is for runtimes */

struct mains;

/*
 * admit: start watching a process. drop: a watched process ended. Both return false if that failed;
 * the call is then repeated.
 */
struct mains_opts {
	const struct filter *filter; /* borrowed */
	bool (*admit)(void *ctx, uint32_t pid);
	bool (*drop)(void *ctx, uint32_t pid);
	void *ctx;
};

struct mains *mains__new(const struct mains_opts *opts); /* NULL: out of memory */
void mains__free(struct mains *mains);			 /* accepts NULL */

/*
 * Reads the list of processes if there may be a new one, for at most max_ns. first: accept existing
 * processes of any age, until the list is read. Returns 1 if there is more of it, which the next
 * call reads; else 0, or -ENOMEM if some are not watched.
 */
int mains__look(struct mains *mains, bool first, uint64_t max_ns);

/* The process replaced its program: treat it as new. */
void mains__renew(struct mains *mains, uint32_t pid);

/* The filter has changed: check all refused processes again. */
void mains__recheck(struct mains *mains);

/* True if the process is left out because of MAINS_MAX. */
bool mains__is_beyond(const struct mains *mains, uint32_t pid);

/* --- discovery.c: processes found by their records: with -a all, with -f the children */

struct discovery {
	struct mains *mains; /* NULL: without -a, or the kernel has no task iterator */
	int more_fd;	     /* timer of another look for mains; -1: none */
	uint64_t period_ns;  /* start of the current period of asked_cnt */
	unsigned asked_cnt;  /* processes that were added because a thread asked */
};

void session__follow(struct session *s); /* existing children */
void session__on_process(struct session *s, const struct event *event);
/* A process starts up: it is described before its first stack comes. */
void session__on_starting(struct session *s, uint32_t pid, const char *comm);
void session__on_children(struct session *s); /* children without a known loop */
void session__open_mains(struct session *s);
/* -a: main threads to watch. True: there are more. */
bool session__look_for_mains(struct session *s, bool first);
/* True if the asking process is known. With -a it becomes traced here, at a limited rate. */
bool session__on_asking(struct session *s, const struct jank_rec_wait *rec);
void session__sweep(struct session *s); /* periodic: finds ended processes without an exit event */

/* --- workload.c: `jankbpf -- COMMAND`, a child that waits for the probes before its exec */

struct workload {
	pid_t pid;	/* 0: none */
	const char *as; /* name of its user, borrowed from the account; NULL: ours */
	int go_fd;	/* closing it without a write ends the child */
	int failed_fd; /* delivers the errno of a failed exec, or of a user that it cannot become */
	bool ended;
	int status; /* as from waitpid, once ended */
};

/*
 * Forks; the child becomes that user (NULL: it stays as we are) and waits. The child inherits the
 * signal state: call this before changing it.
 */
int workload__prepare(char **argv, const struct user_account *as, struct workload *ret,
		      struct err *err);

/* Lets the child exec. -errno with a message if that fails: no such program, no permission, … */
int workload__go(struct workload *wl, char **argv, struct err *err);

/* Records the exit status if the child has ended. */
void workload__reap(struct workload *wl);

/* Ends the child if it still runs: SIGTERM, and SIGKILL after two seconds. */
void workload__stop(struct workload *wl);

/* Exit status as in a shell: 128 + signal for a killed child. */
int workload__exit_status(const struct workload *wl);

/* --- probe_choice.c: choose and open the probes, report the missing ones */

int session__open_probes(struct session *s, struct err *err); /* needs features, loops, workload */

/*
 * Watch for 32-bit programs that start during the run. Their waits have separate probes, attached
 * while such programs exist.
 */
struct compat_watch {
	struct loader *loader; /* borrowed, as are filter and processes */
	const struct filter *filter;
	const struct process_table *processes;
	bool some;	    /* there are such programs, wanted or not, or were at the last look */
	bool attached;	    /* the probes are */
	bool reported;	    /* the log has a line on them */
	pid_t last;	    /* a wanted one, as of the last look; 0: none */
	unsigned empty_cnt; /* looks in a row without a wanted one */
	uint64_t look_ns, cost_ns; /* time of the last look; CPU time that it cost us */
};

#ifdef __aarch64__
#define COMPAT_NO_UPROBES "the kernel has no uprobes in those"
#else
#define COMPAT_NO_UPROBES "uprobes are for 64-bit ones"
#endif

void compat_watch__on_exec(struct compat_watch *watch, uint32_t pid); /* it runs one now */
void compat_watch__look(struct compat_watch *watch); /* at the start and periodically */

/* --- cgroup_watch.c: cgroups of the selection that are removed and made again */

struct cgroup_watch {
	struct filter *filter; /* borrowed, as are the next two */
	struct loader *loader;
	struct mains *mains;	   /* may be NULL */
	uint64_t look_ns, cost_ns; /* time of the last look; CPU time that it cost us */
	bool told[FILTER_MAX];	   /* by name: the log says that it is missing */
};

void cgroup_watch__begin(struct cgroup_watch *watch); /* reports what is missing */
void cgroup_watch__look(struct cgroup_watch *watch);  /* periodic */

/* --- intake.c: mappings of the traced processes, in order with the stack copies */

struct mapping_events {
	struct process_table *processes; /* borrowed, as is losses */
	struct losses *losses;
	struct mmaps *mmaps; /* NULL: the kernel gives no events */
};

void mapping_events__open(struct mapping_events *events, struct event_loop *loop);
void mapping_events__until(struct mapping_events *events,
			   uint64_t t_ns); /* passes on earlier ones */
void mapping_events__close(struct mapping_events *events);

/* --- intake.c: what the machine did meanwhile, at a limited cost */

struct machine_readings {
	struct machine *machine;
	uint64_t read_ns, cost_ns; /* time of the last reading; CPU time that it cost us */
	uint64_t block_ns;	   /* time of the last block */
	bool always_on;		   /* the run has no end: the timer reads less often */
	int timer_fd;
	uint64_t period_ns; /* of the timer */
};

void machine_readings__read(struct machine_readings *readings, uint64_t now_ns);
/* The same, called by a timer. Sets period_ns: without blocks an agent reads once a second. */
void machine_readings__due(struct machine_readings *readings);

/* --- unwatched_look.c: what is not watched, and why */

struct openings;

/* The first look runs in slices: the next slice continues with the members below `proc`. */
struct unwatched_look {
	const struct options *opts; /* borrowed, as are all up to losses */
	const struct filter *filter;
	struct process_table *processes;
	struct loader *loader;
	const struct compat_watch *compat;
	const struct mains *mains;	 /* may be NULL */
	const struct openings *openings; /* may be NULL */
	struct startups *startups;	 /* may be NULL */
	struct queue *queue;
	struct losses *losses;
	const uint64_t *start_ns; /* of the run */
	DIR *proc;
	struct unwatched_list *list; /* NULL: not started, or finished */
	size_t found_cnt;	     /* what the last finished look found */
	uint64_t report_ns;
	int timer_fd;
	struct unwatched_list children; /* not traced, as of the first look */
};

/* Called at the end. True: a loop waits that was never seen to turn. */
bool unwatched_look__at_end(struct unwatched_look *look, struct unwatched_list *ret);
/* Runs a slice of the first look. True: it was the last; the result goes to the sink thread. */
bool unwatched_look__slice(struct unwatched_look *look);
/* wakeups.c: an agent's next look is due: what it does not watch has changed. */
void session__look_unwatched_soon(struct session *s);
void unwatched_look__free(struct unwatched_look *look);

/*
 * --- formerly.c: what was not watched of a process for a part of the run
 *
 * Times are CLOCK_MONOTONIC; start_ns is the start of the run. Used on the intake thread only.
 */

/*
 * A loop became known by this wait. Sets since when its thread is watched: its blocks on probation
 * are reported, too (probation.c). Keeps an entry if that is later than the start.
 */
void formerly__on_wait(struct process_entry *process, const struct catalogue *cat,
		       const struct jank_rec_wait *rec, uint64_t start_ns, struct losses *losses);
/* Keeps what a look found, until a loop becomes known. */
void formerly__keep(struct process_entry *process, const struct unwatched *item,
		    struct losses *losses);
/* Adds the kept entries that are over, with their times. Returns 0 or -ENOMEM. */
int formerly__add(const struct process_entry *process, const char *name, uint64_t start_ns,
		  struct unwatched_list *ret);
/* Since when this entry holds: a thread was known to loop before. 0: from the start. */
uint64_t formerly__from_ns(const struct process_entry *process, const struct unwatched *item,
			   uint64_t start_ns);

/* --- own_cost.c */

/*
 * The kernel's run-time statistics of BPF programs cost time, so they are on only in short windows.
 * The windows are rare, since the kernel patches its code at start and end of each.
 */
struct cost_meter {
	int stats_fd; /* open within a window, else -1 */
	int timer_fd;
	bool always; /* another user switched the statistics on permanently */
	uint64_t window_start_ns, windows_ns, last_ns, every_ns;
};

void cost_meter__tick(struct cost_meter *meter); /* timer; needs FEATURE_BPF_STATS */
void cost_meter__close(struct cost_meter *meter);
/* Extrapolates the costs counted in the windows to the whole run. False: unknown. */
bool cost_meter__bpf(struct cost_meter *meter, struct loader *loader, uint64_t elapsed_ns,
		     uint64_t *ret_ns, uint64_t *ret_runs);

#define OWN_PROCESSES 8

/* CPU time of our processes, which are restarted when they end. */
struct own_cpu {
	struct {
		pid_t pid; /* 0: none */
		uint64_t ns;
	} of[OWN_PROCESSES];
	uint64_t gone_ns; /* of those that ended */
};

/* The sum of all, also those that ended: it never falls. pids: 0 for none; of: 0 if unknown. */
uint64_t own_cpu__sum(struct own_cpu *own, const pid_t pids[OWN_PROCESSES],
		      uint64_t (*of)(pid_t pid));

uint64_t session__own_cpu_ns(struct session *s);       /* of the run */
uint64_t session__own_rss_kb(const struct session *s); /* of all that live now */
/*
 * The same with pages that they share counted once; 0: not known. Reads page tables: 0.1 ms for
 * each 10 MiB.
 */
uint64_t session__own_pss_kb(const struct session *s);

/* --- report.c: counts, losses, status line, summary */

#define LOOK_MAX_NS NS_PER_SEC /* between two looks at the threads */

struct report {
	struct hists *live;	      /* as of the last look at the threads */
	uint64_t start_ns, status_ns; /* of the run; of the last status line */
	uint64_t look_ns;	      /* time of the last look */
	int hang_fd;		      /* alarm for a look when a dispatch reaches a limit */
	uint64_t hang_limits[JANK_HANG_LIMITS]; /* ages of a dispatch; UINT64_MAX: none */
	size_t loop_cnt;			/* at the last look */
	uint64_t block_cnt, hang_cnt;		/* reported before it */
	bool told_reach;			/* how far back the buffers of --record reach */
	uint64_t start_cpu_ns;			/* our CPU time before it */
	struct losses kernel_losses;		/* as of the end */
	struct over_shares over_share;		/* of the queue */
};

/* Looks at the threads: hangs go to the ring, counts to `live` and, if requested, to records. */
void session__look(struct session *s, struct strbuf *records);
/* The same without the counts, which cost the most: `live` stays as it is. */
void session__look_for_hangs(struct session *s);
/* Looks, unless the counts are less than a second old. */
void session__renew_counts(struct session *s);
void session__status(struct session *s);
/* Says on stderr that tracing has begun, and of what. */
void session__report_ready(const struct session *s);
/* The run begins now. */
void session__begin_report(struct session *s);
int session__send_summary(struct session *s);
void session__interval(struct session *s);	/* sends one to the sink thread */
void session__keep_losses(struct session *s);	/* of the kernel side, before it is closed */
void session__report_losses(struct session *s); /* on stderr, after all output */
void session__report_unread(void);		/* new reasons of unread.h */

/* --- interval.c: counts of parts of the run (--interval) */

struct intervals {
	struct hists *told; /* NULL: not asked for */
	struct losses losses;
	uint64_t end_ns, cpu_ns;    /* as of the last one */
	struct open_dispatch *open; /* as of the last look */
	size_t open_cnt, open_cap;
	uint64_t open_more; /* without room in open */
	int timer_fd;	    /* -1: none */
};

/* What has happened up to t_ns. */
struct intervals_now {
	uint64_t t_ns, threshold_ns, cpu_ns, rss_kb;
	struct hists *hists;
	struct losses losses;
};

int intervals__open(struct intervals *iv); /* 0 or -ENOMEM */
void intervals__close(struct intervals *iv);
void intervals__begin_look(struct intervals *iv);
/* A live thread in a look. 0 or -ENOMEM. */
int intervals__saw(struct intervals *iv, const struct jank_rec_thread *rec, uint64_t threshold_ns);
/* What is new since the last one. 0 or -ENOMEM; interval__free in both cases. */
int intervals__take(struct intervals *iv, const struct intervals_now *now, struct interval *ret);

/*
 * --- reload.c: SIGHUP of the agent
 */

struct reload {
	struct live_options *live; /* NULL: the options of the start apply */
};

void session__reload(struct session *s);
int session__time_intervals(struct session *s, uint64_t ns); /* from now on. 0 or -errno */

/* --- overrides.c: [override NAME] of the agent's configuration */

const struct options *session__options(const struct session *s); /* as of the last reload */
/* Sets the process's limit, also in the probes, and whether it is watched. */
void session__limit(struct session *s, struct process_entry *process);
size_t session__off_cnt(const struct session *s); /* living processes that are switched off */
void session__limit_all(struct session *s);	  /* the overrides, or the budget, have changed */

/* --- openings.c: dispatches that were open before the trace */

struct openings {
	pthread_t thread; /* reads the processes */
	bool started;
	atomic_bool looked, read; /* all are found; and their stacks are read */
	atomic_bool stop;
	const pid_t *pids; /* -p, borrowed, as are the next two */
	const struct catalogue *catalogue;
	struct queue *queue;
	struct filter filter; /* of -a, as at the start; the intake thread asks again */
	size_t pid_cnt;
	bool all;
	bool plain; /* the probes are: no dispatch can be opened */
	struct main_handler found[JANK_OPENING_MAX];
	atomic_size_t found_cnt;
	atomic_size_t told_cnt; /* the probes know these */
	struct opening_bpf_fds maps;
};

/* Begins to look for main threads in a handler, and waits for that of -p, but not long. */
void session__begin_openings(struct session *s);
/* Before a look at the threads, which opens the dispatches that are found by now. */
void session__tell_openings(struct session *s);
/* After that look, if there are any: waits for their stacks, but not long, and looks again. */
void session__await_stacks(struct session *s);
/* Are there answers to come, for which to look at the threads again? */
bool openings__are_pending(const struct openings *openings);
/* A thread has its loop there: the main thread was in no handler of it. */
void openings__on_loop(struct openings *openings, const struct jank_rec_loop *rec);
/* Since when the main thread of -p sleeps in a call that is no loop's wait; 0: not known. */
uint64_t openings__since(const struct openings *openings, uint32_t pid);
void openings__end(struct openings *openings);

/* --- startups.c: start-ups of processes that began during the trace */

/* A process whose start-up is watched. */
struct starting {
	uint32_t pid;
	uint64_t begin_ns;
	char comm[JANK_COMM_SZ];
	unsigned ask_cnt;     /* how often the probes were asked to open its dispatch */
	bool copied;	      /* its stack was, if it slept then */
	bool told;	      /* to the intake thread */
	uint64_t hang_due_ns; /* when to look whether it hangs; UINT64_MAX: no more */
	/* when it was opened it slept since then, with that count of sleeps; 0: it ran */
	uint64_t since_ns, sleep_cnt;
};

struct startups {
	pthread_t thread;     /* looks for them */
	int stop_fd, due_fd;  /* it is to end; the intake thread is to look at the threads */
	bool started, chosen; /* chosen: only the processes of -p and COMMAND */
	uint64_t period_ns, hang_ns;
	struct opening_bpf_fds maps;
	struct startup_names *names;
	pthread_mutex_t lock; /* for the list, where both threads use it */
	struct starting list[JANK_STARTUP_MAX];
	size_t cnt;
};

/* --startup, in ns; 0: off, or this kernel can't. */
uint64_t startups__threshold(const struct options *opts, const struct features *features);
void session__begin_startups(struct session *s);
/* Since when the main thread of a process that starts up sleeps; 0: not known. Any thread. */
uint64_t startups__since(struct startups *startups, uint32_t pid);
void startups__end(struct startups *startups);

/* --- pause.c: pause of the agent, and its control socket */

struct pause {
	bool on;
	uint64_t since_ns;	/* of the last change */
	uint64_t total_ns;	/* of the intervals that were paused */
	struct hists *excluded; /* what was counted in them; NULL: nothing */
};

/* The probes' threshold: that of the judge, or none. */
void session__use_threshold(struct session *s);
/* The interval was paused: takes its counts out. 0 or -ENOMEM. */
int pause__leave_out(struct pause *pause, struct interval *interval);
void pause__free(struct pause *pause);
int session__begin_control(struct session *s); /* 0 or -errno */

/* --- govern.c: the agent's budget of CPU time */

struct govern {
	struct governor gov;
	uint64_t period_ns, cpu_ns, dispatch_cnt; /* as of the last period */
	unsigned period_cnt;
	double rate;		/* dispatches a second */
	uint64_t last_ns;	/* cost of the last period */
	int stats_fd, probe_fd; /* -1: the kernel's statistics are off; the timer that ends them */
	bool runs;		/* there is a timer */
	uint64_t probe_start_ns, probe_ns;
	double bpf_share, probe_rate; /* time in the probes, as measured; the rate then */
	unsigned share_cnt;	      /* measurements in bpf_share */
	uint64_t blind_since_ns;
	bool tries;		/* it was blind: the next measurement decides whether it is again */
	uint64_t blind_cost_ns; /* then, in ns of CPU time a second */
	uint64_t step_cnt, blind_ns, bpf_ns; /* of the run */
	struct {
		uint64_t step_cnt, blind_ns, bpf_ns;
	} told; /* in intervals */
};

/* At the start, and when it may have changed. 0 or -errno. */
int session__use_budget(struct session *s);
void session__take_govern(struct session *s, struct interval *ret);

/* --- state.c: of the agent, for the log, the control socket and the service manager */

void session__log_state(struct session *s);
void session__add_state(struct session *s, struct strbuf *ret);	     /* the same lines */
void session__add_state_json(struct session *s, struct strbuf *ret); /* one object */
void session__tell_status(struct session *s); /* the manager; also periodic */
/* Tells the manager that tracing has begun; starts the timers of its messages. 0 or -errno. */
int session__begin_state(struct session *s);

/* --- report.c: for state.c */
struct hist_totals session__totals(const struct session *s);	      /* as of the last look */
void session__fill_now(struct session *s, struct intervals_now *ret); /* all but hists */

/* --- intake.c: record → event → dispatch → block → queue */

struct intake {
	struct judge judge;
	struct loops *loops;
	struct wait_copies wait_copies;
	struct strbuf raw;    /* records on their way to the journal */
	uint64_t attached_ns; /* when all probes were attached (CLOCK_MONOTONIC) */
	bool early_told;      /* that blocks before that may lack stacks */
};

void session__on_record(void *session, const void *data, size_t len);
void session__flush_raw(struct session *s);

/* --- wakeups.c: event sources of the intake thread */

int session__add_events(struct session *s, struct err *err); /* needs signals, ring, loader */

/* --- loops_report.c */

/* `jankbpf loops`: prints at the end on stdout. Called on the sink thread. */
void session__report_loops(void *session, struct loop_owner *loop_owner);

/* --- session.c */

/* The known loops, the wanted ones of -l, and the filter with their waits. */
struct selection {
	struct catalogue *catalogue;
	struct loop_choice choice;
	struct filter filter; /* owns its descriptors */
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
	struct report report;
	struct intervals intervals;
	struct run_end end;
	struct reload reload;
	struct notify notify;
	struct control control;
	struct pause pause;
	struct govern govern;
	bool limited; /* a process has had a limit of its own */
};

#endif
