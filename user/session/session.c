/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life of a run: open what is needed, attach, run the loop, close. The intake thread waits for the
 * ring, signals, timers and the ends of the traced processes in one epoll.
 */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "catalogue/catalogue.h"
#include "files/apart.h"
#include "journal/answers.h"
#include "probes/preflight.h"
#include "probes/privileges.h"
#include "procfs/host.h"
#include "session/limits.h"
#include "session/session_parts.h"
#include "session/tracer_filter.h"

#define QUEUE_ITEMS	   4096
#define QUEUE_BYTES	   (16 << 20)
#define INTAKE_NICE	   (-10)
#define OUTPUT_PATIENCE_NS (2 * NS_PER_SEC)
#define OUTPUT_GRACE_NS	   (30 * NS_PER_SEC)

/* --- the catalogue's rows, those of -l, and the resulting filter */

static int open_selection(struct selection *sel, const struct options *opts, struct err *err)
{
	int res = catalogue__open(opts->loop_files, opts->loop_file_cnt, &sel->catalogue, err);

	if (!res)
		res = loop_choice__init(&sel->choice, sel->catalogue, opts->loops, opts->loop_cnt,
					err);
	if (res)
		return res;
	sel->filter = opts->filter;
	sel->filter.loops = loop_choice__waits(&sel->choice);
	res = filter__own_cgroups(&sel->filter);
	return res ? err__set(err, -res, "cannot keep the cgroups open: %s", strerror(-res)) : 0;
}

/* --- opening */

/* Open what needs no privilege first, so that user errors are reported before privilege errors. */
static int open_outputs(struct session *s, struct err *err)
{
	const struct sink_parts_opts opts = {
		.opts = s->opts,
		.catalogue = s->selection.catalogue,
		.choice = &s->selection.choice,
		.losses = &s->losses,
		.deliver = s->deliver,
		.react = s->react,
		.names = s->names,
		.debug_files = downloader__source(s->downloader),
	};

	return sink_parts__open(&s->sink, &opts, err);
}

static void on_facts(void *ctx, struct process_entry *process)
{
	session__limit(ctx, process);
}

static uint32_t uid_of(const void *ctx, uint32_t pid)
{
	return process_table__uid(ctx, pid);
}

static int open_parts(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;

	s->queue = queue__new(QUEUE_ITEMS, QUEUE_BYTES);
	s->intake.loops = loops__new(&s->losses);
	s->counts.live = hists__new();
	s->machine.machine = machine__new();
	s->event_loop = event_loop__new();
	if (!s->queue || !s->intake.loops || !s->counts.live || !s->machine.machine ||
	    !s->event_loop)
		return err__set(err, ENOMEM, "out of memory");
	loops__set_users(s->intake.loops, uid_of, &s->processes);
	machine__watch_heat(s->machine.machine, "/sys");
	s->machine.always_on = opts->command == CMD_AGENT;
	s->intake.judge = (struct judge){
		.threshold_ns = opts->threshold_ns,
		.hang_ns = opts->hang_ns,
		.startup_ns = opts->startup_ns,
		.fps = opts->fps,
		.debugging = opts->debugging,
		.host = &s->host,
		.real_offset_ns = clock__real_offset_ns(),
		.not_shown.tell = output__tell_not_shown,
	};
	if (s->sink.journal)
		journal__add_session(s->sink.journal, &s->intake.judge, opts->hang_ns);
	if (opts->interval_ns && intervals__open(&s->intervals))
		return err__set(err, ENOMEM, "out of memory");
	s->processes.queue = s->queue;
	s->processes.losses = &s->losses;
	s->processes.over_share = &s->counts.over_share;
	s->processes.on_facts = on_facts;
	s->processes.ctx = s;
	s->processes.marks_later = s->opts->marks == MARKS_AUTO && !s->opts->filter.all;
	s->mappings = (struct mapping_events){
		.losses = &s->losses,
		.processes = &s->processes,
	};
	return 0;
}

static int open_signals(struct run_end *end, bool agent, struct err *err)
{
	if (agent)
		signals__take_requests();
	end->signal_fd = signals__open(
		log__level() < LOG_NORMAL ? "" : "jankbpf: stopped before tracing began\n");
	end->closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (end->signal_fd < 0 || end->closed_fd < 0)
		return err__set(err, errno, "cannot wait for signals: %s", strerror(errno));
	return 0;
}

