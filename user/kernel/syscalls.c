/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread that blocks in a system call waits for. Only calls that say it by themselves are
 * listed; the rest is told by the task's state (JANK_CLASS_PLAIN). A call that this architecture does not
 * have is left out by the preprocessor.
 */
#include "kernel/syscalls.h"

#include <string.h>
#include <sys/syscall.h>

#define ROW(call, class)                                                                           \
	{                                                                                          \
		__NR_##call, JANK_CLASS_##class                                                    \
	}

static const struct {
	int nr;
	uint8_t class;
} rows[] = {
	ROW(futex, FUTEX),
#ifdef __NR_futex_waitv
	ROW(futex_waitv, FUTEX),
#endif
#ifdef __NR_futex_wait
	ROW(futex_wait, FUTEX),
#endif
	ROW(nanosleep, SLEEP),
	ROW(clock_nanosleep, SLEEP),
#ifdef __NR_poll
	ROW(poll, POLL),
	ROW(select, POLL),
	ROW(epoll_wait, POLL),
#endif
	ROW(ppoll, POLL),
	ROW(pselect6, POLL),
	ROW(epoll_pwait, POLL),
#ifdef __NR_epoll_pwait2
	ROW(epoll_pwait2, POLL),
#endif
#ifdef __NR_io_uring_enter
	ROW(io_uring_enter, POLL),
#endif
	ROW(io_getevents, POLL),
	ROW(recvfrom, SOCKET),
	ROW(recvmsg, SOCKET),
	ROW(recvmmsg, SOCKET),
	ROW(sendto, SOCKET),
	ROW(sendmsg, SOCKET),
	ROW(sendmmsg, SOCKET),
	ROW(connect, SOCKET),
	ROW(accept, SOCKET),
	ROW(accept4, SOCKET),
	ROW(read, FD),
	ROW(write, FD),
	ROW(readv, FD),
	ROW(writev, FD),
	ROW(pread64, FD),
	ROW(pwrite64, FD),
	ROW(preadv, FD),
	ROW(pwritev, FD),
	ROW(preadv2, FD),
	ROW(pwritev2, FD),
	ROW(splice, FD),
	ROW(tee, FD),
	ROW(vmsplice, FD),
	ROW(sendfile, FD),
	ROW(ioctl, IOCTL),
	ROW(fsync, FILE),
	ROW(fdatasync, FILE),
	ROW(sync, FILE),
	ROW(syncfs, FILE),
	ROW(sync_file_range, FILE),
	ROW(msync, FILE),
	ROW(fallocate, FILE),
	ROW(ftruncate, FILE),
	ROW(truncate, FILE),
	ROW(copy_file_range, FILE),
	ROW(getdents64, FILE),
	ROW(openat, FILE),
#ifdef __NR_open
	ROW(open, FILE),
	ROW(creat, FILE),
	ROW(stat, FILE),
	ROW(lstat, FILE),
	ROW(rename, FILE),
	ROW(unlink, FILE),
	ROW(mkdir, FILE),
	ROW(rmdir, FILE),
	ROW(link, FILE),
	ROW(symlink, FILE),
	ROW(access, FILE),
#endif
#ifdef __NR_openat2
	ROW(openat2, FILE),
#endif
#ifdef __NR_newfstatat
	ROW(newfstatat, FILE),
#endif
	ROW(statx, FILE),
	ROW(renameat2, FILE),
	ROW(unlinkat, FILE),
	ROW(mkdirat, FILE),
	ROW(linkat, FILE),
	ROW(symlinkat, FILE),
	ROW(faccessat, FILE),
	ROW(close, FILE),
	ROW(execve, FILE),
};

void syscalls__classes(uint8_t classes[JANK_SYSCALL_MAX])
{
	memset(classes, JANK_CLASS_PLAIN, JANK_SYSCALL_MAX);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].nr < JANK_SYSCALL_MAX)
			classes[rows[i].nr] = rows[i].class;
}
