/* SPDX-License-Identifier: GPL-2.0-or-later */
/* simjank's options: the table, the list of scenarios, the help. */
#include "simjank_options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simjank_clock.h"
#include "simjank_fixture.h"
#include "simjank_value.h"

/* Kept while parsing: --length may come before or after its list. */
struct parser {
	struct options *opt;
	const struct options_words *words;
	const char *list;
	struct range length; /* max_ns 0: each scenario's own */
};

static void set__scenario(struct parser *p, const char *text)
{
	p->list = text;
}

static void set__length(struct parser *p, const char *text)
{
	range__need("--length", text, strlen(text), &p->length);
}

static void set__order(struct parser *p, const char *text)
{
	static const char *const orders[] = { "sequence", "random", NULL };

	p->opt->random = word__need("order", text, strlen(text), orders) == 1;
}

static void set__seed(struct parser *p, const char *text)
{
	p->opt->seed = number__need("seed", text, 0, UINT64_MAX);
}

static void set__duration(struct parser *p, const char *text)
{
	time__need("duration", text, &p->opt->duration_ns);
}

static void set__count(struct parser *p, const char *text)
{
	p->opt->count = number__need("count", text, 1, UINT32_MAX);
}

static void set__threads(struct parser *p, const char *text)
{
	p->opt->threads = (unsigned)number__need("threads", text, 1, OPTIONS_THREAD_MAX);
}

static void set__hogs(struct parser *p, const char *text)
{
	p->opt->hogs = (unsigned)number__need("hogs", text, 1, STAGE_HOG_MAX);
}

static void set__gap(struct parser *p, const char *text)
{
	time__need("gap", text, &p->opt->gap_ns);
}

static void set__short_rate(struct parser *p, const char *text)
{
	size_t len = strlen(text);
	char number[16];
	uint64_t rate;

	if (len > 2 && !strcmp(text + len - 2, "/s"))
		len -= 2;
	snprintf(number, sizeof(number), "%.*s", (int)len, text);
	rate = number__need("short-rate", len < sizeof(number) ? number : text, 0, 100000);
	p->opt->short_period_ns = rate ? NS_PER_S / rate : 0;
}

static void set__truth(struct parser *p, const char *text)
{
	p->opt->truth = text;
}

static void set__truth_min(struct parser *p, const char *text)
{
	time__need("truth-min", text, &p->opt->truth_min_ns);
}

static void set__truth_max(struct parser *p, const char *text)
{
	p->opt->truth_max = number__need("truth-max", text, 1, 100000000);
}

static void set__start_delay(struct parser *p, const char *text)
{
	time__need("start-delay", text, &p->opt->start_delay_ns);
}

static void set__wait(struct parser *p, const char *text)
{
	p->opt->wait = true;
}

static void set__ready_fd(struct parser *p, const char *text)
{
	p->opt->ready_fd = (int)number__need("ready-fd", text, 0, INT_MAX);
}

static void set__dir(struct parser *p, const char *text)
{
	p->opt->dir = text;
}

static void set__quiet(struct parser *p, const char *text)
{
	p->opt->quiet = true;
}

static void set__form(struct parser *p, const char *text)
{
	p->opt->form_cnt = 0;
	for (size_t len; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		if (p->opt->form_cnt == OPTIONS_FORM_MAX)
			usage__fail("--form: more than %d", OPTIONS_FORM_MAX);
		p->opt->forms[p->opt->form_cnt++] = word__need("form", text, len, p->words->forms);
	}
}

static void set__wait_call(struct parser *p, const char *text)
{
	p->opt->wait_call = word__need("wait-call", text, strlen(text), p->words->wait_calls);
}