/* The ring, and the maps that the sink thread fills. */
static int open_maps(struct session *s, struct err *err)
{
	int res = loader__park_maps(s->loader, &s->sink.park_bpf_fds);

	if (!res)
		res = loader__copy_maps(s->loader, &s->sink.copy_bpf_fds);
	if (!res)
		res = loader__opening_maps(s->loader, &s->sink.opening_bpf_fds);
	if (!res)
		res = loader__script_maps(s->loader, &s->sink.interp_bpf_fds);
	if (!res && s->opts->record_ns)
		res = loader__map_history(s->loader, &s->sink.history_buffers);
	if (res)
		return err__set(err, -res, "cannot talk to the probes: %s", strerror(-res));
	return ring__new(loader__ring_fd(s->loader), session__on_record, s, &s->ring, err);
}

static int find_user(struct session *s, struct err *err)
{
	struct strbuf name = STRBUF_INIT;
	int res = user_account__find(s->opts->as, &s->as);

	if (!res)
		return 0;
	text__add_clean(&name, s->opts->as);
	err__set(err, -res, "--as '%.100s': %s", strbuf__str(&name),
		 res == -ENOENT ? "/etc/passwd has no such user: `id USER` shows whether a name is "
				  "right"
				: strerror(-res));
	strbuf__free(&name);
	return res;
}

/* The user of sudo may not know that COMMAND runs as root. */
static void suggest_user(const struct options *opts)
{
	const char *user = geteuid() ? NULL : getenv("SUDO_USER");

	if (opts->argv && !opts->as && user && *user && strcmp(user, "root"))
		log__info("'%s' runs as root; as your own user: --as %s", opts->argv[0], user);
}

static int start_command(struct session *s, struct err *err)
{
	suggest_user(s->opts);
	return workload__prepare(s->opts->argv, s->opts->as ? &s->as : NULL, &s->workload, err);
}

/* A run goes on without it, since it is a second wall; but it says so, as doctor does. */
static void report_no_filter(int res)
{
	if (res == -EOPNOTSUPP)
		log__warn("no filter of system calls: the tracer and its processes may make all of "
			  "them; build with libseccomp-dev, for a kernel with "
			  "CONFIG_SECCOMP_FILTER");
	else if (res)
		log__warn("the filter of system calls cannot be set up: %s; the tracer may make "
			  "all of them",
			  strerror(-res));
}

static int start_filter(const struct session *s)
{
	return tracer_filter__start(deliver__kind(s->opts), s->control.sock >= 0);
}

/* A run without the first one has had its warning. */
static void narrow_filter(const struct session *s)
{
	int res = tracer_filter__run(deliver__kind(s->opts), s->control.sock >= 0);

	if (res && res != -EOPNOTSUPP)
		report_no_filter(res);
}

/* A run goes on without it. */
static void open_notify(struct session *s)
{
	int res = notify__open(&s->notify);

	if (res)
		log__warn("NOTIFY_SOCKET: the service manager cannot be told that tracing began: "
			  "%s",
			  strerror(-res));
}

/* A run goes on without it: it may be the second agent of the machine. */
static void open_control(struct session *s)
{
	struct err err = {};

	if (s->opts->control && control__open(&s->control, s->opts->control, &err))
		log__warn("%s", err.msg);
}

