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

static bool is_same(const struct options *a, const struct options *b, const struct option_row *row)
{
	return text__same(config__value(a, row), config__value(b, row));
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

static void on_interval(void *ctx, uint64_t arg)
{
	(void)arg;
	session__interval(ctx);
}

int session__time_intervals(struct session *s, uint64_t ns)
{
	int fd = event_loop__timer(s->event_loop, ns, ns, on_interval, s);

	if (fd < 0)
		return fd;
	if (s->intervals.timer_fd >= 0)
		event_loop__remove(s->event_loop, s->intervals.timer_fd);
	s->intervals.timer_fd = fd;
	return 0;
}

/* The sink thread gets its share of the options. 0 or -errno: nothing has changed. */
static int apply(struct session *s, struct live_options *live)
{
	const struct item item = { .kind = ITEM_OPTIONS, .data = live };
	const struct options *fresh = &live->opts;
	bool other_interval = fresh->interval_ns != session__options(s)->interval_ns;
	int res = other_interval ? session__time_intervals(s, fresh->interval_ns) : 0;

	if (res)
		return res;
	live->holders++;
	if (queue__put(s->queue, &item) != QUEUE_ROOM) {
		live->holders--;
		return -EAGAIN;
	}
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
