/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "deliver/message.h"
#include "deliver/metrics_sink.h"
#include "export/spool/spool.h"
#include "options/options_table.h"

bool output__wants_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(fd) && (!no_color || !*no_color);
}

static unsigned width_of(int fd)
{
	struct winsize ws;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &ws) ? ws.ws_col : 0;
}

/*
 * True unless the locale names another character set; without any setting, as on Android and in
 * containers, terminals are UTF-8. By the name, because a static program has no locales.
 */
static bool is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return true;
}

static int read_threshold(const char *text, uint64_t *ret_ns, struct err *err)
{
	return parse__time(text, "the threshold", TOP_THRESHOLD_MIN_NS, UINT64_MAX, ret_ns, err);
}

static int top_sink(const struct options *opts, const struct sink_text_opts *text,
		    struct sink **ret, struct err *err)
{
	const struct sink_top_opts top = {
		.text = *text,
		.keys_fd = opts->batch ? -1 : DELIVER_KEYS_FD,
		.control_fd = opts->batch ? -1 : DELIVER_CONTROL_FD,
		.dir = opts->output_dir,
		.interval_ns = opts->interval_ns,
		.count = opts->count,
		.hang_ns = opts->hang_ns,
		.read_time = read_threshold,
	};

	return sink_top__new(STDOUT_FILENO, &top, ret, err);
}

/* Binary records do not go to a terminal: with -o they are in DIR, and the terminal shows text. */
static int stdout_sink(const struct options *opts, struct sink **ret, struct err *err)
{
	const struct sink_text_opts text = {
		.color = opts->color == COLOR_AUTO ? output__wants_color(STDOUT_FILENO)
						   : opts->color == COLOR_ALWAYS,
		.ascii = !is_utf8(),
		.each = opts->each,
		.width = width_of(STDOUT_FILENO),
		.stacks = opts->stacks,
		.top = opts->top,
		.verbosity = opts->verbosity,
	};
	enum format format = opts->format;

	if (opts->command == CMD_TOP)
		return top_sink(opts, &text, ret, err);
	if (format == FORMAT_PROTO && isatty(STDOUT_FILENO)) {
		if (!opts->output_dir)
			return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
					     "stdout is a terminal and --format proto is binary: "
					     "send it to a file or a program, or give -o DIR");
		format = FORMAT_TEXT;
	}
	if (format == FORMAT_TEXT)
		*ret = sink_text__new(STDOUT_FILENO, &text);
	else
		*ret = sink_stream__new(STDOUT_FILENO,
					format == FORMAT_PROTO ? RECORD_PROTO : RECORD_JSON);
	return *ret ? 0 : err__set(err, ENOMEM, "out of memory");
}

/* The records of a replay inside of another command: its sink is not ours to free. */
struct sink_borrowed {
	struct sink sink;
	struct sink *to;
};

static int borrowed__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink *to = ((struct sink_borrowed *)sink)->to;

	return to->ops->record(to, record);
}

static void borrowed__free(struct sink *sink)
{
	free(sink);
}

static const struct sink_ops borrowed_ops = {
	.name = "report",
	.record = borrowed__record,
	.free = borrowed__free,
};

static int borrowed_sink(struct sink *to, struct sink **ret, struct err *err)
{
	struct sink_borrowed *b = calloc(1, sizeof(*b));

	if (!b)
		return err__set(err, ENOMEM, "out of memory");
	b->sink.ops = &borrowed_ops;
	b->to = to;
	*ret = &b->sink;
	return 0;
}

static int dir_sink(const struct options *opts, struct sink **ret, struct err *err)
{
	const struct sink_dir_opts dir = {
		.dir = opts->output_dir,
		.format = opts->format == FORMAT_PROTO ? RECORD_PROTO : RECORD_JSON,
		.keep_ns = opts->keep_ns,
		.max_bytes = opts->max_size,
		.qualifier = opts->qualifier,
	};
	int res = sink_dir__new(&dir, ret, err);

	if (res)
		return res;
	if (err->msg[0]) /* usable, but not at the moment: a full disk, … */
		log__warn("%s", err->msg);
	err->msg[0] = '\0';
	return 0;
}

static bool has_metrics(const struct options *opts)
{
	return opts->command == CMD_AGENT && (opts->metrics_listen || opts->metrics_textfile);
}

#define SPOOL_INTERVAL_NS (10 * NS_PER_SEC)

static int spool_sink(struct sinks *sinks, const struct options *opts, struct sink **ret,
		      struct err *err)
{
	sinks->names = send__names(opts);

	const struct spool_opts spool = {
		.dir = opts->spool,
		.max_bytes = opts->spool_max,
		.interval_ns = opts->interval_ns ?: SPOOL_INTERVAL_NS,
		.backends = sinks->names.list,
	};

	return sink_spool__new(&spool, !has_metrics(opts) || !opts->metrics_listen, ret, err);
}

static int metrics_sink(const struct options *opts, struct sink **ret, struct err *err)
{
	const struct sink_metrics_opts metrics = {
		.max_signatures = opts->max_signatures,
		.interval_ns = opts->interval_ns,
		.listen_fd = opts->metrics_listen ? DELIVER_LISTEN_FD : -1,
		.access = opts->metrics_access,
		.textfile = opts->metrics_textfile,
		.spool = opts->spool,
		.names = send__names(opts),
	};

	return sink_metrics__new(&metrics, ret, err);
}

int sinks__open(struct sinks *sinks, const struct options *opts, struct sink_progress *progress,
		struct err *err)
{
	bool shows = opts->command != CMD_AGENT;
	struct sink *sink;
	int res = 0;

	*sinks = (struct sinks){};
	if (opts->command == CMD_LOOPS)
		return 0; /* the command prints only its loops */
	if (opts->sink)
		res = borrowed_sink(opts->sink, &sink, err);
	else if (shows)
		res = stdout_sink(opts, &sink, err);
	if (!res && (opts->sink || shows))
		sinks->list[sinks->cnt++] = sink;
	if (!res && opts->output_dir) {
		res = dir_sink(opts, &sink, err);
		if (!res)
			sinks->list[sinks->cnt++] = sink;
	}
	/* Before the metrics, which wait for connections. */
	if (!res && opts->spool) {
		res = spool_sink(sinks, opts, &sink, err);
		if (!res)
			sinks->list[sinks->cnt++] = sink;
	}
	if (!res && has_metrics(opts)) {
		res = metrics_sink(opts, &sink, err);
		if (!res)
			sinks->list[sinks->cnt++] = sink;
	}
	for (unsigned i = 0; progress && i < sinks->cnt; i++)
		sinks->list[i]->progress = &progress[i];
	return res;
}

void sinks__close(struct sinks *sinks)
{
	while (sinks->cnt) {
		struct sink *sink = sinks->list[--sinks->cnt];

		sink->ops->free(sink);
	}
}

void sinks__record(struct sinks *sinks, const Jankbpf__Record *record, uint64_t nr, int *results)
{
	for (unsigned i = 0; i < sinks->cnt; i++) {
		struct sink *sink = sinks->list[i];

		results[i] = 0;
		if (record->type_case == JANKBPF__RECORD__TYPE_HISTORY && !sink->ops->takes_history)
			continue;
		if (sink_progress__begin(sink->progress, nr)) {
			results[i] = sink->ops->record(sink, record);
			sink_progress__end(sink->progress, nr, results[i]);
		} else {
			results[i] = sink->progress->result;
		}
	}
}

uint64_t sinks__dropped(const struct sinks *sinks)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < sinks->cnt; i++)
		sum += sink__dropped(sinks->list[i]);
	return sum;
}
