/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the live threads: their counts, and dispatches that hang. */
#include "base/clock.h"
#include "session/session_parts.h"

#define PENDING_NS     (50 * NS_PER_MS) /* between looks that open dispatches */
#define ALARM_SLACK_NS NS_PER_MS /* the probes compare with their own clock, a moment earlier */

struct look {
	struct session *s;
	struct strbuf *records; /* NULL: not wanted */
	uint64_t open_ns;	/* time of the longest open dispatch */
	uint64_t hang_ns;	/* when the next dispatch reaches a limit; UINT64_MAX: none will */
	bool brief;		/* the counts are not wanted */
};

static void add_counts(struct look *look, const struct jank_rec_thread *rec)
{
	if (hists__add(look->s->counts.live, rec))
		losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
	if (intervals__saw(&look->s->intervals, rec, look->s->intake.judge.threshold_ns))
		losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
	look->s->counts.loop_cnt++;
	if (look->records)
		strbuf__add(look->records, rec, sizeof(*rec));
}

/* A dispatch that has not begun is as old as its delay. */
static void look_ahead(struct look *look, const struct jank_rec_thread *rec)
{
	uint64_t age_ns = rec->open_ns ? rec->open_ns : rec->open_delay_ns;
	const uint64_t *limits = look->s->counts.hang_limits;
	size_t i = 0;

	while (i < JANK_HANG_LIMITS - 1 && limits[i] <= age_ns)
		i++;
	if (!age_ns || limits[i] <= age_ns || limits[i] == UINT64_MAX)
		return;
	if (rec->hdr.ts_ns + (limits[i] - age_ns) < look->hang_ns)
		look->hang_ns = rec->hdr.ts_ns + (limits[i] - age_ns);
}

static void add_live(void *ctx, const struct jank_rec_thread *rec)
{
	struct look *look = ctx;

	if (rec->hdr.flags & JANK_THREAD_LAST) { /* the thread begins at 0 if it is watched again */
		if (hists__add(loops__ended(look->s->intake.loops), rec))
			losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	process_table__saw(&look->s->processes, &rec->hdr);
	if (look->open_ns < rec->open_ns + rec->open_delay_ns)
		look->open_ns = rec->open_ns + rec->open_delay_ns;
	look_ahead(look, rec);
	if (!look->brief)
		add_counts(look, rec);
}

static void look_at_threads(struct look *look)
{
	uint64_t now_ns = clock__mono_ns();

	look->hang_ns = UINT64_MAX;
	session__tell_openings(look->s);
	if (!loader__each_thread(look->s->loader, add_live, look))
		loops__rest(look->s->intake.loops, now_ns, look->open_ns);
	if (openings__are_pending(&look->s->openings))
		look->hang_ns = now_ns + PENDING_NS;
	/* A later one is seen in time by the next look, and mostly ends before. */
	if (look->hang_ns < now_ns + LOOK_MAX_NS)
		event_loop__set_alarm(look->s->counts.hang_fd, look->hang_ns + ALARM_SLACK_NS);
}

void session__look(struct session *s, struct strbuf *records)
{
	struct look look = { .s = s, .records = records };
	struct hists *fresh = hists__new();

	if (!fresh) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	hists__free(s->counts.live);
	s->counts.live = fresh;
	s->counts.look_ns = clock__mono_ns();
	s->counts.loop_cnt = 0;
	/* before their dispatches are counted: so there are no more blocks than dispatches */
	s->counts.block_cnt = output__block_cnt(s->sink.output);
	s->counts.hang_cnt = output__hang_cnt(s->sink.output);
	intervals__begin_look(&s->intervals);
	look_at_threads(&look);
}

void session__look_for_hangs(struct session *s)
{
	struct look look = { .s = s, .brief = true };

	look_at_threads(&look);
}

void session__renew_counts(struct session *s)
{
	if (clock__mono_ns() - s->counts.look_ns >= NS_PER_SEC)
		session__look(s, NULL);
}

struct hist_totals session__totals(const struct session *s)
{
	struct hist_totals ended = hists__totals(loops__ended(s->intake.loops));
	struct hist_totals live = hists__totals(s->counts.live);
	struct hist_totals paused =
		s->pause.excluded ? hists__totals(s->pause.excluded) : (struct hist_totals){};

	/* counts that were lost with a record may have been left out */
	if (paused.dispatch_cnt > ended.dispatch_cnt + live.dispatch_cnt)
		paused.dispatch_cnt = ended.dispatch_cnt + live.dispatch_cnt;
	return (struct hist_totals){ ended.dispatch_cnt + live.dispatch_cnt - paused.dispatch_cnt,
				     ended.block_cnt + live.block_cnt,
				     ended.hang_cnt + live.hang_cnt };
}
