/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf fleet`: the front end of deploy/clickhouse. */
#include "cli/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/diff_output.h"
#include "export/json/json.h"
#include "export/sink.h"
#include "fleet/fleet.h"
#include "session/event_loop.h"

#ifdef HAVE_CURL
#define HAS_CLIENT true
#else
#define HAS_CLIENT false /* the rest of this file is dropped */
#endif

#define DAY_NS	(24 * 3600 * NS_PER_SEC)
#define SKEW_NS (3600 * NS_PER_SEC) /* of an agent's clock */

static int open_fleet(const struct options *opts, struct fleet *ret, struct err *err)
{
	const struct backend_options *from = &opts->sends[SEND_CLICKHOUSE];

	*ret = (struct fleet){
		.settings = { .user = from->user,
			      .password_file = from->password_file,
			      .ca_file = from->ca_file,
			      .cert_file = from->cert_file,
			      .key_file = from->key_file,
			      .proxy = from->proxy,
			      .timeout_ns = from->timeout_ns },
		.urls = from->urls,
		.url_cnt = from->url_cnt,
		.database = from->database,
	};
	return http__new(&ret->http, err);
}

/* The default is the last day. The caller frees ret->conditions. 0, or -errno with a message. */
static int read_filter(const struct options *opts, struct fleet_filter *ret, struct err *err)
{
	uint64_t now_ns = clock__real_ns();
	uint64_t since_ns = opts->since_ns ?: now_ns - DAY_NS;
	uint64_t until_ns = opts->until_ns ?: now_ns + SKEW_NS;

	*ret = (struct fleet_filter){
		.since_s = since_ns / NS_PER_SEC,
		.until_s = (until_ns + NS_PER_SEC - 1) / NS_PER_SEC,
	};
	if (!fleet_filter__add(ret, "unit", opts->fleet_unit) &&
	    !fleet_filter__add(ret, "process", opts->fleet_process))
		return 0;
	return err__set(err, ENOMEM, "out of memory");
}

static int print(const struct strbuf *sb, struct err *err)
{
	int res = output__write(STDOUT_FILENO, strbuf__str(sb), sb->len);

	if (!res || res == -EPIPE)
		return 0;
	return err__set(err, -res, "cannot write to stdout: %s", strerror(-res));
}

/* --- show */

/* The record of a block, as trace prints it. */
static int print_record(const struct options *opts, const struct strbuf *json, struct err *err)
{
	const struct sink_text_opts text = {
		.color =
			opts->color == COLOR_ALWAYS ||
			(opts->color == COLOR_AUTO && isatty(STDOUT_FILENO) && !getenv("NO_COLOR")),
		.each = true,
		.stacks = opts->stacks,
		.verbosity = opts->verbosity,
	};
	Jankbpf__Record *record;
	struct sink *sink;
	uint64_t unknown;
	int res;

	if (!json->len)
		return 0;
	if (opts->format == FORMAT_JSON)
		return print(json, err);
	if (json__read_record(json->data, json->len, &record, &unknown, err))
		return err__set(err, EBADMSG,
				"the record of the block is not one of this version: --json "
				"prints it as it is");
	sink = sink_text__new(STDOUT_FILENO, &text);
	res = sink ? sink->ops->record(sink, record) : -ENOMEM;
	if (sink)
		sink->ops->free(sink);
	jankbpf__record__free_unpacked(record, NULL);
	if (!res || res == -EPIPE)
		return 0;
	return err__set(err, -res, "cannot write to stdout: %s", strerror(-res));
}

static int show(struct fleet *fleet, const struct options *opts, struct err *err)
{
	struct strbuf sb = STRBUF_INIT, record = STRBUF_INIT;
	struct fleet_filter filter;
	int res = read_filter(opts, &filter, err);

	if (!res)
		res = fleet__show(fleet, &filter, opts->files[1], opts->top, &sb, &record, err);

	if (!res && opts->format != FORMAT_JSON)
		res = print(&sb, err);
	if (!res && opts->format == FORMAT_JSON && !record.len)
		res = err__set(err, ENODATA,
			       "'%.32s': none of its blocks has a record: show it without --json",
			       opts->files[1]);
	else if (!res && opts->format == FORMAT_JSON)
		strbuf__addc(&record, '\n');
	if (!res)
		res = print_record(opts, &record, err);
	free(filter.conditions);
	strbuf__free(&sb);
	strbuf__free(&record);
	return res;
}

/* --- diff */

/* "VERSION", "VERSION@FROM..TO" or "@FROM..TO". */
static int read_side(const char *word, const struct options *opts, struct fleet_filter *filter,
		     struct err *err)
{
	uint64_t from_ns = 0, to_ns = 0;
	size_t len = 0;
	char *version;
	int res = read_filter(opts, filter, err);

	if (!res)
		res = time_range__read(word, &len, &from_ns, &to_ns, err);
	if (res)
		return res;
	version = strndup(word, len);
	res = version ? fleet_filter__add(filter, "version_key", version) : -ENOMEM;
	free(version);
	if (res)
		return err__set(err, ENOMEM, "out of memory");
	if (from_ns)
		filter->since_s = from_ns / NS_PER_SEC;
	if (to_ns)
		filter->until_s = to_ns / NS_PER_SEC;
	if (filter->until_s > filter->since_s)
		return 0;
	return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
			     "'%.200s': its time is empty: give --since and --until, or both after "
			     "@",
			     word);
}

static int compare(struct fleet *fleet, const struct options *opts, struct err *err)
{
	const char *const *names = &opts->files[1];
	struct fleet_filter sides[DIFF_SIDES] = {};
	struct diff_findings findings = {};
	struct diff diff;
	bool all = opts->verbosity > 0 || opts->format == FORMAT_JSON;
	int res = 0;

	diff__init(&diff);
	for (unsigned i = 0; i < DIFF_SIDES && !res; i++)
		res = read_side(names[i], opts, &sides[i], err);
	if (!res)
		res = fleet__compare(fleet, sides, names, all, &diff, &findings, err);
	if (!res)
		res = diff__print(&diff, &findings, names, opts, err);
	res = diff__exit_status(res, &findings, err);
	free(findings.list);
	diff__free(&diff);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		free(sides[i].conditions);
	return res;
}

/* --- top and drop */

static int sum_up(struct fleet *fleet, const struct options *opts, struct err *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct fleet_filter filter;
	int res = read_filter(opts, &filter, err);

	if (!res && !strcmp(opts->files[0], "top"))
		res = fleet__top(fleet, &filter, opts->fleet_by, opts->top,
				 opts->format == FORMAT_JSON, &sb, err);
	else if (!res)
		res = fleet__drop(fleet, opts->fleet_cluster,
				  (clock__real_ns() - opts->older_ns) / NS_PER_SEC, &sb, err);
	/* Of drop, also what was done before an error. */
	if (sb.len && print(&sb, res ? NULL : err) && !res)
		res = -EIO;
	free(filter.conditions);
	strbuf__free(&sb);
	return res;
}

int cmd_fleet__run(const struct options *opts, struct err *err)
{
	const char *word = opts->files[0];
	struct fleet fleet;
	int res;

	if (!HAS_CLIENT) {
		err__set(
			err, ENOTSUP,
			"this build has no HTTP client: use one with libcurl, such as the package");
		return JANK_EXIT_FAILED;
	}
	signals__write_errors();
	res = open_fleet(opts, &fleet, err);
	if (res)
		return err->exit ? err->exit : JANK_EXIT_FAILED;
	if (!strcmp(word, "diff")) {
		res = compare(&fleet, opts, err);
	} else {
		res = !strcmp(word, "show") ? show(&fleet, opts, err) : sum_up(&fleet, opts, err);
		res = !res ? JANK_EXIT_OK : err->exit ? err->exit : JANK_EXIT_FAILED;
	}
	http__free(fleet.http);
	return res;
}
