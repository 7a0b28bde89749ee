/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal of `jankbpf top`: by ncurses, or by escape sequences where the build has no ncurses.
 * One at a time in a process, on one thread.
 */
#ifndef JANK_EXPORT_TOP_SCREEN_H
#define JANK_EXPORT_TOP_SCREEN_H

#include "base/err.h"

/* Keys without a character of their own. */
enum screen_key {
	SCREEN_NONE = -1,
	SCREEN_UP = 0x110000, /* beyond Unicode */
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_BACKSPACE,
	SCREEN_ESCAPE,
	SCREEN_RESIZE,
	SCREEN_CLOSED, /* the terminal is gone */
};

/*
 * Takes over the terminal: out_fd to draw on, in_fd for keys. Returns 0, or -errno with a message.
 */
int screen__open(int out_fd, int in_fd, struct err *err);
void screen__close(void); /* restores it; harmless if it is not open */

void screen__size(unsigned *ret_columns, unsigned *ret_lines);

/*
 * Draws lines of text, each ended by a newline, with the escape sequences of colours that the text
 * sink writes; the lines must fit. Lines below them become empty.
 */
void screen__draw(const char *text);

/* The key of a character: of control characters a screen_key. */
static inline int screen_key__of(int character)
{
	switch (character) {
	case '\r':
	case '\n':
		return SCREEN_ENTER;
	case 0x7f:
	case '\b':
		return SCREEN_BACKSPACE;
	case 0x1b:
		return SCREEN_ESCAPE;
	default:
		return character;
	}
}

/* The next key: a character or a screen_key; SCREEN_NONE if there is none now. */
int screen__key(void);

#endif
