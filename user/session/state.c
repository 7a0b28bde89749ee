/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of an agent: for the log, by SIGUSR1, and for the service manager. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "export/json/json.h"
#include "export/spool/spool.h"
#include "send/send.h"
#include "session/session_parts.h"

#define STATUS_NS (10 * NS_PER_SEC)

static double own_cpu_pct(const struct session *s, const struct intervals_now *now)
{
	uint64_t elapsed_ns = now->t_ns - s->counts.start_ns;
	uint64_t cpu_ns = now->cpu_ns - s->counts.start_cpu_ns;

	return 100.0 * (double)cpu_ns / (double)(elapsed_ns ? elapsed_ns : 1);
}

static void add_counts(const struct session *s, const struct intervals_now *now, struct strbuf *ret)
{
	strbuf__adds(ret, "for ");
	clock__add_duration(ret, now->t_ns - s->counts.start_ns);
	strbuf__adds(ret, ", over ");
	clock__add_duration(ret, now->threshold_ns);
	strbuf__addf(ret, ": %llu dispatches, %llu blocks, %llu hangs\n",
		     (unsigned long long)session__totals(s).dispatch_cnt,
		     (unsigned long long)s->counts.block_cnt,
		     (unsigned long long)s->counts.hang_cnt);
}

static void add_losses(const struct losses *losses, struct strbuf *ret)
{
	const char *separator = " ";

	strbuf__adds(ret, "lost");
	for (int i = 0; i < LOSS_CNT; i++) {
		if (!losses->cnt[i])
			continue;
		strbuf__addf(ret, "%s%llu %s", separator, (unsigned long long)losses->cnt[i],
			     loss__key(i));
		separator = ", ";
	}
	strbuf__adds(ret, *separator == ' ' ? " nothing\n" : "\n");
}

/* One line for the spool, one for each backend. */
static void add_spool(const struct options *opts, struct strbuf *ret)
{
	const struct send_names names = send__names(opts);
	struct spool_state state;
	struct err err = {};

	if (spool_state__read(opts->spool, names.list, &state, &err)) {
		strbuf__addf(ret, "%s\n", err.msg);
		return;
	}
	strbuf__addf(ret, "spool %llu records, %llu KiB\n", (unsigned long long)state.records,
		     (unsigned long long)state.bytes >> 10);
	for (size_t i = 0; i < state.backend_cnt; i++) {
		const struct spool_backend_state *b = &state.backends[i];
		struct strbuf age = STRBUF_INIT;
		uint64_t now = clock__real_ns();

		if (b->oldest_ns && now > b->oldest_ns) {
			strbuf__adds(&age, ", the oldest for ");
			clock__add_duration(&age, now - b->oldest_ns);
		}
		strbuf__addf(ret,
			     "%s %llu records sent, %llu refused, %llu requests tried again, "
			     "%llu records unsent%s\n",
			     b->name, (unsigned long long)b->position.sent_records,
			     (unsigned long long)b->position.refused_records,
			     (unsigned long long)b->position.retries,
			     (unsigned long long)b->unsent_records, strbuf__str(&age));
		strbuf__free(&age);
	}
}

static void add_pause(const struct session *s, const struct intervals_now *now, struct strbuf *ret)
{
	if (!s->pause.on)
		return;
	strbuf__adds(ret, "paused for ");
	clock__add_duration(ret, now->t_ns - s->pause.since_ns);
	strbuf__adds(ret, ": nothing is recorded; --resume ends it\n");
}

static void add_budget(const struct session *s, struct strbuf *ret)
{
	const struct governor *gov = &s->govern.gov;
	const char *word = governor__word(gov);

	if (!gov->budget_ns)
		return;
	strbuf__addf(ret, "budget %.2f %% of a core, used %.2f %%; level %u: %s%s\n",
		     (double)gov->budget_ns / 1e7, (double)governor__cost(gov) / 1e7,
		     gov->level + gov->blind, word ? "without " : "everything is watched",
		     gov->blind ? "anything: blind" : word ?: "");
}

static void add_missing(const struct filter *filter, struct strbuf *ret)
{
	struct strbuf names = STRBUF_INIT;

	filter__add_missing(filter, &names);
	if (names.len)
		strbuf__addf(ret, "no such cgroup now: %s\n", strbuf__str(&names));
	strbuf__free(&names);
}

static void add_missing_json(const struct filter *filter, struct jsonw *w)
{
	jsonw__karray(w, "missing_cgroups");
	for (uint32_t i = 0; i < filter->name_cnt; i++)
		if (!filter->names[i].cnt)
			jsonw__str(w, filter->names[i].name);
	jsonw__array_end(w);
}

static uint64_t started_ns(const struct session *s)
{
	return s->counts.start_ns + (uint64_t)clock__real_offset_ns();
}

