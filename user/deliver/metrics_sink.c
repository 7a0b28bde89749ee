/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/metrics_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deliver/metrics_http.h"
#include "files/file.h"
#include "files/own_path.h"

#define FILE_MODE 0644 /* node_exporter is another user */

struct sink_metrics {
	struct sink sink;
	struct metrics *metrics;
	struct metrics_http *http; /* NULL: none */
	const char *textfile;
	const char *spool;
	struct send_names names;
};

/* --- the file */

static int write_new(int dir, const char *name, const struct strbuf *text)
{
	int fd, res;

	unlinkat(dir, name, 0); /* of a process that was killed */
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	res = file__write_all(fd, strbuf__str(text), text->len);
	if (!res && fchmod(fd, FILE_MODE)) /* whatever the umask is */
		res = -errno;
	close(fd);
	return res;
}

/* A reader finds the old file or the new one. */
static int replace(const char *path, const struct strbuf *text)
{
	const char *name;
	char next[NAME_MAX + 1];
	int dir = own_path__parent(path, &name, NULL), res;

	if (dir < 0)
		return dir;
	res = snprintf(next, sizeof(next), "%s.new", name) < (int)sizeof(next) ? 0 : -ENAMETOOLONG;
	if (!res)
		res = write_new(dir, next, text);
	if (!res && renameat(dir, next, dir, name))
		res = -errno;
	if (res)
		unlinkat(dir, next, 0);
	close(dir);
	return res;
}

static int write_textfile(const struct sink_metrics *s)
{
	struct strbuf text = STRBUF_INIT;
	int res;

	metrics__write(s->metrics, METRICS_TEXT, &text);
	res = text.failed ? -ENOMEM : replace(s->textfile, &text);
	strbuf__free(&text);
	return res;
}

/* --- the sink */

static void show_spool(struct sink_metrics *s)
{
	struct spool_state state;

	if (!spool_state__read(s->spool, s->names.list, &state, NULL))
		metrics__set_spool(s->metrics, &state);
}

static int on_record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_metrics *s = (struct sink_metrics *)sink;
	int res = metrics__record(s->metrics, record);

	if (s->spool && record->type_case == JANKBPF__RECORD__TYPE_INTERVAL)
		show_spool(s);

	if (!s->textfile || (record->type_case != JANKBPF__RECORD__TYPE_INTERVAL &&
			     record->type_case != JANKBPF__RECORD__TYPE_SUMMARY))
		return res;
	return write_textfile(s) ?: res;
}

static int on_wait(struct sink *sink, int fd)
{
	struct sink_metrics *s = (struct sink_metrics *)sink;

	return s->http ? metrics_http__wait(s->http, fd) : 0;
}

static void on_free(struct sink *sink)
{
	struct sink_metrics *s = (struct sink_metrics *)sink;

	metrics_http__free(s->http);
	metrics__free(s->metrics);
	free(s);
}

static const struct sink_ops ops = {
	.name = "metrics",
	.record = on_record,
	.wait = on_wait,
	.free = on_free,
};

/* The path is checked at the start, when the user can still be told. */
static int check_textfile(const struct sink_metrics *s, struct err *err)
{
	const char *name;
	int res = own_path__parent(s->textfile, &name, err);

	if (res < 0)
		return res;
	close(res);
	res = write_textfile(s);
	return res ? err__set(err, -res,
			      "'%s': cannot write the metrics there: %s; does its directory exist, "
			      "and may the agent's user write it?",
			      s->textfile, strerror(-res))
		   : 0;
}

int sink_metrics__new(const struct sink_metrics_opts *opts, struct sink **ret, struct err *err)
{
	struct sink_metrics *s = calloc(1, sizeof(*s));
	int res;

	if (!s)
		return err__set(err, ENOMEM, "out of memory");
	s->sink.ops = &ops;
	s->textfile = opts->textfile;
	s->spool = opts->spool;
	s->names = opts->names;
	s->metrics = metrics__new(opts->max_signatures);
	res = s->metrics ? 0 : err__set(err, ENOMEM, "out of memory");
	if (!res)
		metrics__set_interval(s->metrics, opts->interval_ns);
	if (!res && opts->listen_fd >= 0)
		res = metrics_http__new(opts->listen_fd, s->metrics, opts->access, &s->http, err);
	if (!res && s->textfile)
		res = check_textfile(s, err);
	if (res)
		on_free(&s->sink);
	else
		*ret = &s->sink;
	return res;
}
