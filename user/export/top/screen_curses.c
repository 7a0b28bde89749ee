/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen by ncurses. */
#include "export/top/screen.h"

#ifdef HAVE_NCURSES

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ESCAPE_MS 50 /* the bytes of a key arrive within this */

static SCREEN *terminal;
static FILE *in, *out;
static int keys_fd = -1;

/* Of SGR codes: colours 30 to 37 become pairs of the same number. */
static void open_colors(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	for (short color = COLOR_BLACK; color <= COLOR_WHITE; color++)
		init_pair((short)(color + 1), color, -1);
}

static FILE *open_stream(int fd, const char *mode)
{
	int own = dup(fd);
	FILE *ret = own >= 0 ? fdopen(own, mode) : NULL;

	if (!ret && own >= 0)
		close(own);
	return ret;
}

static void close_streams(void)
{
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	in = out = NULL;
}

int screen__open(int out_fd, int in_fd, struct err *err)
{
	const char *term = getenv("TERM");

	setlocale(LC_CTYPE, "");
	in = open_stream(in_fd, "r");
	out = open_stream(out_fd, "w");
	terminal = in && out ? newterm(NULL, out, in) : NULL;
	if (!terminal) {
		close_streams();
		return err__set(err, ENOTTY,
				"the terminal '%.40s' is not known here: set TERM, such as to "
				"xterm-256color, or give -b",
				term ?: "");
	}
	set_term(terminal);
	keys_fd = in_fd;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	nodelay(stdscr, TRUE);
	curs_set(0);
	open_colors();
	return 0;
}

void screen__close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
	close_streams();
}

void screen__size(unsigned *ret_columns, unsigned *ret_lines)
{
	*ret_columns = COLS > 0 ? (unsigned)COLS : 80;
	*ret_lines = LINES > 0 ? (unsigned)LINES : 24;
}

static void set_code(long code)
{
	if (code == 0)
		attrset(A_NORMAL);
	else if (code == 1)
		attron(A_BOLD);
	else if (code == 2)
		attron(A_DIM);
	else if (code == 7)
		attron(A_REVERSE);
	else if (code >= 30 && code <= 37)
		attron(COLOR_PAIR(code - 30 + 1));
}

/* "\033[1;33m". Returns what follows. */
static const char *set_codes(const char *at)
{
	char *end;

	at += 2;
	for (;;) {
		set_code(strtol(at, &end, 10));
		if (*end != ';')
			break;
		at = end + 1;
	}
	return *end ? end + 1 : end;
}

static const char *draw_line(const char *at)
{
	size_t len;

	for (; *at && *at != '\n'; at += len) {
		len = strcspn(at, "\033\n");
		if (len)
			addnstr(at, (int)len);
		else
			at = set_codes(at);
	}
	attrset(A_NORMAL);
	return *at ? at + 1 : at;
}

void screen__draw(const char *text)
{
	erase();
	for (int line = 0; *text && line < LINES; line++) {
		move(line, 0);
		text = draw_line(text);
	}
	refresh();
}

static const struct {
	int from, to;
} key_map[] = {
	{ KEY_UP, SCREEN_UP },	       { KEY_DOWN, SCREEN_DOWN },
	{ KEY_LEFT, SCREEN_LEFT },     { KEY_RIGHT, SCREEN_RIGHT },
	{ KEY_PPAGE, SCREEN_PAGE_UP }, { KEY_NPAGE, SCREEN_PAGE_DOWN },
	{ KEY_HOME, SCREEN_HOME },     { KEY_END, SCREEN_END },
	{ KEY_ENTER, SCREEN_ENTER },   { KEY_BACKSPACE, SCREEN_BACKSPACE },
	{ KEY_RESIZE, SCREEN_RESIZE },
};

static int map_key(int key)
{
	for (size_t i = 0; i < sizeof(key_map) / sizeof(*key_map); i++)
		if (key_map[i].from == key)
			return key_map[i].to;
	return SCREEN_NONE;
}

int screen__key(void)
{
	struct pollfd keys = { .fd = keys_fd, .events = POLLIN };
	wint_t key;
	int res = get_wch(&key);

	if (res == KEY_CODE_YES)
		return map_key((int)key);
	if (res == ERR)
		return poll(&keys, 1, 0) == 1 && keys.revents & (POLLHUP | POLLERR) ? SCREEN_CLOSED
										    : SCREEN_NONE;
	return screen_key__of((int)key);
}

#endif
