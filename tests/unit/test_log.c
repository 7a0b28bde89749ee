/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output on a terminal: levels, escapes, the status line on a pseudo-terminal; none of it in a
 * pipe.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tests/tap.h"

#define ERASE "\r\x1b[K"

/* Stderr, as a pipe or a pseudo-terminal, and the end that the test reads. */
static int saved_stderr, reader;
static char seen[65536];

static void capture(int read_fd, int write_fd)
{
	reader = read_fd;
	fcntl(reader, F_SETFL, O_NONBLOCK);
	saved_stderr = dup(STDERR_FILENO);
	dup2(write_fd, STDERR_FILENO);
	close(write_fd);
}

static void capture_pipe(void)
{
	int fds[2];

	if (pipe(fds))
		exit(1);
	capture(fds[0], fds[1]);
}

static bool capture_terminal(unsigned short width)
{
	struct winsize size = { .ws_row = 25, .ws_col = width };
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios raw;

	if (master < 0 || grantpt(master) || unlockpt(master))
		return false;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0)
		return false;
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	ioctl(slave, TIOCSWINSZ, &size);
	capture(master, slave);
	return true;
}

/* The text printed since the last call. */
static const char *said(void)
{
	ssize_t n, len = 0;

	while ((n = read(reader, seen + len, sizeof(seen) - 1 - (size_t)len)) > 0)
		len += n;
	seen[len] = '\0';
	return seen;
}

static void release(void)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(reader);
}

static void say_all(void)
{
	log__error("e%d", 1);
	log__warn("w%d", 2);
	log__info("i%d", 3);
	log__verbose("v%d", 4);
	log__debug("d%d", 5);
}

static const struct {
	int set, level;
	const char *want;
} levels[] = {
	{ -100, LOG_QUIET, "jankbpf: e1\n" },
	{ LOG_QUIET, LOG_QUIET, "jankbpf: e1\n" },
	{ LOG_NORMAL, LOG_NORMAL, "jankbpf: e1\njankbpf: w2\njankbpf: i3\n" },
	{ LOG_VERBOSE, LOG_VERBOSE, "jankbpf: e1\njankbpf: w2\njankbpf: i3\njankbpf: v4\n" },
	{ LOG_DEBUG, LOG_DEBUG,
	  "jankbpf: e1\njankbpf: w2\njankbpf: i3\njankbpf: v4\njankbpf: d5\n" },
	{ 100, LOG_DEBUG, "jankbpf: e1\njankbpf: w2\njankbpf: i3\njankbpf: v4\njankbpf: d5\n" },
};

static void test_levels(void)
{
	is_int(log__level(), LOG_NORMAL, "the level is normal at first");
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		log__set_level(levels[i].set);
		is_int(log__level(), levels[i].level, "level %d is clamped", levels[i].set);
		say_all();
		is_str(said(), levels[i].want, "… and what it prints");
	}
	log__set_level(LOG_NORMAL);
}

static const struct {
	const char *text, *want, *what;
} escapes[] = {
	{ "plain é→😀", "plain é→😀", "UTF-8 stays" },
	{ "a\nb\tc\rd", "a\\nb\\tc\\x0dd", "one line whatever it holds" },
	{ "\x1b[2J\x07\x7f", "\\x1b[2J\\x07\\x7f", "terminal escapes" },
	{ "\xc2\x9b"
	  "2J",
	  "\\xc2\\x9b2J", "C1 in UTF-8" },
	{ "\xff\xe2\x82", "\\xff\\xe2\\x82", "invalid bytes" },
	{ "100%s%n", "100%s%n", "an argument is no format" },
};

static void test_escapes(void)
{
	char want[256];

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		log__info("%s", escapes[i].text);
		snprintf(want, sizeof(want), "jankbpf: %s\n", escapes[i].want);
		is_str(said(), want, "escape: %s", escapes[i].what);
	}
}

static void test_long_and_errno(void)
{
	static char text[20001];

	memset(text, 'l', sizeof(text) - 1);
	log__info("%s", text);
	is_uint(strlen(said()), sizeof(text) - 1 + strlen("jankbpf: \n"), "long ones are whole");
	errno = EDOM;
	log__status("y");
	is_int(errno, EDOM, "a status line that is not shown keeps errno");
}