static const struct {
	const char *name, *arg, *help;
	void (*set)(struct parser *p, const char *text);
	enum { FOR_ALL, FOR_FORMS, FOR_WAIT_CALLS } who;
} option_table[] = {
	{ "scenario", "LIST", "what to do, e.g. busy:40ms,sleep:30ms-120ms,mutex or all (default)",
	  set__scenario, FOR_ALL },
	{ "length", "RANGE", "length of those without their own, e.g. 30ms-120ms", set__length,
	  FOR_ALL },
	{ "order", "ORDER", "sequence (default) or random", set__order, FOR_ALL },
	{ "seed", "N", "of lengths and random order (default 1)", set__seed, FOR_ALL },
	{ "duration", "TIME", "stop after it (default 10s unless --count is given)", set__duration,
	  FOR_ALL },
	{ "count", "N", "stop after N dispatches of the list in each loop", set__count, FOR_ALL },
	{ "threads", "N", "loops, each in a thread; the first in the main thread (default 1)",
	  set__threads, FOR_ALL },
	{ "hogs", "N", "processes that take the CPU in `runnable` (default 3)", set__hogs,
	  FOR_ALL },
	{ "gap", "TIME", "between two of the list (default 50ms)", set__gap, FOR_ALL },
	{ "short-rate", "N/s", "short dispatches in the gaps (default 200/s)", set__short_rate,
	  FOR_ALL },
	{ "form", "LIST", "how work is delivered: message, fd, after (default: by chance)",
	  set__form, FOR_FORMS },
	{ "wait-call", "NAME", "epoll_wait (default), epoll_pwait or epoll_pwait2", set__wait_call,
	  FOR_WAIT_CALLS },
	{ "truth", "FILE", "write what happened, as JSON Lines, at the end; - is stdout",
	  set__truth, FOR_ALL },
	{ "truth-min", "TIME", "leave out dispatches no longer than this (default 1ms)",
	  set__truth_min, FOR_ALL },
	{ "truth-max", "N", "keep at most N for each loop (default 65536)", set__truth_max,
	  FOR_ALL },
	{ "start-delay", "TIME", "idle before the first dispatch", set__start_delay, FOR_ALL },
	{ "wait", NULL, "idle until SIGUSR1 comes, then --start-delay", set__wait, FOR_ALL },
	{ "ready-fd", "FD", "write \"ready PID\" there as soon as the loops wait", set__ready_fd,
	  FOR_ALL },
	{ "dir", "DIR", "for files and sockets, in a directory of its own (default /var/tmp)",
	  set__dir, FOR_ALL },
	{ "quiet", NULL, "no line on stderr", set__quiet, FOR_ALL },
};
#define OPTION_CNT (sizeof(option_table) / sizeof(option_table[0]))

static bool option__applies(size_t i, const struct options_words *words)
{
	return option_table[i].who == FOR_ALL ||
	       (option_table[i].who == FOR_FORMS ? words->forms : words->wait_calls);
}

static _Noreturn void usage__help(const struct options_words *words, const char *name)
{
	printf("Usage: %s [OPTIONS]\nMakes known jank in a loop of kind %s, and tells the truth "
	       "about "
	       "it.\nWithout options: every scenario in turn for ten seconds.\n\n",
	       name, words->loop);
	for (size_t i = 0; i < OPTION_CNT; i++)
		if (option__applies(i, words))
			printf("  --%-12s%-7s%s\n", option_table[i].name,
			       option_table[i].arg ? option_table[i].arg : "",
			       option_table[i].help);
	puts("\nScenarios (those marked * are not in `all`, which leaves out what cannot be had "
	     "here):");
	for (int i = 0; i < SCENARIO_none; i++)
		printf("  %-14s%c %s\n", scenarios[i].name,
		       scenarios[i].type == CLASS_JANK ? ' ' : '*', scenarios[i].help);
	puts("\nTIME is a number with ns, us, ms, s, m or h; a bare number is milliseconds.\n"
	     "SIGTERM and SIGINT end it after the current dispatch.");
	exit(0);
}

/* --- The list of scenarios */

static bool scenario__has_length(const struct scenario *scenario)
{
	return scenario->type == CLASS_JANK || scenario->type == CLASS_LONE;
}

