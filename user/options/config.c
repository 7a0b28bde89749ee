/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of the configuration. libinih parses the lines. The line reader sees each line first: it
 * keeps the value, which libinih would cut at 200 bytes and at " ;", and reports what libinih takes
 * in silence. All errors are reported, not only the first.
 */
#include "options/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"
#include "files/own_path.h"
#include "options/config_override.h"

#define FILE_MAX   (256 << 10)
#define LINE_MAX_  4096
#define ERRORS_MAX 100
#define WORD_MAX_  48 /* of a section or key; libinih cuts them at 50 */

struct reading {
	const struct config_opts *opts;
	struct options *ret;
	bool *set;
	const char *at, *end; /* text not yet read */
	const char *value;    /* of the current line, in `text` */
	struct strbuf text;
	unsigned line;
	unsigned lines[OPTION_ROWS_MAX]; /* where each option stands; 0: nowhere */
	unsigned error_cnt;
	struct override *override; /* the section under way; NULL: another one */
};

static void look_at_section(struct reading *r, char *line);

static void __attribute__((format(printf, 2, 3))) fault(struct reading *r, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT, clean = STRBUF_INIT;
	va_list ap;

	if (r->error_cnt++ >= ERRORS_MAX)
		return;
	strbuf__adds(&sb, r->opts->path);
	if (r->line)
		strbuf__addf(&sb, ":%u", r->line);
	strbuf__adds(&sb, ": ");
	va_start(ap, fmt);
	strbuf__vaddf(&sb, fmt, ap);
	va_end(ap);
	text__add_clean(&clean, strbuf__str(&sb));
	r->opts->error(r->opts->ctx, strbuf__str(&clean));
	strbuf__free(&sb);
	strbuf__free(&clean);
}

/* --- lines */

static void look_at(struct reading *r, char *line, size_t len)
{
	size_t first = strspn(line, " \t\r\n"), equal;

	if (memchr(line, 0, len)) {
		fault(r, "a zero byte: this is not a text file");
	} else if (!line[first] || line[first] == '#' || line[first] == ';') {
		/* nothing, or a comment */
	} else if (first) {
		fault(r, "the line is indented: begin it in the first column, and write a value on "
			 "one line");
	} else if (*line == '[') {
		look_at_section(r, line);
		return;
	} else {
		equal = strcspn(line, "=");
		r->value = line[equal] ? line + equal + 1 : NULL;
		if (r->value && strcspn(line, ":;") > equal)
			return;
		fault(r, r->value ? "a : or ; before the =: write KEY = VALUE, and a comment on a "
				    "line of its own"
				  : "neither [SECTION] nor KEY = VALUE; a comment begins with #");
	}
	*line = '\0';
}

/* For libinih, like fgets: what is not for it is an empty line. */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;
	size_t len = (size_t)(r->end - r->at);
	const char *newline = memchr(r->at, '\n', len);

	if (!len)
		return NULL;
	if (newline)
		len = (size_t)(newline - r->at);
	r->line++;
	strbuf__reset(&r->text);
	strbuf__add(&r->text, r->at, len);
	r->at += len + (newline != NULL);
	if (r->text.failed)
		return NULL;
	if (len > LINE_MAX_)
		fault(r, "the line has more than %d bytes", LINE_MAX_);
	else if (len)
		look_at(r, r->text.data, len);
	if (!len || len > LINE_MAX_)
		snprintf(buf, size, "\n");
	else
		snprintf(buf, size, "%.*s\n", size - 2, r->text.data);
	return buf;
}

/* --- keys */

static bool is_section(const char *name)
{
	for (size_t i = 0; i < config_key_cnt; i++)
		if (!strcmp(config_keys[i].section, name))
			return true;
	return false;
}

static void refuse_section(struct reading *r, const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	const char *last = "";
	struct nearest near;

	nearest__init(&near, name, strlen(name));
	for (size_t i = 0; i < config_key_cnt; i++) {
		if (!strcmp(last, config_keys[i].section))
			continue;
		strbuf__addf(&sb, "%s%s", *last ? ", " : "", config_keys[i].section);
		last = config_keys[i].section;
		nearest__offer(&near, last, strlen(last));
	}
	if (near.best)
		fault(r, "[%.*s]: no such section; did you mean [%s]?", WORD_MAX_, name, near.best);
	else
		fault(r, "[%.*s]: no such section; there are %s", WORD_MAX_, name,
		      strbuf__str(&sb));
	strbuf__free(&sb);
}

