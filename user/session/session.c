/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life of a run: open what is needed, attach, run the loop, close. The intake thread waits for the
 * ring, signals, timers and the ends of the traced processes in one epoll.
 */
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/log.h"
#include "catalogue/catalogue.h"
#include "enrich/block_facts.h"
#include "journal/answers.h"
#include "probes/preflight.h"
#include "procfs/host.h"
#include "session/event_loop.h"
#include "session/loops_report.h"
#include "session/session_parts.h"

/* --- limits */

/*
 * Raises the soft limit of open files to the hard one: a link takes two descriptors, each CPU and
 * uprobe one. The soft limit is low only for programs that use select(), which we do not. A COMMAND
 * is forked earlier, since it would inherit the raised limit.
 */
static void limits__raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

#define QUEUE_ITEMS	   4096
#define QUEUE_BYTES	   (16 << 20)
#define INTAKE_NICE	   (-10)
#define OUTPUT_PATIENCE_NS (2 * NS_PER_SEC)

static int name_live(void *ctx, uint32_t pid, struct stack *stack)
{
	return symbolizer__stack(ctx, pid, stack);
}

static uint64_t cut_cnt(void *ctx)
{
	return symbolizer__cut_cnt(ctx);
}

static int open_output(struct session *s, struct err *err)
{
	const struct namer namer = { .name = name_live,
				     .cut_cnt = cut_cnt,
				     .ctx = s->symbolizer,
				     .foreign = untraced_procs__name,
				     .foreign_ctx = s->foreign,
				     .message = read_message__fill,
				     .message_ctx = &s->message_names,
				     .waited = block_waits__name,
				     .callers = stack_cache__fill,
				     .callers_ctx = s->callers };

	return output__new(s->opts, &namer, s->journal, &s->losses, &s->output, err);
}

/* Open what needs no privilege first, so that user errors are reported before privilege errors. */
static int open_outputs(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;
	const struct symbolizer_opts sym_opts = { .demangle = true };
	int res;

	res = symbolizer__new(&sym_opts, &s->symbolizer, err);
	if (!res && err->msg[0]) /* usable, but without a debuginfod server */
		log__warn("%s", err->msg);
	if (!res)
		err->msg[0] = '\0';
	if (!res && opts->journal)
		res = journal_writer__new(opts->journal, &s->journal, err);
	if (!res)
		res = session__open_loops(s, err);
	s->message_names = (struct message_names){ s->symbolizer, s->catalogue };
	if (!res)
		s->foreign = untraced_procs__new(s->symbolizer);
	if (s->foreign)
		s->callers = stack_cache__new(s->symbolizer, s->foreign, &s->copy_maps, &s->losses);
	if (!res && !s->callers)
		res = err__set(err, ENOMEM, "out of memory");
	if (!res)
		res = open_output(s, err);
	if (res)
		return res;
	s->queue = queue__new(QUEUE_ITEMS, QUEUE_BYTES);
	s->loops = loops__new(&s->losses);
	s->living = hists__new();
	s->machine = machine__new();
	s->watch = event_loop__new();
	if (!s->queue || !s->loops || !s->living || !s->machine || !s->watch)
		return err__set(err, ENOMEM, "out of memory");
	machine__watch_heat(s->machine, "/sys");
	s->judge = (struct judge){
		.threshold_ns = opts->threshold_ns,
		.hang_ns = opts->hang_ns,
		.fps = opts->fps,
		.debugging = opts->debugging,
		.host = &s->host,
		.real_offset_ns = clock__real_offset_ns(),
	};
	if (s->journal)
		journal__add_session(s->journal, &s->judge, opts->hang_ns);
	return 0;
}

static int start_sinker(struct session *s, struct err *err)
{
	const struct sinker_opts opts = {
		.queue = s->queue,
		.output = s->output,
		.symbolizer = s->symbolizer,
		.callers = s->callers,
		.scripts = s->scripts,
		.journal = s->journal,
		.losses = &s->losses,
		.whose = s->whose,
		.parks = s->parks,
		.find_waits = !s->filter.all,
		.workers = s->opts->workers,
		.tell_unwatched = s->opts->command == CMD_TRACE && s->opts->format != FORMAT_TEXT,
		.eager = !s->opts->filter.all || !s->choice.any,
		.found = s->opts->command == CMD_LOOPS ? session__report_loops : NULL,
		.found_ctx = s,
		.choice = &s->choice,
		.count = s->opts->count,
		.closed_fd = s->closed_fd,
	};

	return sink_thread__start(&opts, &s->sinker, err);
}

static int trace_targets(struct session *s, struct err *err)
{
	int res = 0;

	for (size_t i = 0; i < s->opts->pid_cnt && !res; i++)
		res = session__trace(s, s->opts->pids[i], err);
	if (!res && s->opts->argv)
		res = session__trace(s, s->workload.pid, err);
	return res;
}

static int attach(struct session *s, struct err *err)
{
	int res = start_sinker(s, err);

	if (!res)
		res = trace_targets(s, err);
	if (!res)
		res = loader__attach(s->loader, err);
	if (!res)
		session__open_maps(s);
	if (!res) /* last: dispatches that they open must be accounted from their start */
		res = session__place_probes(s, err);
	if (!res)
		session__open_mains(s);
	if (!res)
		res = session__watch_all(s, err);
	if (!res)
		session__find_compat(s);
	if (!res)
		session__follow(s);
	s->start_ns = s->status_ns = clock__mono_ns();
	if (!res && loader__files(s->loader))
		res = uprobe_files__start(loader__files(s->loader), err);
	if (!res && !s->opts->argv) /* makes the probes learn the sleeping threads (iter.bpf.c) */
		session__look(s, NULL);
	if (!res && s->opts->argv)
		res = workload__go(&s->workload, s->opts->argv, err);
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
	while (!s->stop && !res)
		res = event_loop__round(s->watch);
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
	struct strbuf living = STRBUF_INIT;

	session__look(s, s->journal ? &living : NULL);
	ring__drain(s->ring);
	strbuf__add(&s->raw, living.data, living.len);
	if (living.failed)
		losses__add(&s->losses, LOSS_JOURNAL, 1);
	strbuf__free(&living);
	session__flush_raw(s);
	session__send_summary(s);
}

