/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/confine.h"

#ifndef HAVE_SECCOMP

int syscall_filter__install(void)
{
	return 0;
}

bool syscall_filter__is_available(void)
{
	return false;
}

#else

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define ALLOW(name) SCMP_SYS(name)

/* By use: memory and time; the socket; files; stdout; the process itself. */
static const int allowed[] = {
	/* memory and time of the C library */
	ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(futex), ALLOW(getrandom),
	ALLOW(clock_gettime), ALLOW(gettimeofday), ALLOW(sysinfo),
	/* the socket to the tracer */
	ALLOW(recvfrom), ALLOW(sendmsg),
	/* DIR and its files; the time zone's file */
	ALLOW(openat), ALLOW(close), ALLOW(fstat), ALLOW(newfstatat), ALLOW(statx), ALLOW(pread64),
	ALLOW(read), ALLOW(lseek), ALLOW(ftruncate), ALLOW(flock), ALLOW(fsync), ALLOW(utimensat),
	ALLOW(renameat), ALLOW(renameat2), ALLOW(linkat), ALLOW(unlinkat), ALLOW(mkdirat),
	ALLOW(readlinkat), ALLOW(getdents64), ALLOW(fchmod), ALLOW(fchmodat), ALLOW(fcntl),
	/* stdout and stderr */
	ALLOW(write), ALLOW(writev), ALLOW(poll), ALLOW(ppoll), ALLOW(ioctl),
	/* the process itself */
	ALLOW(getpid), ALLOW(geteuid), ALLOW(getuid), ALLOW(alarm), ALLOW(setitimer),
	ALLOW(rt_sigreturn), ALLOW(restart_syscall), ALLOW(exit_group), ALLOW(exit)
};

/* Memory, but no new code. */
static int allow_data(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int res = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &no_code);

	return res ? res
		   : seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, &no_code);
}

/* A kernel without filters does not even look at the address. */
bool syscall_filter__is_available(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EFAULT;
}

static int install(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int res = ctx ? allow_data(ctx) : -ENOMEM;

	for (size_t i = 0; !res && i < sizeof(allowed) / sizeof(*allowed); i++)
		res = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!res)
		res = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return res;
}

int syscall_filter__install(void)
{
	return syscall_filter__is_available() ? install() : 0;
}

#endif