static void end_override(struct reading *r)
{
	struct err err = {};

	if (r->override && config_override__end(r->override, &err))
		fault(r, "%s", err.msg);
	r->override = NULL;
}

static void begin_override(struct reading *r, const char *name)
{
	struct err err = {};

	if (config_override__begin(r->ret, name, r->line, &r->override, &err))
		fault(r, "%s", err.msg);
}

/* Also a section without keys, of which libinih says nothing. */
static void look_at_section(struct reading *r, char *line)
{
	char *end = strchr(line, ']');
	const char *name;

	if (!end) {
		fault(r, "a [SECTION] without its ]");
		*line = '\0';
		return;
	}
	*end = '\0';
	end_override(r);
	name = config_override__name(line + 1);
	if (name)
		begin_override(r, name);
	else if (!is_section(line + 1))
		refuse_section(r, line + 1);
	*end = ']';
	if (end[1 + strspn(end + 1, " \t\r")])
		fault(r, "text after the ]: write a key or a comment on a line of its own");
}

static const struct config_key *find_key(const char *section, const char *word)
{
	for (size_t i = 0; i < config_key_cnt; i++)
		if ((!section || !strcmp(config_keys[i].section, section)) &&
		    config__is_key(config_keys[i].key, word))
			return &config_keys[i];
	return NULL;
}

static void refuse_key(struct reading *r, const char *section, const char *word)
{
	const struct config_key *other = find_key(NULL, word);
	struct strbuf keys = STRBUF_INIT;
	struct nearest near;

	nearest__init(&near, word, strlen(word));
	for (size_t i = 0; i < config_key_cnt; i++) {
		if (strcmp(config_keys[i].section, section))
			continue;
		strbuf__addf(&keys, "%s%s", keys.len ? ", " : "", config_keys[i].key);
		nearest__offer(&near, config_keys[i].key, strlen(config_keys[i].key));
	}
	if (other)
		fault(r, "%s: a key of [%s], not of [%s]", word, other->section, section);
	else if (near.best)
		fault(r, "%s: no such key in [%s]; did you mean %s?", word, section, near.best);
	else
		fault(r, "%s: no such key in [%s]; there are %s", word, section,
		      strbuf__str(&keys));
	strbuf__free(&keys);
}

/* --- values */

/* A copy of the line's value, without blanks around it, that lives as long as the options. */
static char *keep_text(struct reading *r)
{
	char **texts = reallocarray(r->ret->texts, r->ret->text_cnt + 1, sizeof(*texts));
	const char *value = r->value + strspn(r->value, " \t\r");
	size_t len = strlen(value);
	char *text;

	if (texts)
		r->ret->texts = texts;
	while (len && strchr(" \t\r", value[len - 1]))
		len--;
	text = texts ? strndup(value, len) : NULL;
	if (text)
		texts[r->ret->text_cnt++] = text;
	return text;
}

/* -p takes the place of the whole selection. */
static bool is_overridden(const struct reading *r, const struct option_row *row)
{
	bool narrows = row->set == option__set_all || row->set == option__set_comm ||
		       row->set == option__set_uid || row->set == option__set_cgroup;

	for (size_t i = 0; i < option_row_cnt && narrows; i++)
		if (option_rows[i].set == option__set_pids && r->opts->given[i])
			return true;
	return r->opts->given[row - option_rows];
}

/* Messages of options begin with "--". */
static void set_value(struct reading *r, const struct option_row *row, const char *text)
{
	bool overridden = is_overridden(r, row);
	struct options *opts = overridden ? r->opts->scratch : r->ret;
	struct err err = {};
	int on = row->arg ? 1 : config__read_switch(text);
	int res = on < 0 ? on : 0;

	if (res)
		err__set(&err, EINVAL, "%s '%.60s': give yes or no", row->name, text);
	else if (on)
		res = row->set(opts, row, row->arg ? text : NULL, &err);
	if (!res && on && !overridden)
		res = options__keep_value(opts, row, row->arg ? text : NULL);
	if (!res && on && !overridden)
		r->set[row - option_rows] = true;
	if (res)
		fault(r, "%s",
		      err.msg[0] ? err.msg + (strncmp(err.msg, "--", 2) ? 0 : 2) : strerror(-res));
}