/* With -vv: what the start has taken so far, without the kernel's memory for the probes. */
static void note_step(const struct session *s, const char *what)
{
	struct rusage use;

	if (log__level() < LOG_DEBUG || getrusage(RUSAGE_SELF, &use))
		return;
	log__debug("start: %s after %llu ms, %ld ms of CPU time, %ld MB of memory", what,
		   (clock__mono_ns() - s->begun_ns) / NS_PER_MS,
		   (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
			   (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000,
		   use.ru_maxrss >> 10);
}

static void report_container(void)
{
	if (!preflight__in_initial_ns("pid"))
		log__info("process ids are those of this container, and only its processes are "
			  "traced; outside of it, %u + N in records is process N of the machine",
			  JANK_PID_OUTSIDE);
}

static void report_hidden_names(void)
{
	if (preflight__sees_kernel_addresses())
		return;
	log__warn(
		"'/proc/kallsyms' shows no addresses, so the kernel's functions have no names and "
		"some waits no reason; it needs CAP_SYSLOG and kernel.kptr_restrict below 2, and "
		"a service without ProtectKernelTunables=");
}

/* Our processes, which run beside us to the end. */
static int start_processes(struct session *s, struct err *err)
{
	int res = 0;

	if (options__traces(s->opts)) /* it becomes another user */
		res = deliver__start(s->opts, &s->deliver, err);
	if (!res)
		res = downloader__start(&s->downloader, err);
	if (!res)
		res = react__start(s->opts, &s->react, err);
	if (!res)
		res = sender_process__start(s->opts, &s->sender, err);
	if (!res) /* each becomes a user of its own */
		res = name_client__start(NAME_TASK_NAMES, &s->names, err);
	if (!res)
		res = name_client__start(NAME_TASK_SITES, &s->sites, err);
	return res;
}

static void *read_types(void *session)
{
	((struct session *)session)->types = kernel_types__read();
	return NULL;
}

/*
 * The start of our processes waits for them, and the kernel's types take as long to read. Not for
 * long: a thread's capabilities are its own.
 */
static int start_and_read(struct session *s, struct err *err)
{
	pthread_t reader;
	bool beside = !thread__start(&reader, "jank-types", read_types, s);
	int res = start_processes(s, err);

	if (beside)
		pthread_join(reader, NULL);
	else
		read_types(s);
	return res;
}

/* All programs are loaded. */
static void free_types(struct session *s)
{
	kernel_types__free(s->types);
	s->types = NULL;
}

/* COMMAND first: it inherits the signals and limits as we got them. */
static int open_session(struct session *s, struct err *err)
{
	int res = s->opts->as ? find_user(s, err) : 0;

	if (s->opts->command == CMD_AGENT) {
		open_notify(s);
		open_control(s);
	}
	if (!res && s->opts->argv)
		res = start_command(s, err);
	if (!res)
		res = open_signals(&s->end, s->opts->command == CMD_AGENT, err);
	if (!res)
		res = preflight__check(err);
	if (!res)
		res = start_and_read(s, err);
	if (!res)
		res = features__probe(s->types, s->opts->disabled, s->opts->disabled_cnt,
				      &s->features, err);
	note_step(s, "helper processes and features");
	if (!res)
		res = features__require(&s->features, err);
	/* Before there are threads or the helper process: a thread's capabilities are its own. */
	if (!res)
		res = privileges__drop(err);
	if (!res)
		report_no_filter(start_filter(s));
	if (!res)
		res = host__read(s->opts->host_name, &s->host, err);
	/* Before there are threads, the ring and much memory to share. */
	if (!res && apart__start())
		log__verbose("no process for reads that may never end; it is tried again later");
	if (!res)
		res = name_client__open_sites(s->sites, err);
	if (!res)
		res = open_selection(&s->selection, s->opts, err);
	if (!res)
		res = open_outputs(s, err);
	if (!res)
		res = open_parts(s, err);
	limits__raise();
	if (!res)
		res = session__open_probes(s, err);
	note_step(s, "loaded probes");
	if (!res) {
		report_hidden_names();
		report_container();
	}
	return res ? res : open_maps(s, err);
}

/* --- attaching */

static int start_sink_thread(struct session *s, struct err *err)
{
	const struct sink_thread_opts opts = {
		.queue = s->queue,
		.parts = &s->sink,
		.report_unwatched = s->opts->command == CMD_AGENT ||
				    (options__traces(s->opts) && s->opts->format != FORMAT_TEXT),
		.intervals = s->opts->interval_ns,
		.eager = !s->opts->filter.all || !s->selection.choice.any,
		.prepared = s->opts->pids,
		.prepared_cnt = s->opts->pid_cnt,
		.at_end = s->opts->command == CMD_LOOPS ? session__report_loops : NULL,
		.at_end_ctx = s,
		.deliver = s->deliver,
		.names = s->names,
		.count = s->opts->command == CMD_TOP ? 0 : s->opts->count, /* it counts tables */
		.closed_fd = s->end.closed_fd,
	};

	return sink_thread__start(&opts, &s->sink_thread, err);
}

/* The parts that borrow the loader. */
static void init_watches(struct session *s)
{
	s->compat_watch = (struct compat_watch){
		.loader = s->loader,
		.filter = &s->selection.filter,
		.processes = &s->processes,
	};
	s->cgroup_watch = (struct cgroup_watch){
		.filter = &s->selection.filter,
		.loader = s->loader,
		.mains = s->discovery.mains,
	};
	s->unwatched_look = (struct unwatched_look){
		.opts = s->opts,
		.filter = &s->selection.filter,
		.processes = &s->processes,
		.loader = s->loader,
		.compat = &s->compat_watch,
		.mains = s->discovery.mains,
		.openings = &s->openings,
		.startups = &s->startups,
		.queue = s->queue,
		.losses = &s->losses,
		.start_ns = &s->counts.start_ns,
	};
}

static int trace_targets(struct session *s, struct err *err)
{
	int res = 0;

	for (size_t i = 0; i < s->opts->pid_cnt && !res; i++) {
		res = session__trace(s, s->opts->pids[i], err);
		loader__admit(s->loader, s->opts->pids[i]); /* session__place_probes tells errors */
	}
	if (!res && s->opts->argv)
		res = session__trace(s, s->workload.pid, err);
	return res;
}

/* From here on it is known what runs on each CPU. */
static void begin_history(struct session *s)
{
	history_buffers__begin(&s->sink.history_buffers);
	histories__begin(s->sink.histories, &s->sink.history_buffers, clock__mono_ns());
}

static int begin_state(struct session *s, struct err *err)
{
	int res = session__begin_state(s) ?: session__begin_control(s) ?: session__use_budget(s);

	return res ? err__set(err, -res, "cannot watch for events: %s", strerror(-res)) : 0;
}

static int attach(struct session *s, struct err *err)
{
	int res = start_sink_thread(s, err);

	if (!res)
		res = trace_targets(s, err);
	if (!res)
		res = loader__attach(s->loader, err);
	free_types(s);
	s->intake.attached_ns = clock__mono_ns();
	if (!res)
		narrow_filter(s);
	if (!res && s->opts->record_ns)
		begin_history(s);
	if (!res)
		mapping_events__open(&s->mappings, s->event_loop);
	if (!res) /* last: dispatches that they open must be accounted from their start */
		res = session__place_probes(s, err);
	if (!res)
		session__open_mains(s);
	init_watches(s);
	cgroup_watch__begin(&s->cgroup_watch);
	if (!res)
		res = session__add_events(s, err);
	if (!res)
		compat_watch__look(&s->compat_watch);
	if (!res)
		session__follow(s);
	session__begin_counts(s);
	if (!res && loader__files(s->loader))
		res = uprobe_files__start(loader__files(s->loader), err);
	signals__block();
	if (!res)
		session__begin_openings(s);
	if (!res)
		session__begin_startups(s);
	if (!res && !s->opts->argv) /* makes the probes learn the sleeping threads (iter.bpf.c) */
		session__look(s, NULL);
	if (openings__await_stacks(&s->openings))
		session__look_for_hangs(s);
	if (!res && s->opts->argv)
		res = workload__go(&s->workload, s->opts->argv, err);
	if (!res && options__traces(s->opts) && !options__has_screen(s->opts))
		session__report_ready(s);
	if (!res && s->opts->command == CMD_AGENT)
		res = begin_state(s, err);
	note_step(s, "attached probes");
	if (!res)
		log__verbose("tracing; waits by %s, samples by %s",
			     loader__wait_probe(s->loader) == WAIT_UPROBES ? "uprobes"
									   : "tracepoints",
			     loader__sampler_clock(s->loader));
	return res;
}

/*
 * Raises the priority of this thread alone, which runs 1 % of the time. If it gets no CPU, records
 * waiting in the ring may be lost.
 */
static void go_first(void)
{
	if (setpriority(PRIO_PROCESS, gettid(), INTAKE_NICE))
		log__verbose("the ring's reader has no higher priority: %s", strerror(errno));
}

static int run(struct session *s, struct err *err)
{
	int res = 0;

	go_first();
	while (!s->end.stop && !res)
		res = event_loop__round(s->event_loop);
	if (res)
		return err__set(err, -res, "cannot wait for events: %s", strerror(-res));
	return 0;
}

/*
 * The counts of the summary and of the journal come from the same look. In the journal they come
 * last, since a thread's counts mark its end there.
 */
static void finish(struct session *s)
{
	struct strbuf live = STRBUF_INIT;

	notify__send(&s->notify, "STOPPING=1");
	if (s->intervals.told && s->opts->command != CMD_TOP)
		session__interval(s);
	sink_thread__hurry(s->sink_thread);
	name_client__hurry(s->sites);
	session__look(s, s->sink.journal ? &live : NULL);
	ring__drain(s->ring);
	strbuf__add(&s->intake.raw, live.data, live.len);
	if (live.failed)
		losses__add(&s->losses, LOSS_JOURNAL, 1);
	strbuf__free(&live);
	session__flush_raw(s);
	session__send_summary(s);
}

/*
 * With --duration nobody may be there to give up. So the run ends when stdout has taken no record
 * for OUTPUT_GRACE_NS. True: all is written, or given up.
 */
static bool finish_in_time(struct session *s)
{
	uint64_t since_ns = clock__mono_ns(), taken = deliver__taken(s->deliver);

	while (!sink_thread__finish(s->sink_thread, NS_PER_SEC)) {
		uint64_t now_ns = clock__mono_ns(), cnt = deliver__taken(s->deliver);

		if (cnt != taken || react__is_finishing(s->react))
			since_ns = now_ns;
		taken = cnt;
		if (now_ns - since_ns < OUTPUT_GRACE_NS)
			continue;
		deliver__give_up(s->deliver, now_ns - since_ns);
		return sink_thread__finish(s->sink_thread, 0);
	}
	return true;
}

/* A reader of our stdout may only be slow: keep waiting. Without --duration the user gives up. */
static void finish_output(struct session *s)
{
	if (sink_thread__finish(s->sink_thread, OUTPUT_PATIENCE_NS))
		return;
	log__warn(react__is_finishing(s->react)
			  ? "waiting for commands to end; Ctrl-C again gives them up"
			  : "waiting for stdout to take the rest; Ctrl-C again gives it up");
	signals__default(s->end.signal_fd);
	if (!s->opts->duration_ns || !s->deliver || !finish_in_time(s))
		sink_thread__finish(s->sink_thread, 0);
}

/* Whoever asked for records must learn from the exit status that some are missing. */
static bool lost_output(const struct session *s)
{
	return s->opts->command == CMD_TRACE &&
	       (s->losses.cnt[LOSS_UNWRITTEN] || s->losses.cnt[LOSS_JOURNAL]);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void close_session(struct session *s, int *status, struct err *err)
{
	log__status(NULL);
	session__keep_losses(s);
	openings__end(&s->openings);
	startups__end(&s->startups);
	free_types(s);
	loader__free(s->loader); /* a slow output must not slow down the traced processes */
	ring__free(s->ring);
	mapping_events__close(&s->mappings);
	workload__stop(&s->workload);
	user_account__free(&s->as);
	finish_output(s);
	session__report_losses(s);
	event_loop__free(s->event_loop);
	process_table__free(&s->processes);
	unwatched_look__free(&s->unwatched_look);
	mains__free(s->discovery.mains);
	sink_parts__close(&s->sink);
	if (!err->msg[0] && deliver__failure(s->deliver, err) && !*status)
		*status = JANK_EXIT_FAILED;
	if (!*status && lost_output(s))
		*status = JANK_EXIT_FAILED;
	deliver__free(s->deliver);
	sender_process__free(s->sender); /* the last batch is closed */
	react__free(s->react);
	name_client__free(s->names);
	downloader__free(s->downloader);
	name_client__free(s->sites);
	catalogue__close(s->selection.catalogue);
	filter__close(&s->selection.filter);
	queue__free(s->queue);
	loops__free(s->intake.loops);
	wait_copies__free(&s->intake.wait_copies);
	strbuf__free(&s->intake.raw);
	hists__free(s->counts.live);
	intervals__close(&s->intervals);
	machine__free(s->machine.machine);
	host__free(&s->host);
	cost_meter__close(&s->cost_meter);
	close_fd(s->end.signal_fd);
	close_fd(s->end.closed_fd);
	live_options__release(s->reload.live);
	notify__close(&s->notify);
	control__close(&s->control);
	close_fd(s->govern.stats_fd);
	pause__free(&s->pause);
}

int session__run(const struct options *opts, struct err *err)
{
	struct session s = {
		.opts = opts,
		.begun_ns = clock__mono_ns(),
		.workload = { .go_fd = -1, .failed_fd = -1 },
		.cost_meter = { .stats_fd = -1 },
		.site_search = { .timer_fd = -1 },
		.sink = SINK_PARTS_NONE,
		.end = { .signal_fd = -1, .closed_fd = -1 },
		.intervals = { .timer_fd = -1 },
		.notify = { .sock = -1 },
		.control = { .sock = -1 },
		.govern = { .stats_fd = -1 },
		.discovery = { .more_fd = -1 },
		.openings = { .maps = { -1, -1, -1 } },
		.startups = { .maps = { -1, -1, -1 }, .stop_fd = -1, .due_fd = -1 },
	};
	int res = open_session(&s, err) ?: attach(&s, err);
	bool opened = !limits__explain(res, err);
	int status = JANK_EXIT_OK;

	signals__block();
	if (!opened || run(&s, err))
		status = err->exit ? err->exit : JANK_EXIT_FAILED;
	else
		finish(&s);
	workload__reap(&s.workload);
	if (!status && s.workload.ended && !s.end.own_end)
		status = workload__exit_status(&s.workload);
	close_session(&s, &status, err);
	return status;
}
