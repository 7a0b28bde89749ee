/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes get of system calls: of 64-bit programs, and of 32-bit ones on the same kernel.
 */
#include "catalogue/syscalls.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "tests/tap.h"

#define TABLE "user/base/syscalls_32.tbl"

static struct jank_conf conf;

/* The class in the probes' table; -1: this architecture has no such call. */
static int number_32(const char *name)
{
	for (int nr = 0; nr < JANK_SYSCALL_32; nr++)
		if (syscall__name_32(nr) && !strcmp(syscall__name_32(nr), name))
			return JANK_SYSCALL_32 + nr;
	return -1;
}

static int number(const char *name)
{
	for (int nr = 0; nr < JANK_SYSCALL_32; nr++)
		if (syscall__name(nr) && !strcmp(syscall__name(nr), name))
			return nr;
	return -1;
}

static void test_epoll(void)
{
#ifdef SYS_epoll_wait
	is_int(conf.epoll_nr[0], SYS_epoll_wait, "epoll_wait");
#else
	is_int(conf.epoll_nr[0], -1, "no epoll_wait here");
#endif
	is_int(conf.epoll_nr[1], SYS_epoll_pwait, "epoll_pwait");
	is_int(conf.epoll_nr[2], 441, "epoll_pwait2");
	is_int(conf.epoll_nr[3], number_32("epoll_wait"), "32-bit: epoll_wait");
	is_int(conf.epoll_nr[4], number_32("epoll_pwait"), "32-bit: epoll_pwait");
	is_int(conf.epoll_nr[5], number_32("epoll_pwait2"), "32-bit: epoll_pwait2");
	ok(conf.epoll_nr[3] > JANK_SYSCALL_32 && conf.epoll_nr[5] < JANK_SYSCALL_MAX,
	   "and 32-bit programs have each");
}

static void test_restart(void)
{
	is_int(conf.restart_nr[0], SYS_restart_syscall, "restart_syscall");
	is_int(conf.restart_nr[1], JANK_SYSCALL_32, "32-bit: 0 on i386 and arm");
}

static const struct {
	const char *name;
	unsigned class;
} rows[] = {
	{ "futex", JANK_CLASS_FUTEX },
	{ "futex_time64", JANK_CLASS_FUTEX },
	{ "futex_waitv", JANK_CLASS_FUTEX },
	{ "futex_wait", JANK_CLASS_FUTEX },
	{ "nanosleep", JANK_CLASS_SLEEP },
	{ "clock_nanosleep_time64", JANK_CLASS_SLEEP },
	{ "_newselect", JANK_CLASS_SELECT },
	{ "ppoll_time64", JANK_CLASS_POLL_FDS },
	{ "pselect6_time64", JANK_CLASS_SELECT },
	{ "epoll_pwait", JANK_CLASS_POLL },
	{ "io_pgetevents_time64", JANK_CLASS_POLL },
	{ "socketcall", JANK_CLASS_SOCKET },
	{ "recv", JANK_CLASS_RECV },
	{ "recvmmsg_time64", JANK_CLASS_RECV },
	{ "accept4", JANK_CLASS_ACCEPT },
	{ "read", JANK_CLASS_FD },
	{ "pwritev2", JANK_CLASS_FD },
	{ "sendfile64", JANK_CLASS_SENDFILE },
	{ "ioctl", JANK_CLASS_IOCTL },
	{ "openat", JANK_CLASS_PATH_AT },
	{ "stat64", JANK_CLASS_PATH },
	{ "sync_file_range2", JANK_CLASS_FILE },
	{ "fsync", JANK_CLASS_FILE_FD },
	{ "getpid", JANK_CLASS_PLAIN },
	{ "futex_wake", JANK_CLASS_PLAIN }, /* does not wait */
	{ "ugetrlimit", JANK_CLASS_PLAIN },
};

/* Not every call exists for both. */
static void test_class(const char *bits, int nr, const char *name, unsigned class)
{
	if (nr >= 0)
		is_uint(conf.syscall_class[nr], class, "%s: the class of %s", bits, name);
}

static void test_classes(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_class("64-bit", number(rows[i].name), rows[i].name, rows[i].class);
		test_class("32-bit", number_32(rows[i].name), rows[i].name, rows[i].class);
	}
	is_uint(conf.syscall_class[SYS_ppoll], JANK_CLASS_POLL_FDS, "by the C library's number");
	is_uint(conf.syscall_class[JANK_SYSCALL_32 - 1], JANK_CLASS_PLAIN, "no such call");
}

/* Only another architecture's 32-bit programs may have it. */
static bool in_table(const char *table, const char *name)
{
	char line[80];

	snprintf(line, sizeof(line), "\n%s ", name);
	return strstr(table, line) != NULL;
}

/* A misspelt name would only be missing, without an error. */
static void test_known(void)
{
	static char table[64 << 10];
	FILE *file = fopen(TABLE, "r");
	char *save = NULL;

	if (!file) {
		skip(1, "no " TABLE " here");
		return;
	}
	ok(fread(table, 1, sizeof(table) - 1, file) > 1000, TABLE);
	fclose(file);
	for (unsigned i = 0; i <= JANK_CLASS_QUEUE; i++) {
		const char *words = syscalls__of_class(i);
		char *copy = words ? strdup(words) : NULL;
		char *word = copy ? strtok_r(copy, " ", &save) : NULL;

		for (; word; word = strtok_r(NULL, " ", &save))
			ok(number(word) >= 0 || number_32(word) >= 0 || in_table(table, word),
			   "%s is a system call", word);
		free(copy);
	}
}

int main(void)
{
	memset(&conf, 0x5a, sizeof(conf));
	syscalls__set(&conf);
	test_epoll();
	test_restart();
	test_classes();
	test_known();
	ok(!syscalls__of_class(JANK_CLASS_PLAIN), "no call is listed as plain");
	ok(!syscalls__of_class(1000), "nor in an unknown class");
	return tap__done();
}
