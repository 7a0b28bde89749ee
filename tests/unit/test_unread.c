/* SPDX-License-Identifier: GPL-2.0 */
/* What was not read is counted, and each reason has one message; the limits of /proc/PID/maps. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/proc.h"
#include "files/unread.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define LINE "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /file\n"

static int count_line(char *line, size_t len, uint64_t off, void *ctx)
{
	(void)line;
	(void)len;
	(void)off;
	++*(size_t *)ctx;
	return 0;
}

static void write_maps(const char *name, size_t lines)
{
	FILE *file = fopen(scratch__path(name), "w");

	if (!file)
		abort();
	for (size_t i = 0; i < lines; i++)
		fputs(LINE, file);
	fclose(file);
}

/* A machine with other work may reach the limit of CPU time in the long file, not in the short. */
static void check_maps(void)
{
	const size_t most = MAPS_BYTES_MAX / strlen(LINE) + 65536 / strlen(LINE) + 1;
	size_t cnt = 0;
	char text[512];

	write_maps("short", 100);
	is_int(maps_file__read(scratch__path("short"), count_line, &cnt), 0, "a short maps");
	is_uint(cnt, 100, "all lines of it");
	is_uint(unread__cnt(), 0, "nothing is unread");
	cnt = 0;
	write_maps("long", 4 * most);
	is_int(maps_file__read(scratch__path("long"), count_line, &cnt), 0, "a long one");
	ok(cnt > 100 && cnt <= most, "its begin: %zu of %zu lines", cnt, 4 * most);
	is_uint(unread__cnt(), 1, "which is counted");
	ok(unread__next(text, sizeof(text)) && strstr(text, "/long': not read to its end"),
	   "the message: %s", text);
	is_int(maps_file__read(scratch__path("none"), count_line, &cnt), -ESRCH, "no process");
}

static void check_messages(void)
{
	uint64_t before = unread__cnt();
	char text[512];

	unread__add(UNREAD_OWNER, "/tmp/first");
	unread__add(UNREAD_OWNER, "/tmp/second");
	unread__add(UNREAD_LINK, "/tmp/third");
	is_uint(unread__cnt() - before, 3, "each reading is counted");
	is_uint(unread__own_cnt(), unread__cnt(), "also for the thread");
	ok(unread__next(text, sizeof(text)) && strstr(text, "'/tmp/first': not read"),
	   "the first object: %s", text);
	ok(unread__next(text, sizeof(text)) && strstr(text, "'/tmp/third': not read"),
	   "the next reason: %s", text);
	ok(!unread__next(text, sizeof(text)), "each reason has one message");
	unread__add(UNREAD_OWNER, "/tmp/fourth");
	ok(!unread__next(text, sizeof(text)), "also later");
}

int main(void)
{
	scratch__init();
	check_maps();
	check_messages();
	return tap__done();
}
