/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread that is blocked in a system call waits for. The table lists only calls that
 * determine it; for the others the task's state decides (JANK_CLASS_PLAIN). Calls are listed by
 * name, because numbers differ between architectures, and between 64-bit and 32-bit programs. No
 * architecture has all of them.
 */
#include "catalogue/syscalls.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "files/file.h"
#include "model/sample.h"

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
		if (sample__syscall_name(nr))
			set_one(conf, nr, sample__syscall_name(nr));
}

unsigned syscalls__class(int nr)
{
	if (nr < 0 || nr >= JANK_SYSCALL_MAX || !sample__syscall_name(nr))
		return JANK_CLASS_PLAIN;
	return class_of(sample__syscall_name(nr));
}

bool syscalls__waits_for_signals(const char *name)
{
	return !strcmp(name, "rt_sigsuspend") || !strcmp(name, "sigsuspend") ||
	       !strcmp(name, "pause") || text__begins(name, "rt_sigtimedwait");
}

const char *syscalls__of_class(unsigned class)
{
	return class < sizeof(classes) / sizeof(classes[0]) ? classes[class] : NULL;
}

/* /proc/PID/task/TID/syscall shows the call that a blocked thread is in, and its stack pointer. */

#define TEXT_MAX 512

static const struct {
	long nr;
	uint32_t loop;
	bool has_fds; /* the second argument is their number */
} waits[] = {
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, JANK_LOOP_EPOLL, false },
#endif
	{ SYS_epoll_pwait, JANK_LOOP_EPOLL, false },
	{ 441 /* epoll_pwait2 */, JANK_LOOP_EPOLL, false },
#ifdef SYS_poll
	{ SYS_poll, JANK_LOOP_POLL, true },
#endif
	{ SYS_ppoll, JANK_LOOP_POLL, true },
#ifdef SYS_select
	{ SYS_select, JANK_LOOP_POLL, false },
#endif
	{ SYS_pselect6, JANK_LOOP_POLL, false },
	{ 426 /* io_uring_enter */, JANK_LOOP_POLL, false },
};

bool idle_waits__parse(const char *text, struct jank_rec_wait *ret)
{
	unsigned long long args[6], sp, ip;
	long nr;

	if (sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &args[0], &args[1],
		   &args[2], &args[3], &args[4], &args[5], &sp, &ip) != 9)
		return false; /* it runs, or is blocked outside a system call */
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (waits[i].nr != nr)
			continue;
		ret->syscall = nr;
		ret->loop = waits[i].loop;
		ret->fd_cnt = waits[i].has_fds ? args[1] : 0;
		ret->sp = sp;
		ret->ip = ip;
		return true;
	}
	return false;
}

static bool read_call(uint32_t pid, uint32_t tid, struct strbuf *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	return !file__read(path, TEXT_MAX, ret);
}

long idle_waits__call(uint32_t pid, uint32_t tid, uint32_t *ret_loop)
{
	struct strbuf text = STRBUF_INIT;
	struct jank_rec_wait rec;
	long nr = -1;

	*ret_loop = 0;
	if (read_call(pid, tid, &text) && sscanf(strbuf__str(&text), "%ld", &nr) == 1 &&
	    idle_waits__parse(strbuf__str(&text), &rec))
		*ret_loop = rec.loop;
	strbuf__free(&text);
	return nr;
}

static void read_comm(uint32_t pid, const char *tid, struct jank_rec_wait *rec)
{
	struct strbuf text = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%.16s/comm", pid, tid);
	if (!file__read(path, TEXT_MAX, &text))
		snprintf(rec->comm, sizeof(rec->comm), "%.*s",
			 (int)strcspn(strbuf__str(&text), "\n"), strbuf__str(&text));
	strbuf__free(&text);
}

static bool read_thread(uint32_t pid, const char *tid, struct jank_rec_wait *ret)
{
	struct strbuf text = STRBUF_INIT;
	bool waits_now;

	*ret = (struct jank_rec_wait){ .hdr.tgid = pid, .hdr.tid = strtoul(tid, NULL, 10) };
	waits_now =
		read_call(pid, ret->hdr.tid, &text) && idle_waits__parse(strbuf__str(&text), ret);
	strbuf__free(&text);
	if (waits_now)
		read_comm(pid, tid, ret);
	return waits_now;
}

void idle_waits__each(uint32_t pid, void (*fn)(void *ctx, const struct jank_rec_wait *rec),
		      void *ctx)
{
	struct jank_rec_wait rec;
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && read_thread(pid, entry->d_name, &rec))
			fn(ctx, &rec);
	if (dir)
		closedir(dir);
}
