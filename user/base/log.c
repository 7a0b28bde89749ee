/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on stderr. Each line is one write, so that lines of the two threads and of other
 * programs do not mix. The state of the status line is one flag: "there is a line to erase".
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"

#define PREFIX	      "jankbpf: "
#define ERASE_LINE    "\r\x1b[K"
#define WIDTH_UNKNOWN 80

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_level = LOG_NORMAL;
static bool status_shown;
static struct {
	bool on;
	struct strbuf lines;
	unsigned long more_cnt; /* lines that found no room */
} held;

void log__set_level(int level)
{
	if (level < LOG_QUIET)
		level = LOG_QUIET;
	if (level > LOG_DEBUG)
		level = LOG_DEBUG;
	__atomic_store_n(&log_level, level, __ATOMIC_RELAXED);
}

int log__level(void)
{
	return __atomic_load_n(&log_level, __ATOMIC_RELAXED);
}

static void add_escape(struct strbuf *sb, unsigned char c)
{
	if (c == '\n')
		strbuf__adds(sb, "\\n");
	else if (c == '\t')
		strbuf__adds(sb, "\\t");
	else
		strbuf__addf(sb, "\\x%02x", c);
}

/*
 * Unlike text__add_clean, this keeps the values of the bytes: a log is read to find causes. They
 * are shown as numbers.
 */
static void add_escaped(struct strbuf *sb, const char *str)
{
	size_t left = strlen(str), len;

	for (; left; str += len, left -= len) {
		len = text__utf8_len(str, left);
		if (len && !text__is_hidden(str, len)) {
			strbuf__add(sb, str, len);
			continue;
		}
		len += !len;
		for (size_t i = 0; i < len; i++)
			add_escape(sb, (unsigned char)str[i]);
	}
}

/* Called with the lock. */
static void hold_line(const struct strbuf *text)
{
	if (held.lines.len + text->len <= LOG_HELD_MAX)
		strbuf__add(&held.lines, text->data, text->len);
	else
		held.more_cnt++;
}

void log__hold(bool on)
{
	pthread_mutex_lock(&log_lock);
	held.on = on;
	if (!on && held.lines.len)
		(void)fwrite(held.lines.data, 1, held.lines.len, stderr);
	if (!on && held.more_cnt)
		fprintf(stderr, PREFIX "%lu more messages were left out\n", held.more_cnt);
	if (!on) {
		strbuf__free(&held.lines);
		held.more_cnt = 0;
	}
	pthread_mutex_unlock(&log_lock);
}

/* A failed write is ignored: there is no other place to report it. */
static void write_locked(const struct strbuf *text, bool status)
{
	struct strbuf out = STRBUF_INIT;

	pthread_mutex_lock(&log_lock);
	if (held.on) {
		if (!status)
			hold_line(text);
		pthread_mutex_unlock(&log_lock);
		return;
	}
	if (status_shown)
		strbuf__adds(&out, ERASE_LINE);
	status_shown = status;
	strbuf__add(&out, text->data, text->len);
	if (!out.failed && out.len)
		(void)fwrite(out.data, 1, out.len, stderr);
	pthread_mutex_unlock(&log_lock);
	strbuf__free(&out);
}

static void __attribute__((format(printf, 2, 0))) say(int level, const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	int saved_errno = errno;

	if (log__level() >= level) {
		strbuf__vaddf(&text, fmt, ap);
		strbuf__adds(&line, PREFIX);
		add_escaped(&line, strbuf__str(&text));
		strbuf__addc(&line, '\n');
		write_locked(&line, false);
	}
	strbuf__free(&text);
	strbuf__free(&line);
	errno = saved_errno;
}

#define DEFINE_LOG(name, level)                                                                    \
	void log__##name(const char *fmt, ...)                                                     \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		say(level, fmt, ap);                                                               \
		va_end(ap);                                                                        \
	}

DEFINE_LOG(error, LOG_QUIET)
DEFINE_LOG(warn, LOG_NORMAL)
DEFINE_LOG(info, LOG_NORMAL)
DEFINE_LOG(verbose, LOG_VERBOSE)
DEFINE_LOG(debug, LOG_DEBUG)

static unsigned terminal_width(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col)
		return WIDTH_UNKNOWN;
	return ws.ws_col;
}

/* Keep the last column free: writing into it makes some terminals wrap. */
static void add_cut(struct strbuf *sb, const char *line)
{
	struct strbuf clean = STRBUF_INIT;
	unsigned room = terminal_width() - 1;
	const char *s;
	size_t left;

	text__add_clean(&clean, line);
	s = strbuf__str(&clean);
	left = clean.len;
	while (left && room) {
		size_t len = text__utf8_len(s, left);

		strbuf__add(sb, s, len);
		s += len;
		left -= len;
		room--;
	}
	strbuf__free(&clean);
}

void log__status(const char *line)
{
	struct strbuf text = STRBUF_INIT;
	int saved_errno = errno;

	if (log__level() >= LOG_NORMAL && isatty(STDERR_FILENO)) {
		if (line)
			add_cut(&text, line);
		write_locked(&text, line != NULL);
		strbuf__free(&text);
	}
	errno = saved_errno;
}
