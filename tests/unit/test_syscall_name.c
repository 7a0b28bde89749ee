/* SPDX-License-Identifier: GPL-2.0 */
/* Names of system calls: each architecture writes its numbers in its own way. */
#include "base/text.h"

#include <sys/syscall.h>

#include "tests/tap.h"

#define NAMES(call) is_str(syscall__name(SYS_##call), #call, "%s", #call)

/* Names of 32-bit programs' calls, by the kernel's own lists. */
static const struct {
	int i386, arm;
	const char *name;
} rows[] = {
	{ 0, 0, "restart_syscall" },  { 3, 3, "read" },
	{ 162, 162, "nanosleep" },    { 256, 252, "epoll_wait" },
	{ 319, 346, "epoll_pwait" },  { 441, 441, "epoll_pwait2" },
	{ 102, -1, "socketcall" },    { -1, 291, "recv" },
	{ 422, 422, "futex_time64" }, { 471, 471, "rseq_slice_yield" },
};

static int number(size_t i)
{
#if defined(__x86_64__)
	return rows[i].i386;
#elif defined(__aarch64__)
	return rows[i].arm;
#else
	return -1;
#endif
}

static void test_32(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (number(i) >= 0)
			is_str(syscall__name_32(number(i)), rows[i].name, "32-bit: %s",
			       rows[i].name);
	ok(!syscall__name_32(-1), "none before the first");
	ok(!syscall__name_32(415), "none for an unused number");
	ok(!syscall__name_32(512), "none after the last");
	is_int(syscall__nr("futex"), SYS_futex, "the number of a name");
	is_int(syscall__nr("read"), SYS_read, "and of the first");
	is_int(syscall__nr("no_call"), -1, "none of another one");
	is_int(syscall__nr(NULL), -1, "nor without a name");
}

int main(void)
{
	NAMES(read);
	NAMES(epoll_pwait);
	/* arm64's are macros of macros */
	NAMES(fcntl);
	NAMES(mmap);
	NAMES(lseek);
	/* the last of this C library's kernel, or nearly */
	NAMES(clone3);
	/* may be newer than its headers */
	is_str(syscall__name(455), "futex_wait", "a call with one number on all architectures");
	ok(!syscall__name(-1), "none before the first");
	ok(!syscall__name(422), "no 32-bit program's call among the others");
	ok(!syscall__name(100000), "none after the last");
	test_32();
	return tap__done();
}