static void take_key(struct reading *r, const struct config_key *key)
{
	const struct option_row *row = config_key__row(key);
	unsigned *line = &r->lines[row - option_rows];
	char *text;

	if (*line && !option__is_repeatable(row)) {
		fault(r, "%s stands in line %u, too: delete one of them", key->key, *line);
		return;
	}
	*line = r->line;
	text = keep_text(r);
	if (!text)
		fault(r, "out of memory");
	else
		set_value(r, row, text);
}

static void take_override(struct reading *r, const char *word)
{
	char *value = keep_text(r);
	struct err err = {};

	if (!value)
		fault(r, "out of memory");
	else if (config_override__take(r->ret, r->override, word, value, &err))
		fault(r, "%s", err.msg + (strncmp(err.msg, "--", 2) ? 0 : 2));
}

/* inih's handler: 1 is success. */
static int take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	const struct config_key *key;

	(void)value;
	if (!*section) {
		fault(r, "%.*s: a key before the first [SECTION]", WORD_MAX_, name);
		return 1;
	}
	if (r->override)
		take_override(r, name);
	if (r->override || !is_section(section))
		return 1; /* what is wrong is reported */
	key = find_key(section, name);
	if (key)
		take_key(r, key);
	else
		refuse_key(r, section, name);
	return 1;
}

/* --- the file */

/* Whoever may write it decides what root runs and where it writes. */
static int check_file(struct reading *r, int fd, size_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st)) {
		fault(r, "%s", strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		fault(r, "not a regular file");
	} else if (!own_path__is_private(&st)) {
		fault(r,
		      "it belongs to user id %u, with mode %03o: it must be root's or yours, and "
		      "writable by nobody else (chown root, chmod go-w)",
		      st.st_uid, st.st_mode & 07777);
	} else if (st.st_size > FILE_MAX) {
		fault(r, "more than %d KiB: this is not a configuration", FILE_MAX >> 10);
	} else {
		*ret_size = (size_t)st.st_size;
		return 0;
	}
	return -EINVAL;
}

/* Returns the text, which the caller frees; NULL: an error was reported. */
static char *read_file(struct reading *r, int fd, size_t *ret_size)
{
	char *text = NULL;
	int res;

	if (check_file(r, fd, ret_size))
		return NULL;
	text = malloc(*ret_size + 1);
	res = text ? file__read_exactly(fd, text, *ret_size, 0) : -ENOMEM;
	if (!res)
		return text;
	fault(r, "cannot read it: %s", strerror(-res));
	free(text);
	return NULL;
}

static void parse(struct reading *r, const char *text, size_t size)
{
	bool has_mark = size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
	int res;

	r->at = text + (has_mark ? 3 : 0);
	r->end = text + size;
	res = ini_parse_stream(read_line, r, take_line, r);
	end_override(r);
	if (res && !r->error_cnt) { /* the line reader sees all that is known of libinih */
		r->line = res > 0 ? (unsigned)res : r->line;
		fault(r, "the line cannot be read: write [SECTION] or KEY = VALUE");
	}
	if (r->text.failed)
		fault(r, "out of memory");
	strbuf__free(&r->text);
}

int config__read(const struct config_opts *opts, struct options *ret, bool *set)
{
	struct reading r = { .opts = opts, .ret = ret, .set = set };
	int fd = file__open_own(opts->path);
	size_t size;
	char *text;

	if (fd == -ENOENT && opts->may_lack)
		return -ENOENT;
	if (fd < 0) {
		fault(&r, "cannot open it: %s%s", strerror(-fd),
		      fd == -ENOENT ? "; --config names another file" : "");
		return -EINVAL;
	}
	text = read_file(&r, fd, &size);
	close(fd);
	if (text)
		parse(&r, text, size);
	free(text);
	r.line = 0;
	if (r.error_cnt > ERRORS_MAX) {
		r.error_cnt = 0;
		fault(&r, "more than %d errors", ERRORS_MAX);
	}
	return r.error_cnt ? -EINVAL : 0;
}
