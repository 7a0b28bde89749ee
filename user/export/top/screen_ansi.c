/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen by the escape sequences of xterm, which every terminal of today understands. */
#include "export/top/screen.h"

#ifndef HAVE_NCURSES

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "export/sink.h"

#define ALTERNATE "\033[?1049h\033[?25l"
#define ORIGINAL  "\033[?25h\033[?1049l"

#define ESCAPE_MS 50 /* the bytes of a key arrive within this */

static struct {
	bool open;
	int out_fd, in_fd;
	struct termios before;
} terminal;
static volatile sig_atomic_t resized;

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

int screen__open(int out_fd, int in_fd, struct err *err)
{
	const struct sigaction action = { .sa_handler = on_resize };
	struct termios raw;

	if (tcgetattr(in_fd, &terminal.before))
		return err__set(err, errno, "stdin is no terminal: give -b for a table in text");
	terminal.out_fd = out_fd;
	terminal.in_fd = in_fd;
	raw = terminal.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(in_fd, TCSADRAIN, &raw);
	sigaction(SIGWINCH, &action, NULL);
	terminal.open = true;
	return output__write(out_fd, ALTERNATE, strlen(ALTERNATE));
}

void screen__close(void)
{
	if (!terminal.open)
		return;
	terminal.open = false;
	output__write(terminal.out_fd, ORIGINAL, strlen(ORIGINAL));
	tcsetattr(terminal.in_fd, TCSADRAIN, &terminal.before);
}

void screen__size(unsigned *ret_columns, unsigned *ret_lines)
{
	struct winsize ws;
	bool known = !ioctl(terminal.out_fd, TIOCGWINSZ, &ws) && ws.ws_col && ws.ws_row;

	*ret_columns = known ? ws.ws_col : 80;
	*ret_lines = known ? ws.ws_row : 24;
}

void screen__draw(const char *text)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned columns, lines;

	screen__size(&columns, &lines);
	strbuf__adds(&sb, "\033[H");
	for (unsigned line = 0; *text && line < lines; line++) {
		size_t len = strcspn(text, "\n");

		strbuf__add(&sb, text, len);
		strbuf__adds(&sb, line + 1 < lines ? "\033[0m\033[K\r\n" : "\033[0m\033[K");
		text += len + (text[len] == '\n');
	}
	strbuf__adds(&sb, "\033[J");
	if (!sb.failed)
		output__write(terminal.out_fd, sb.data, sb.len);
	strbuf__free(&sb);
}

/* --- keys */

static const struct {
	const char *bytes; /* after ESC */
	int key;
} sequences[] = {
	{ "[A", SCREEN_UP },	     { "[B", SCREEN_DOWN }, { "[C", SCREEN_RIGHT },
	{ "[D", SCREEN_LEFT },	     { "OA", SCREEN_UP },   { "OB", SCREEN_DOWN },
	{ "OC", SCREEN_RIGHT },	     { "OD", SCREEN_LEFT }, { "[H", SCREEN_HOME },
	{ "[F", SCREEN_END },	     { "OH", SCREEN_HOME }, { "OF", SCREEN_END },
	{ "[1~", SCREEN_HOME },	     { "[4~", SCREEN_END }, { "[5~", SCREEN_PAGE_UP },
	{ "[6~", SCREEN_PAGE_DOWN },
};

/* The next byte; -1: none now; -2: the terminal is gone. */
static int next_byte(int wait_ms)
{
	struct pollfd keys = { .fd = terminal.in_fd, .events = POLLIN };
	unsigned char byte;
	ssize_t n;

	if (poll(&keys, 1, wait_ms) != 1)
		return -1;
	n = keys.revents & POLLIN ? read(terminal.in_fd, &byte, 1) : 0;
	if (n == 1)
		return byte;
	return keys.revents & (POLLHUP | POLLERR) ? -2 : -1;
}

static int read_sequence(void)
{
	char bytes[8] = "";
	size_t len = 0;
	int byte = next_byte(ESCAPE_MS);

	if (byte < 0)
		return SCREEN_ESCAPE;
	while (byte >= 0 && len + 1 < sizeof(bytes)) {
		bytes[len++] = (char)byte;
		for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++)
			if (!strcmp(bytes, sequences[i].bytes))
				return sequences[i].key;
		if (len > 1 && (byte == '~' || (byte >= 'A' && byte <= 'Z')))
			break;
		byte = next_byte(ESCAPE_MS);
	}
	return SCREEN_NONE;
}

/* A character of several bytes. Filters and thresholds need no other than ASCII. */
static int read_character(int first)
{
	for (int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1; more; more--)
		if (next_byte(ESCAPE_MS) < 0)
			break;
	return SCREEN_NONE;
}

int screen__key(void)
{
	int byte;

	if (resized) {
		resized = 0;
		return SCREEN_RESIZE;
	}
	byte = next_byte(0);
	if (byte < 0)
		return byte == -2 ? SCREEN_CLOSED : SCREEN_NONE;
	if (byte == 0x1b)
		return read_sequence();
	return byte >= 0xc0 ? read_character(byte) : screen_key__of(byte);
}

#endif
