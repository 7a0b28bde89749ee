/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line that says that tracing began, and the status line during the run. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "session/session_parts.h"

/* "all processes named redis* or nginx, of user 33, in cgroup user.slice" */
static void add_filter(struct strbuf *sb, const struct filter *filter)
{
	strbuf__adds(sb, "all processes");
	for (uint32_t i = 0; i < filter->glob_cnt; i++) {
		strbuf__adds(sb, i ? " or " : " named ");
		text__add_clean(sb, filter->glob_texts[i]);
	}
	for (uint32_t i = 0; i < filter->uid_cnt; i++)
		strbuf__addf(sb, "%s%u", i ? " or " : " of user ", filter->uids[i]);
	for (uint32_t i = 0; i < filter->name_cnt; i++) {
		strbuf__adds(sb, i ? " or " : " in cgroup ");
		text__add_clean(sb, filter->names[i].name);
	}
}

static void add_watched(struct strbuf *sb, const struct session *s)
{
	bool one = s->opts->argv ? !s->opts->pid_cnt : s->opts->pid_cnt == 1;
	uint32_t pid = s->opts->argv	  ? (uint32_t)s->workload.pid
		       : s->opts->pid_cnt ? (uint32_t)s->opts->pids[0]
					  : 0;
	const struct process_entry *process = one ? process_table__find(&s->processes, pid) : NULL;

	if (s->opts->filter.all)
		add_filter(sb, &s->opts->filter);
	else if (!one)
		strbuf__addf(sb, "%zu processes", s->opts->pid_cnt + !!s->opts->argv);
	else if (s->opts->argv)
		strbuf__addf(sb, "%s (%u)", text__base_name(s->opts->argv[0]), pid);
	else if (process && process->identity && process->identity->name)
		strbuf__addf(sb, "%s (%u)", process->identity->name, pid);
	else
		strbuf__addf(sb, "process %u", pid);
}

void session__report_ready(const struct session *s)
{
	struct strbuf line = STRBUF_INIT;

	strbuf__adds(&line, "watching ");
	add_watched(&line, s);
	if (s->counts.loop_cnt)
		strbuf__addf(&line, ": %zu loop%s", s->counts.loop_cnt,
			     s->counts.loop_cnt == 1 ? "" : "s");
	strbuf__adds(&line, ", over ");
	clock__add_duration(&line, s->opts->threshold_ns);
	strbuf__adds(&line, s->opts->duration_ns || s->opts->count || s->opts->command == CMD_AGENT
				    ? ""
				    : "; Ctrl-C ends");
	if (!line.failed)
		log__info("%s", strbuf__str(&line));
	strbuf__free(&line);
}

/* "20.1k" */
static void add_count(struct strbuf *sb, uint64_t cnt)
{
	if (cnt < 10000)
		strbuf__addf(sb, "%llu", (unsigned long long)cnt);
	else if (cnt < 10000000)
		strbuf__addf(sb, "%.1fk", cnt / 1e3);
	else
		strbuf__addf(sb, "%.1fM", cnt / 1e6);
}

static uint64_t lost_cnt(const struct losses *losses)
{
	uint64_t ret = 0;

	for (int i = 0; i < LOSS_CNT; i++)
		ret += loss__is_detail(i) ? 0 : losses->cnt[i];
	return ret;
}

void session__status(struct session *s)
{
	uint64_t now = clock__mono_ns(), elapsed = now - s->counts.start_ns;
	struct hist_totals sum = session__totals(s);
	struct strbuf line = STRBUF_INIT;
	struct losses losses = s->losses;

	session__add_losses(s, &losses);
	clock__add_duration(&line, elapsed);
	strbuf__adds(&line, " · ");
	add_count(&line, sum.dispatch_cnt);
	if (!sum.dispatch_cnt)
		strbuf__adds(&line, " dispatches: no loop seen yet");
	else
		strbuf__addf(&line, " dispatches · %llu blocks",
			     (unsigned long long)s->counts.block_cnt);
	if (s->counts.hang_cnt)
		strbuf__addf(&line, " · %llu hangs", (unsigned long long)s->counts.hang_cnt);
	if (lost_cnt(&losses)) {
		strbuf__adds(&line, " · lost ");
		add_count(&line, lost_cnt(&losses));
	} else if (sum.dispatch_cnt) {
		strbuf__adds(&line,
			     losses__total(&losses) ? " · no block lost" : " · nothing lost");
	}
	strbuf__addf(&line, " · own CPU %.1f %%",
		     100.0 * (double)(session__own_cpu_ns(s) - s->counts.start_cpu_ns) /
			     (double)(elapsed ?: 1));
	log__status(strbuf__str(&line));
	strbuf__free(&line);
}