static void pick__add(struct parser *p, const struct scenario *scenario, const struct range *own,
		      bool optional)
{
	struct pick *pick = &p->opt->picks[p->opt->pick_cnt];

	if (p->opt->pick_cnt == OPTIONS_PICK_MAX)
		usage__fail("--scenario: more than %d", OPTIONS_PICK_MAX);
	pick->scenario = scenario;
	pick->optional = optional;
	pick->length = scenario->length;
	if (own)
		pick->length = *own;
	else if (p->length.max_ns && scenario__has_length(scenario))
		pick->length = p->length;
	p->opt->pick_cnt++;
}

static void pick__add_item(struct parser *p, const char *item, size_t len)
{
	const char *colon = memchr(item, ':', len);
	size_t name_len = colon ? (size_t)(colon - item) : len;
	const struct scenario *scenario = scenario__find(item, name_len);
	struct range own;

	if (colon)
		range__need("--scenario", colon + 1, len - name_len - 1, &own);
	if (name_len == 3 && !memcmp(item, "all", 3)) {
		for (int i = 0; i < SCENARIO_CNT; i++)
			if (scenarios[i].type == CLASS_JANK)
				pick__add(p, &scenarios[i], colon ? &own : NULL, true);
		return;
	}
	if (!scenario)
		usage__fail("--scenario: there is no \"%.*s\"", (int)name_len, item);
	pick__add(p, scenario, colon ? &own : NULL, false);
}

static void pick__add_list(struct parser *p)
{
	const char *at = p->list;

	for (size_t len; *at; at += len + (at[len] == ',')) {
		len = strcspn(at, ",");
		pick__add_item(p, at, len);
	}
	if (!p->opt->pick_cnt)
		usage__fail("--scenario: the list is empty");
}

int options__leave_out(struct options *opt, unsigned needs)
{
	size_t kept = 0;
	int cnt = 0;

	for (size_t i = 0; i < opt->pick_cnt; i++) {
		if (!(opt->picks[i].scenario->needs & needs)) {
			opt->picks[kept++] = opt->picks[i];
			continue;
		}
		if (!opt->picks[i].optional)
			return -1;
		opt->left_out[opt->left_out_cnt++] = opt->picks[i].scenario;
		cnt++;
	}
	opt->pick_cnt = kept;
	return cnt;
}

static void options__defaults(struct options *opt, const struct options_words *words)
{
	*opt = (struct options){ .seed = 1,
				 .threads = 1,
				 .hogs = 3,
				 .gap_ns = 50 * NS_PER_MS,
				 .short_period_ns = 5 * NS_PER_MS,
				 .truth_min_ns = NS_PER_MS,
				 .truth_max = 65536,
				 .ready_fd = -1,
				 .dir = "/var/tmp" };
	while (words->forms && words->forms[opt->form_cnt]) {
		opt->forms[opt->form_cnt] = (unsigned)opt->form_cnt;
		opt->form_cnt++;
	}
}

void options__parse(struct options *opt, const struct options_words *words, int argc, char **argv)
{
	struct parser parser = { .opt = opt, .words = words, .list = "all" };
	struct option longs[OPTION_CNT + 2] = { 0 };
	size_t long_cnt = 0;
	int c;

	for (size_t i = 0; i < OPTION_CNT; i++)
		if (option__applies(i, words))
			longs[long_cnt++] =
				(struct option){ option_table[i].name, option_table[i].arg != NULL,
						 NULL, (int)i + 256 };
	longs[long_cnt] = (struct option){ "help", no_argument, NULL, 'h' };
	options__defaults(opt, words);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h')
			usage__help(words, argv[0]);
		if (c == '?')
			exit(2);
		option_table[c - 256].set(&parser, optarg);
	}
	if (optind < argc)
		usage__fail("unexpected \"%s\"", argv[optind]);
	pick__add_list(&parser);
	if (!opt->duration_ns && !opt->count)
		opt->duration_ns = 10 * NS_PER_S;
}