/* A reader of our stdout may only be slow: keep waiting. Only the user can give up. */
static void finish_output(struct session *s)
{
	if (sink_thread__finish(s->sinker, OUTPUT_PATIENCE_NS))
		return;
	log__warn("waiting for stdout to take the rest; Ctrl-C again gives it up");
	signals__default(s->signal_fd);
	sink_thread__finish(s->sinker, 0);
}

static void close_session(struct session *s)
{
	log__status(NULL);
	session__keep_losses(s);
	loader__free(s->loader); /* a slow output must not slow down the traced processes */
	ring__free(s->ring);
	mmaps__free(s->maps);
	workload__stop(&s->workload);
	finish_output(s);
	session__report_losses(s);
	event_loop__free(s->watch);
	session__free_traced(s);
	mains__free(s->mains);
	output__free(s->output);
	journal_writer__free(s->journal);
	session__close_loops(s);
	stack_cache__free(s->callers);
	copy_bpf_fds__close(&s->copy_maps);
	interp_threads__free(s->scripts);
	interp_bpf_fds__close(&s->script_maps);
	untraced_procs__free(s->foreign);
	symbolizer__free(s->symbolizer);
	queue__free(s->queue);
	loops__free(s->loops);
	wait_copies__free(&s->wait_copies);
	hists__free(s->living);
	machine__free(s->machine);
	strbuf__free(&s->raw);
	host__free(&s->host);
	if (s->cost.stats_fd >= 0)
		close(s->cost.stats_fd);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	if (s->closed_fd >= 0)
		close(s->closed_fd);
}

static int open_signals(struct session *s, struct err *err)
{
	s->signal_fd = signals__open();
	s->closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signal_fd < 0 || s->closed_fd < 0)
		return err__set(err, errno, "cannot wait for signals: %s", strerror(errno));
	return 0;
}

static int open_session(struct session *s, struct err *err)
{
	int res = preflight__check(err);

	if (!res)
		res = features__probe(s->opts->disabled, s->opts->disabled_cnt, &s->features, err);
	if (!res)
		res = features__require(&s->features, err);
	if (!res)
		res = host__read(&s->host, err);
	/* Before there are threads, the ring and much memory to share. */
	if (!res && apart__start())
		log__verbose("no process for reads that may never end; it is tried again later");
	if (!res)
		res = open_outputs(s, err);
	if (!res && s->opts->argv)
		res = workload__prepare(s->opts->argv, &s->workload, err);
	limits__raise();
	if (!res)
		res = open_signals(s, err);
	return res ? res : session__open_probes(s, err);
}

int session__run(const struct options *opts, struct err *err)
{
	struct session s = {
		.opts = opts,
		.workload = { .go_fd = -1, .failed_fd = -1 },
		.cost = { .stats_fd = -1 },
		.signal_fd = -1,
		.closed_fd = -1,
		.find_timer_fd = -1,
		.park_maps = PARK_MAPS_NONE,
		.copy_maps = COPY_MAPS_NONE,
		.script_maps = SCRIPT_MAPS_NONE,
	};
	int status = JANK_EXIT_OK;

	if (open_session(&s, err) || attach(&s, err) || run(&s, err))
		status = err->exit ? err->exit : JANK_EXIT_FAILED;
	else
		finish(&s);
	workload__reap(&s.workload);
	if (!status && s.workload.ended && !s.own_end)
		status = workload__exit_status(&s.workload);
	close_session(&s);
	return status;
}

/* --- the catalogue in a session: its rows, those of -l, and the resulting filter */

int session__open_loops(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;
	int res = catalogue__open(opts->loop_files, opts->loop_file_cnt, &s->catalogue, err);

	if (!res)
		res = loop_choice__init(&s->choice, s->catalogue, opts->loops, opts->loop_cnt, err);
	if (res)
		return res;
	s->filter = opts->filter;
	s->filter.loops = loop_choice__waits(&s->choice);
	s->whose = loop_owner__new(s->catalogue, s->symbolizer);
	s->scripts = interp_threads__new(&s->script_maps, s->symbolizer);
	s->parks = parks__new(&s->park_maps, s->whose, s->scripts);
	return s->whose && s->parks && s->scripts ? 0 : err__set(err, ENOMEM, "out of memory");
}

void session__report_loops(void *session, struct loop_owner *whose)
{
	const struct session *s = session;
	const struct found_opts opts = {
		.catalogue = s->catalogue,
		.symbolizer = s->symbolizer,
		.choice = &s->choice,
		.filter = &s->filter,
		.pids = s->opts->pids,
		.pid_cnt = s->opts->pid_cnt,
		.verbose = s->opts->verbosity > 0,
	};

	loops_report__report(&opts, whose);
}

void session__close_loops(struct session *s)
{
	park_bpf_fds__close(&s->park_maps);
	parks__free(s->parks);
	loop_owner__free(s->whose);
	catalogue__close(s->catalogue);
}