void session__add_state(struct session *s, struct strbuf *ret)
{
	struct intervals_now now = { .threshold_ns = s->intake.judge.threshold_ns };

	session__renew_counts(s);
	session__fill_now(s, &now);
	strbuf__addf(ret, "process %d since ", getpid());
	clock__add_rfc3339(ret, started_ns(s));
	strbuf__addf(ret, ", by %s\n", s->opts->config);
	add_counts(s, &now, ret);
	strbuf__addf(ret, "watched %zu loops of %u processes; not watched %zu\n",
		     s->counts.loop_cnt, HASH_COUNT(s->processes.entries),
		     s->unwatched_look.found_cnt + session__off_cnt(s));
	add_missing(&s->selection.filter, ret);
	add_losses(&now.losses, ret);
	strbuf__addf(ret, "own cost %.2f %% of a CPU, %llu MiB of memory\n", own_cpu_pct(s, &now),
		     (unsigned long long)now.rss_kb >> 10);
	if (s->opts->spool)
		add_spool(s->opts, ret);
	add_budget(s, ret);
	add_pause(s, &now, ret);
}

/* One message for each line. */
void session__log_state(struct session *s)
{
	struct strbuf state = STRBUF_INIT;

	session__look(s, NULL);
	session__add_state(s, &state);
	for (const char *line = strbuf__str(&state); *line;) {
		int len = (int)strcspn(line, "\n");

		log__info("state: %.*s", len, line);
		line += len + (line[len] == '\n');
	}
	strbuf__free(&state);
}

static void add_lost_json(struct jsonw *w, const struct losses *losses)
{
	jsonw__key(w, "lost");
	jsonw__object(w);
	for (int i = 0; i < LOSS_CNT; i++)
		if (losses->cnt[i])
			jsonw__ku64(w, loss__key(i), losses->cnt[i]);
	jsonw__object_end(w);
}

void session__add_state_json(struct session *s, struct strbuf *ret)
{
	struct intervals_now now = { .threshold_ns = s->intake.judge.threshold_ns };
	struct strbuf start = STRBUF_INIT;
	struct jsonw w;

	session__renew_counts(s);
	session__fill_now(s, &now);
	clock__add_rfc3339(&start, started_ns(s));
	jsonw__init(&w, ret);
	jsonw__object(&w);
	jsonw__kstr(&w, "schema", "jankbpf-agent/1");
	jsonw__ku64(&w, "pid", (uint64_t)getpid());
	jsonw__kstr(&w, "start", strbuf__str(&start));
	jsonw__kstr(&w, "config", s->opts->config);
	jsonw__ku64(&w, "elapsed_ns", now.t_ns - s->counts.start_ns);
	jsonw__ku64(&w, "threshold_ns", now.threshold_ns);
	jsonw__ku64(&w, "dispatches", session__totals(s).dispatch_cnt);
	jsonw__ku64(&w, "blocks", s->counts.block_cnt);
	jsonw__ku64(&w, "hangs", s->counts.hang_cnt);
	jsonw__ku64(&w, "loops", s->counts.loop_cnt);
	jsonw__ku64(&w, "processes", HASH_COUNT(s->processes.entries));
	jsonw__ku64(&w, "not_watched", s->unwatched_look.found_cnt + session__off_cnt(s));
	add_missing_json(&s->selection.filter, &w);
	add_lost_json(&w, &now.losses);
	jsonw__ku64(&w, "user_cpu_ns", now.cpu_ns - s->counts.start_cpu_ns);
	jsonw__ku64(&w, "rss_kb", now.rss_kb);
	if (s->govern.gov.budget_ns) {
		jsonw__ku64(&w, "budget_ns", s->govern.gov.budget_ns);
		jsonw__ku64(&w, "governor_level", s->govern.gov.level + s->govern.gov.blind);
		jsonw__kstr_known(&w, "reduced", governor__word(&s->govern.gov));
	}
	jsonw__kbool(&w, "paused", s->pause.on);
	jsonw__ku64(&w, "paused_ns",
		    s->pause.total_ns + (s->pause.on ? now.t_ns - s->intervals.end_ns : 0));
	jsonw__object_end(&w);
	strbuf__adds(ret, "\n");
	strbuf__free(&start);
}

/* The manager shows it as the state of the service. */
void session__tell_status(struct session *s)
{
	struct intervals_now now = {};

	session__renew_counts(s);
	session__fill_now(s, &now);
	notify__send(&s->notify,
		     "STATUS=%s%zu loops, %llu dispatches, %llu blocks, %llu hangs, "
		     "lost %llu, own CPU %.2f %%",
		     s->pause.on	   ? "paused: "
		     : s->govern.gov.blind ? "blind: "
					   : "",
		     s->counts.loop_cnt, (unsigned long long)session__totals(s).dispatch_cnt,
		     (unsigned long long)s->counts.block_cnt,
		     (unsigned long long)s->counts.hang_cnt,
		     (unsigned long long)losses__total(&now.losses), own_cpu_pct(s, &now));
}

static void on_status(void *ctx, uint64_t arg)
{
	(void)arg;
	session__tell_status(ctx);
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
