/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of an agent: for the log, by SIGUSR1, and for the service manager. */
#include "base/clock.h"
#include "base/log.h"
#include "export/spool/spool.h"
#include "send/send.h"
#include "session/session_parts.h"

#define STATUS_NS (10 * NS_PER_SEC)

static double own_cpu_pct(const struct session *s, const struct intervals_now *now)
{
	uint64_t elapsed_ns = now->t_ns - s->report.start_ns;
	uint64_t cpu_ns = now->cpu_ns - s->report.start_cpu_ns;

	return 100.0 * (double)cpu_ns / (double)(elapsed_ns ? elapsed_ns : 1);
}

static void log_counts(const struct session *s, const struct intervals_now *now)
{
	struct strbuf line = STRBUF_INIT;

	strbuf__adds(&line, "state: for ");
	clock__add_duration(&line, now->t_ns - s->report.start_ns);
	strbuf__adds(&line, ", over ");
	clock__add_duration(&line, now->threshold_ns);
	strbuf__addf(&line, ": %llu dispatches, %llu blocks, %llu hangs",
		     (unsigned long long)session__totals(s).dispatch_cnt,
		     (unsigned long long)s->report.block_cnt,
		     (unsigned long long)s->report.hang_cnt);
	log__info("%s", strbuf__str(&line));
	strbuf__free(&line);
}

static void log_losses(const struct losses *losses)
{
	struct strbuf line = STRBUF_INIT;

	for (int i = 0; i < LOSS_CNT; i++)
		if (losses->cnt[i])
			strbuf__addf(&line, "%s%llu %s", line.len ? ", " : "",
				     (unsigned long long)losses->cnt[i], loss__key(i));
	log__info("state: lost %s", line.len ? strbuf__str(&line) : "nothing");
	strbuf__free(&line);
}

/* One line for the spool, one for each backend. */
static void log_spool(const struct options *opts)
{
	const struct send_names names = send__names(opts);
	struct spool_state state;
	struct err err = {};

	if (spool_state__read(opts->spool, names.list, &state, &err)) {
		log__warn("state: %s", err.msg);
		return;
	}
	log__info("state: spool %llu records, %llu KiB", (unsigned long long)state.records,
		  (unsigned long long)state.bytes >> 10);
	for (size_t i = 0; i < state.backend_cnt; i++) {
		const struct spool_backend_state *b = &state.backends[i];
		struct strbuf age = STRBUF_INIT;
		uint64_t now = clock__real_ns();

		if (b->oldest_ns && now > b->oldest_ns) {
			strbuf__adds(&age, ", the oldest for ");
			clock__add_duration(&age, now - b->oldest_ns);
		}
		log__info("state: %s %llu records sent, %llu refused, %llu requests tried again, "
			  "%llu records unsent%s",
			  b->name, (unsigned long long)b->position.sent_records,
			  (unsigned long long)b->position.refused_records,
			  (unsigned long long)b->position.retries,
			  (unsigned long long)b->unsent_records, strbuf__str(&age));
		strbuf__free(&age);
	}
}

void session__log_state(struct session *s)
{
	struct intervals_now now = { .threshold_ns = s->intake.judge.threshold_ns };

	session__look(s, NULL);
	session__fill_now(s, &now);
	log_counts(s, &now);
	log__info("state: watched %zu loops of %u processes; not watched %zu", s->report.loop_cnt,
		  HASH_COUNT(s->processes.entries), s->unwatched_look.found_cnt);
	log_losses(&now.losses);
	if (s->opts->spool)
		log_spool(s->opts);
	log__info("state: own cost %.2f %% of a CPU, %llu MiB of memory", own_cpu_pct(s, &now),
		  (unsigned long long)now.rss_kb >> 10);
}

/* The manager shows it as the state of the service. */
static void on_status(void *ctx, uint64_t arg)
{
	const struct session *s = ctx;
	struct intervals_now now = {};

	(void)arg;
	session__fill_now(s, &now);
	notify__send(&s->notify,
		     "STATUS=%zu loops, %llu dispatches, %llu blocks, %llu hangs, "
		     "lost %llu, own CPU %.2f %%",
		     s->report.loop_cnt, (unsigned long long)session__totals(s).dispatch_cnt,
		     (unsigned long long)s->report.block_cnt,
		     (unsigned long long)s->report.hang_cnt,
		     (unsigned long long)losses__total(&now.losses), own_cpu_pct(s, &now));
}

/* Its call is the proof that this thread makes progress. */
static void on_watchdog(void *ctx, uint64_t arg)
{
	const struct session *s = ctx;

	(void)arg;
	notify__send(&s->notify, "WATCHDOG=1");
}

int session__begin_state(struct session *s)
{
	uint64_t ns = s->notify.watchdog_ns / 2;
	int res = 0;

	if (s->notify.sock < 0)
		return 0;
	notify__send(&s->notify, "READY=1\nSTATUS=tracing");
	res = event_loop__timer(s->event_loop, STATUS_NS, STATUS_NS, on_status, s);
	if (res >= 0 && ns)
		res = event_loop__timer(s->event_loop, ns, ns, on_watchdog, s);
	return res < 0 ? res : 0;
}