/* With stderr closed nothing happens, and errno is kept. */
static void test_closed_stderr(void)
{
	int keep = dup(STDERR_FILENO);

	close(STDERR_FILENO);
	errno = EDOM;
	log__error("x");
	is_int(errno, EDOM, "errno is kept when stderr is closed");
	dup2(keep, STDERR_FILENO);
	close(keep);
}

static void *shout(void *arg)
{
	for (int i = 0; i < 200; i++)
		log__info("%s", (const char *)arg);
	return NULL;
}

static void test_hold(void)
{
	char line[1001];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	log__hold(true);
	log__warn("later");
	is_str(said(), "", "a held line is not printed");
	log__hold(false);
	is_str(said(), "jankbpf: later\n", "until the end");
	log__hold(true);
	for (int i = 0; i < 70; i++)
		log__warn("%s", line);
	log__hold(false);
	ok(strstr(said(), "jankbpf: 6 more messages were left out\n"),
	   "those beyond the room are counted");
	log__warn("now");
	is_str(said(), "jankbpf: now\n", "then lines are printed at once");
}

static void test_threads(void)
{
	pthread_t one, two;
	unsigned lines = 0, broken = 0;

	pthread_create(&one, NULL, shout, "aaaaaaaaaaaaaaaaaaaa");
	pthread_create(&two, NULL, shout, "bbbbbbbbbbbbbbbbbbbb");
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	said();
	for (char *line = strtok(seen, "\n"); line; line = strtok(NULL, "\n")) {
		lines++;
		broken += strcmp(line, "jankbpf: aaaaaaaaaaaaaaaaaaaa") &&
			  strcmp(line, "jankbpf: bbbbbbbbbbbbbbbbbbbb");
	}
	is_uint(lines, 400, "two threads lose no line");
	is_uint(broken, 0, "… and no line is mixed");
}

static void test_status_in_pipe(void)
{
	log__status("busy");
	log__status(NULL);
	is_str(said(), "", "no status line without a terminal");
	log__info("x");
	is_str(said(), "jankbpf: x\n", "… and nothing to erase");
}

static void test_status(void)
{
	log__status("one");
	is_str(said(), "one", "the status line");
	log__status("two");
	is_str(said(), ERASE "two", "… is redrawn in place");
	log__warn("w");
	is_str(said(), ERASE "jankbpf: w\n", "… is erased before a message");
	log__warn("w");
	is_str(said(), "jankbpf: w\n", "… once");
	log__verbose("not shown");
	is_str(said(), "", "… nor for a message that is not shown");
	log__status("three");
	log__status(NULL);
	is_str(said(), "three" ERASE, "NULL erases it");
	log__status(NULL);
	is_str(said(), "", "… once");
	log__status("a\x1b[2J\nb\xff");
	is_str(said(), "a?[2J?b\xef\xbf\xbd", "… is cleaned");
	log__status(
		"123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 ");
	is_uint(strlen(said()), strlen(ERASE) + 79,
		"… is cut to 80 columns if the width is unknown");
	log__status(NULL);
	said();
}

static void test_status_width(void)
{
	log__status("0123456789012345678901234567890");
	is_str(said(), "0123456789012345678", "cut to the width of 20 columns, the last one free");
	log__status("ééééééééééééééééééééééééé");
	is_str(said(), ERASE "ééééééééééééééééééé", "… in characters, not bytes");
	log__status(NULL);
	said();
	log__set_level(LOG_QUIET);
	log__status("quiet");
	is_str(said(), "", "none with -q");
	log__set_level(LOG_NORMAL);
}

static void on_terminal(void (*test)(void), unsigned short width, int checks)
{
	if (!capture_terminal(width)) {
		skip(checks, "no pseudo-terminal: %s", strerror(errno));
		return;
	}
	test();
	release();
}

int main(void)
{
	capture_pipe();
	test_levels();
	test_escapes();
	test_long_and_errno();
	test_closed_stderr();
	test_hold();
	test_threads();
	test_status_in_pipe();
	release();
	on_terminal(test_status, 0, 9);
	on_terminal(test_status_width, 20, 3);
	return tap__done();
}
