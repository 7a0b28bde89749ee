/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread that is blocked in a system call waits for. The table lists only calls that
 * determine it; for the others the task's state decides (JANK_CLASS_PLAIN). Calls are listed by
 * name, because numbers differ between architectures, and between 64-bit and 32-bit programs. No
 * architecture has all of them.
 */
#include "catalogue/syscalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/syscall_name.h"

static const char *const classes[] = {
	[JANK_CLASS_FUTEX] = "futex futex_time64 futex_wait futex_waitv",
	[JANK_CLASS_SLEEP] = "nanosleep clock_nanosleep clock_nanosleep_time64",
	[JANK_CLASS_POLL] = "epoll_wait epoll_pwait epoll_pwait2 "
			    "io_getevents io_pgetevents io_pgetevents_time64",
	[JANK_CLASS_POLL_FDS] = "poll ppoll ppoll_time64",
	[JANK_CLASS_SELECT] = "select _newselect pselect6 pselect6_time64",
	[JANK_CLASS_IO_URING] = "io_uring_enter",
	/* i386's socketcall may be any of them */
	[JANK_CLASS_RECV] = "recv recvfrom recvmsg recvmmsg recvmmsg_time64",
	[JANK_CLASS_SOCKET] = "send sendto sendmsg sendmmsg connect socketcall",
	[JANK_CLASS_ACCEPT] = "accept accept4",
	[JANK_CLASS_QUEUE] =
		"rt_sigtimedwait rt_sigtimedwait_time64 rt_sigsuspend sigsuspend pause "
		"mq_timedreceive mq_timedreceive_time64 msgrcv semop semtimedop "
		"semtimedop_time64",
	[JANK_CLASS_CHILD] = "wait4 waitid waitpid",
	[JANK_CLASS_FD] = "read readv pread64 preadv preadv2 "
			  "write writev pwrite64 pwritev pwritev2 "
			  "splice tee vmsplice",
	[JANK_CLASS_SENDFILE] = "sendfile sendfile64",
	[JANK_CLASS_IOCTL] = "ioctl",
	[JANK_CLASS_FILE_FD] = "fsync fdatasync syncfs sync_file_range fallocate ftruncate "
			       "ftruncate64 copy_file_range getdents64 flock fcntl fcntl64",
	[JANK_CLASS_FILE] = "sync sync_file_range2 msync close symlink symlinkat",
	[JANK_CLASS_PATH] = "truncate truncate64 open creat stat stat64 lstat lstat64 statfs "
			    "readlink rename unlink mkdir rmdir link access chdir chmod chown "
			    "lchown utimes utime execve mknod getxattr lgetxattr setxattr "
			    "lsetxattr listxattr llistxattr removexattr lremovexattr umount2",
	[JANK_CLASS_PATH_AT] = "openat openat2 newfstatat fstatat64 statx readlinkat renameat "
			       "renameat2 unlinkat mkdirat linkat faccessat faccessat2 fchmodat "
			       "fchownat utimensat mknodat name_to_handle_at execveat",
};

/* In the order of jank_conf.epoll_nr. */
static const char *const epoll[] = { "epoll_wait", "epoll_pwait", "epoll_pwait2" };

#define EPOLL_CNT (JANK_EPOLL_CNT / 2)
_Static_assert(sizeof(epoll) / sizeof(epoll[0]) == EPOLL_CNT, "epoll_nr");

/* The name of a number in the probes' form. */
static const char *name_of(int nr)
{
	return nr < JANK_SYSCALL_32 ? syscall__name(nr) : syscall__name_32(nr - JANK_SYSCALL_32);
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static uint8_t class_of(const char *name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i] && has_word(classes[i], name))
			return i;
	return JANK_CLASS_PLAIN;
}

static void set_one(struct jank_conf *conf, int nr, const char *name)
{
	int half = nr >= JANK_SYSCALL_32;

	conf->syscall_class[nr] = class_of(name);
	if (!strcmp(name, "restart_syscall"))
		conf->restart_nr[half] = nr;
	if (!half && !strcmp(name, "select"))
		conf->select_nr = nr;
	for (int i = 0; i < EPOLL_CNT; i++)
		if (!strcmp(name, epoll[i]))
			conf->epoll_nr[half * EPOLL_CNT + i] = nr;
}

void syscalls__set(struct jank_conf *conf)
{
	memset(conf->epoll_nr, -1, sizeof(conf->epoll_nr));
	conf->select_nr = -1;
	memset(conf->restart_nr, -1, sizeof(conf->restart_nr));
	memset(conf->syscall_class, JANK_CLASS_PLAIN, sizeof(conf->syscall_class));
	for (int nr = 0; nr < JANK_SYSCALL_MAX; nr++)
		if (name_of(nr))
			set_one(conf, nr, name_of(nr));
}

unsigned syscalls__class(int nr)
{
	if (nr < 0 || nr >= JANK_SYSCALL_MAX || !name_of(nr))
		return JANK_CLASS_PLAIN;
	return class_of(name_of(nr));
}

const char *syscalls__of_class(unsigned class)
{
	return class < sizeof(classes) / sizeof(classes[0]) ? classes[class] : NULL;
}
