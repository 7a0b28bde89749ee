/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGHUP of the agent: reads its configuration again. What can change in a run does, and no open
 * dispatch is lost; the rest is named and keeps its value. An invalid file changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "options/config.h"
#include "session/session_parts.h"

/* A given value ends with a newline, a default does not. */
static bool is_same(const struct options *a, const struct options *b, const struct option_row *row)
{
	const char *x = config__value(a, row), *y = config__value(b, row);
	size_t x_len = x ? strlen(x) : 0, y_len = y ? strlen(y) : 0;

	if (!x || !y)
		return x == y;
	x_len -= x_len && x[x_len - 1] == '\n';
	y_len -= y_len && y[y_len - 1] == '\n';
	return x_len == y_len && !memcmp(x, y, x_len);
}

/* The running value stays: the next reload compares with it. 0 or -ENOMEM. */
static int keep(struct options *fresh, const struct options *used, const struct option_row *row)
{
	char **at = &fresh->values[row - option_rows];
	char *copy;

	if (text__copy(&copy, used->values[row - option_rows]))
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

/* A dispatch over the threshold would be a hang before it is a block. */
static bool is_too_long(const struct session *s, const struct options *fresh)
{
	return s->opts->hang_ns && fresh->threshold_ns > s->opts->hang_ns;
}

static void report(const struct config_key *key, const struct options *fresh,
		   const struct option_row *row, const char *why)
{
	const char *value = config__value(fresh, row);
	size_t len = value ? strcspn(value, "\n") : 0;

	if (why)
		log__warn("reload: [%s] %s %s: restart the agent for it (systemctl restart "
			  "jankbpf)",
			  key->section, key->key, why);
	else
		log__info("reload: [%s] %s = %.*s", key->section, key->key, (int)len, value ?: "");
}

/* Returns whether the overrides differ. */
static bool compare_overrides(const struct options *used, const struct options *fresh)
{
	struct strbuf before = STRBUF_INIT, now = STRBUF_INIT;
	bool same;

	override__print(used, &before);
	override__print(fresh, &now);
	same = !before.failed && !now.failed && !strcmp(strbuf__str(&before), strbuf__str(&now));
	if (!same)
		log__info("reload: %zu overrides", fresh->override_cnt);
	strbuf__free(&before);
	strbuf__free(&now);
	return !same;
}

/* Reports each changed key. Returns how many take effect now, or -ENOMEM. */
static int compare(const struct session *s, struct options *fresh)
{
	const struct options *used = session__options(s);
	int live_cnt = compare_overrides(used, fresh);

	for (size_t i = 0; i < config_key_cnt; i++) {
		const struct config_key *key = &config_keys[i];
		const struct option_row *row = config_key__row(key);
		const char *why = key->live ? NULL : "cannot change in a run";

		if (is_same(fresh, used, row))
			continue;
		if (key->live && !strcmp(key->key, "threshold") && is_too_long(s, fresh)) {
			why = "is longer than the hang limit of this run";
			fresh->threshold_ns = used->threshold_ns;
		}
		report(key, fresh, row, why);
		live_cnt += !why;
		if (why && keep(fresh, used, row))
			return -ENOMEM;
	}
	return live_cnt;
}

/* --- what takes effect only in part */

static bool is_hang_limit(const struct session *s, uint64_t ns)
{
	uint64_t limits[JANK_HANG_LIMITS];

	override__hang_limits(s->opts, limits);
	for (size_t i = 0; i < JANK_HANG_LIMITS; i++)
		if (limits[i] == ns)
			return true;
	return false;
}

/* The probes know the limits of the start. */
static void warn_of_hangs(const struct session *s, const struct options *fresh)
{
	for (size_t i = 0; i < fresh->override_cnt; i++) {
		const struct override *override = &fresh->overrides[i];

		if (override->has_hang && override->hang_ns && !is_hang_limit(s, override->hang_ns))
			log__warn("reload: [override %s] hang: hangs are looked for at the limits "
				  "of the start, so they are reported late or never: restart the "
				  "agent for it (systemctl restart jankbpf)",
				  override->name);
	}
}

/* The probes take stacks from a part of the start's threshold on. */
static void warn_of_threshold(const struct session *s, const struct options *fresh)
{
	uint64_t start_ns = override__least_of_all(s->opts), ns = override__least_of_all(fresh);
	struct strbuf time = STRBUF_INIT;

	if (ns >= start_ns || ns == override__least_of_all(session__options(s)))
		return;
	clock__add_duration(&time, start_ns);
	log__warn("reload: the threshold is less than the start's %s, for which stacks are taken: "
		  "short blocks lack some: restart the agent for them (systemctl restart jankbpf)",
		  strbuf__str(&time));
	strbuf__free(&time);
}

static void warn_of_spool(const struct session *s, const struct options *fresh)
{
	struct strbuf time = STRBUF_INIT;

	if (!s->opts->spool || fresh->interval_ns == session__options(s)->interval_ns)
		return;
	clock__add_duration(&time, s->opts->interval_ns);
	log__warn("reload: [store] interval: batches of the spool still end after %s: restart the "
		  "agent for it (systemctl restart jankbpf)",
		  strbuf__str(&time));
	strbuf__free(&time);
}

/*
 * The hang limit of the start stays, so an override that has none of its own takes it. Call it
 * after compare.
 */
static void settle(const struct session *s, struct options *fresh)
{
	fresh->hang_ns = s->opts->hang_ns;
	override__imply_hangs(fresh);
	warn_of_hangs(s, fresh);
	warn_of_threshold(s, fresh);
	warn_of_spool(s, fresh);
}

static void on_interval(void *ctx, uint64_t arg)
{
	(void)arg;
	session__interval(ctx);
}

static void use_timer(struct session *s, int fd)
{
	if (s->intervals.timer_fd >= 0)
		event_loop__remove(s->event_loop, s->intervals.timer_fd);
	s->intervals.timer_fd = fd;
}

int session__time_intervals(struct session *s, uint64_t ns)
{
	int fd = event_loop__timer(s->event_loop, ns, ns, on_interval, s);

	if (fd < 0)
		return fd;
	use_timer(s, fd);
	return 0;
}

/* The sink thread gets its share of the options. 0 or -errno: nothing has changed. */
static int apply(struct session *s, struct live_options *live)
{
	const struct item item = { .kind = ITEM_OPTIONS, .data = live };
	const struct options *fresh = &live->opts;
	uint64_t ns = fresh->interval_ns;
	bool other_interval = ns != session__options(s)->interval_ns;
	int fd = other_interval ? event_loop__timer(s->event_loop, ns, ns, on_interval, s) : -1;

	if (other_interval && fd < 0)
		return fd;
	live->holders++;
	if (queue__put(s->queue, &item) != QUEUE_ROOM) {
		if (other_interval)
			event_loop__remove(s->event_loop, fd);
		live->holders--;
		return -EAGAIN;
	}
	if (other_interval)
		use_timer(s, fd);
	s->intake.judge.threshold_ns = fresh->threshold_ns;
	s->intake.judge.fps = fresh->fps;
	live_options__release(s->reload.live);
	s->reload.live = live;
	live->holders++;
	session__use_threshold(s);
	session__limit_all(s);
	return session__use_budget(s);
}

/* 0; -EINVAL: the file has errors, which are logged; -errno. */
static int read_again(const struct session *s, struct live_options **ret)
{
	struct live_options *live = calloc(1, sizeof(*live));
	struct err err = {};
	int res = live ? options__parse(s->opts->word_cnt, s->opts->words, &live->opts, &err)
		       : -ENOMEM;

	if (err.msg[0])
		log__error("%s", err.msg);
	if (res) {
		free(live);
		return res;
	}
	live->holders = 1;
	*ret = live;
	return 0;
}

static int reload(struct session *s)
{
	struct live_options *live;
	int res = read_again(s, &live), live_cnt;

	if (res)
		return res;
	live_cnt = compare(s, &live->opts);
	if (live_cnt >= 0)
		settle(s, &live->opts);
	res = live_cnt < 0 ? live_cnt : apply(s, live);
	live_options__release(live);
	if (!res)
		log__info("reload: done, %d change%s", live_cnt, live_cnt == 1 ? "" : "s");
	return res;
}

void session__reload(struct session *s)
{
	int res;

	notify__send(&s->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
		     (unsigned long long)(clock__mono_ns() / NS_PER_US));
	res = reload(s);
	if (res == -EINVAL)
		log__error("reload: the configuration is not valid; the running one stays");
	else if (res)
		log__error("reload: %s; the running configuration stays: send SIGHUP again",
			   strerror(-res));
	notify__send(&s->notify, "READY=1");
}
