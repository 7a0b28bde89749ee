/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which mapped files of a process are worth opening: with maps longer and odder than any real ones.
 */
#include "uprobes/mapped_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "uprobes/targets.h"

#define WANTS(e, l) (&(const struct target_wants){ .epoll = (e), .looper = (l) })

static void write_maps(FILE *maps)
{
	fputs("00400000-00401000 r-xp 00000000 08:01 11 /bin/a b\\012c\n"
	      "7f00-7f01 r--p 00000000 08:01 12 /lib/libc.so.6\n"
	      "7f01-7f02 r-xp 00001000 08:01 12 /lib/libc.so.6 (deleted)\n"
	      "7f02-7f03 r-xp 00001000 08:01 12 /lib/libc.so.6 (deleted)\n"
	      "7f03-7f04 r-xp 00000000 00:00 0 [vdso]\n"
	      "7f04-7f05 r-xp 00000000 00:00 0 \n"
	      "7f05-7f06 r-xp 00000000 08:01 13 relative/libc.so\n"
	      "7f06-7f07 r-xp\n\nnonsense\n"
	      "7f07-7f08 r-xp 00000000 zz:01 14 /lib/libc.so.7\n",
	      maps);
	for (int i = 0; i < 60000; i++)
		fprintf(maps, "%x000-%x000 r-xp 00000000 08:02 %d /opt/%d.so\n", i + 0x8000,
			i + 0x8001, i + 1, i);
	for (int i = 0; i < 1000; i++)
		fprintf(maps, "%x000-%x000 r-xp 00000000 08:03 %d /x/libc.so.%d\n", i + 0x90000,
			i + 0x90001, i + 1, i);
	fputs("f0000000-f0001000 r-xp 00000000 08:04 1 /", maps);
	for (int i = 0; i < 70000; i++)
		fputc('x', maps);
	fputs("/libc.so.6\nf1000000-f1001000 r-xp 00000000 08:04 2 /libutils.so", maps);
}

static void test_maps(void)
{
	struct mapped_files found;
	FILE *maps = fopen(scratch__path("maps"), "w");
	size_t libc = 0, odd = 0;

	write_maps(maps);
	fclose(maps);
	is_int(mapped_files__read_file(scratch__path("maps"), getpid(), WANTS(true, true), &found),
	       0, "maps of 61,000 lines");
	is_uint(found.likely_cnt, CANDIDATES_LIKELY_MAX, "the bound on likely files");
	is_uint(found.cnt, CANDIDATES_LIKELY_MAX + CANDIDATES_OTHER_MAX, "and on others");
	is_str(found.items[found.likely_cnt - 1].likely ? "likely" : "other", "likely",
	       "likely ones come first");
	for (size_t i = 0; i < found.cnt; i++) {
		const struct candidate *item = &found.items[i];

		odd += !strcmp(item->path, "/bin/a b\nc");
		if (strcmp(item->path, "/lib/libc.so.6"))
			continue;
		libc++;
		ok(item->start == 0x7f01 && item->end == 0x7f02, "a deleted file's range");
	}
	is_uint(libc, 1, "a file mapped twice is kept once; (deleted) is no part of its path");
	is_uint(odd, 1, "a path with a blank and a newline");
	mapped_files__free(&found);
	is_int(mapped_files__read_file(scratch__path("none"), getpid(), WANTS(true, true), &found),
	       -ESRCH, "no maps, no process");
	mapped_files__free(&found);
}

int main(void)
{
	scratch__init();
	test_maps();
	return tap__done();
}
