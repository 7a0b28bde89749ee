/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/main_handler.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "catalogue/syscalls.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"
#include "session/java_main.h"

#define TEXT_MAX   16384
#define FDINFO_MAX (1 << 20)
#define THREAD_MAX 1024
#define FD_MAX	   65536
#define EPOLL_MAX  16
#define REST_NS	   50000000

/* The epolls of a process on which no thread is known to wait. */
struct epolls {
	int32_t fds[EPOLL_MAX];
	size_t cnt;
};

uint64_t thread_handler__sleep_cnt(uint32_t pid, uint32_t tid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	struct strbuf text = STRBUF_INIT;
	uint64_t ret = UINT64_MAX;
	char path[96];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	if (!file__read(path, TEXT_MAX, &text)) {
		at = strstr(strbuf__str(&text), key);
		if (at)
			ret = strtoull(at + strlen(key), NULL, 10);
	}
	strbuf__free(&text);
	return ret;
}

/* What is in memory of the string: a page that is not there is not asked for. */
static void read_path(uint32_t pid, uint64_t from, char path[JANK_WAITED_NAME_SZ])
{
	size_t got = 0;

	while (got < JANK_WAITED_NAME_SZ - 1 && strlen(path) == got) {
		uint64_t at = from + got;
		size_t part = JANK_COPY_PAGE - (at & (JANK_COPY_PAGE - 1));

		if (part > JANK_WAITED_NAME_SZ - 1 - got)
			part = JANK_WAITED_NAME_SZ - 1 - got;
		if (memory__read("/proc", pid, at, path + got, part))
			break;
		got += part;
	}
}

/* What wait_args__ask reads when a thread is about to sleep. */
static void read_wait(uint32_t pid, const struct blocked_call *call, struct jank_seen_wait *ret)
{
	uint32_t words[3];
	int32_t fd;

	switch (syscalls__class((int)call->nr)) {
	case JANK_CLASS_PATH:
		read_path(pid, call->args[0], ret->path);
		break;
	case JANK_CLASS_PATH_AT:
		read_path(pid, call->args[1], ret->path);
		break;
	case JANK_CLASS_POLL_FDS:
		if (call->args[1] && !memory__read("/proc", pid, call->args[0], &fd, sizeof(fd)))
			ret->first = (uint32_t)fd + 1;
		break;
	case JANK_CLASS_SELECT:
		if (!memory__read("/proc", pid, call->args[1], words, 1) && words[0] & 1)
			ret->first = 1;
		break;
	case JANK_CLASS_FUTEX:
		if (memory__read_across("/proc", pid, call->args[0], words, sizeof(words)))
			break;
		ret->futex_word = words[0];
		ret->owner = words[2];
		ret->got = JANK_WAITED_FUTEX;
	}
	if (ret->path[0])
		ret->got = JANK_WAITED_PATH;
}

static bool links_to(uint32_t pid, uint64_t fd, const char *begin)
{
	char path[64], link[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%" PRIu64, pid, fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return false;
	link[len] = 0;
	return text__begins(link, begin);
}

/* Commands come from there. */
static bool reads_input(uint32_t pid, const struct blocked_call *call)
{
	return call->nr == SYS_read &&
	       (!call->args[0] || links_to(pid, call->args[0], "/dev/pts/") ||
		links_to(pid, call->args[0], "/dev/tty"));
}

/*
 * Calls in which the workers of a server take turns to accept (Apache's and uWSGI's locks), or wait
 * for a message; and the one that continues another, which is not known.
 */
static bool takes_turns(long nr)
{
	static const char *const names[] = { "semop",  "semtimedop",	  "fcntl",
					     "msgrcv", "mq_timedreceive", "restart_syscall" };
	const char *name = syscall__name((int)nr);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !name || syscalls__waits_for_signals(name);
}

/* May a thread rest in this call, with nothing to do? */
static bool is_rest(uint32_t pid, const struct blocked_call *call)
{
	switch (syscalls__class((int)call->nr)) {
	case JANK_CLASS_POLL:
	case JANK_CLASS_POLL_FDS:
	case JANK_CLASS_SELECT:
	case JANK_CLASS_IO_URING:
	case JANK_CLASS_ACCEPT:
	case JANK_CLASS_FUTEX:
		return true;
	}
	return reads_input(pid, call) || takes_turns((long)call->nr);
}

/*
 * Does a thread in this call wait for events or commands, or its turn? A handler polls one
 * descriptor, for an answer; it takes no turns.
 */
static bool rests_in(uint32_t pid, const struct blocked_call *call)
{
	switch (syscalls__class((int)call->nr)) {
	case JANK_CLASS_POLL:
	case JANK_CLASS_SELECT:
	case JANK_CLASS_IO_URING:
		return true;
	case JANK_CLASS_POLL_FDS:
		return call->args[1] != 1;
	}
	return reads_input(pid, call) || takes_turns((long)call->nr);
}

/* A runtime parks its threads in futexes; a lock with an owner in the process is no park. */
static bool waits_for_owner(uint32_t pid, uint32_t tid)
{
	struct futex_wait lock;

	return !futex_wait__read("/proc", pid, tid, &lock) && lock.kind != LOCK_REFUSED &&
	       !lock.shared;
}

/*
 * A process inherits its parent's epolls at a fork; a worker leaves them alone. Where the kernel
 * does not compare files (CONFIG_KCMP), nothing tells whose it is.
 */
static bool may_be_inherited(uint32_t pid, uint32_t parent, int32_t fd)
{
	long order = parent > 1 ? syscall(SYS_kcmp, pid, parent, KCMP_FILE, fd, fd) : 1;

	return order < 0 ? errno != EBADF && errno != ESRCH : !order;
}

static bool has_members(uint32_t pid, int32_t fd)
{
	struct strbuf text = STRBUF_INIT;
	char path[64];
	bool ret;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", pid, fd);
	ret = !file__read(path, FDINFO_MAX, &text) && strstr(strbuf__str(&text), "\ntfd:");
	strbuf__free(&text);
	return ret;
}

/* Those of its own with members; `any`: one of whatever kind is enough. 0 or -errno. */
static int find_epolls(uint32_t pid, uint32_t parent, bool any, struct epolls *ret)
{
	size_t cnt = 0, max = any ? 1 : EPOLL_MAX;
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (cnt <= FD_MAX && ret->cnt < max && (entry = readdir(dir))) {
		int32_t fd = atoi(entry->d_name);

		cnt++;
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    links_to(pid, fd, "anon_inode:[eventpoll]") &&
		    (any || (!may_be_inherited(pid, parent, fd) && has_members(pid, fd))))
			ret->fds[ret->cnt++] = fd;
	}
	closedir(dir);
	return cnt > FD_MAX ? -E2BIG : ret->cnt ? 0 : -ENODATA;
}

bool main_handler__has_epoll(uint32_t pid)
{
	struct epolls epolls = {};

	return !find_epolls(pid, 0, true, &epolls);
}

static void drop(struct epolls *epolls, uint64_t fd)
{
	for (size_t i = 0; i < epolls->cnt; i++)
		if (epolls->fds[i] == (int32_t)fd)
			epolls->fds[i--] = epolls->fds[--epolls->cnt];
}

/* What a walk over the other threads of a process finds. */
struct others {
	uint32_t pid, self; /* all but this one */
	bool java;	    /* its launcher's process */
	uint64_t sleeps;    /* how often they have slept */
	bool parked;	    /* one waits in a futex: at rest, or in a handler */
};

/* Returns false if the thread may be in a handler. Drops the epoll on which it waits. */
static bool look_at_other(struct others *others, uint32_t tid, struct epolls *epolls)
{
	struct blocked_call call;
	bool calls = !blocked_call__read("/proc", others->pid, tid, &call);
	uint32_t class = calls ? syscalls__class((int)call.nr) : JANK_CLASS_PLAIN;

	if (class == JANK_CLASS_SLEEP)
		return true; /* it does something now and then */
	if (others->java && (tid == others->pid || java_main__is_hotspot(others->pid, tid)))
		return true;
	others->sleeps += thread_handler__sleep_cnt(others->pid, tid);
	if (!calls || !is_rest(others->pid, &call))
		return false;
	if (class == JANK_CLASS_POLL)
		drop(epolls, call.args[0]);
	others->parked |= class == JANK_CLASS_FUTEX;
	return true;
}

/*
 * Drops the epolls on which a thread waits. Unless `sure`, all of them when another thread may be
 * in a handler: then nothing tells whose loop it is. 0 or -errno.
 */
static int drop_others(struct others *others, bool sure, struct epolls *epolls)
{
	struct dirent *entry;
	size_t cnt = 0;
	char path[32];
	DIR *dir;

	others->sleeps = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", others->pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (cnt <= THREAD_MAX && epolls->cnt && (entry = readdir(dir))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		if (!tid || tid == others->self)
			continue;
		cnt++;
		if (!look_at_other(others, tid, epolls) && !sure)
			epolls->cnt = 0;
	}
	closedir(dir);
	return cnt > THREAD_MAX ? -E2BIG : epolls->cnt ? 0 : -ENODATA;
}

/*
 * The others rest only if they go on to: a thread that waits for the interpreter's lock, in its own
 * handler, asks for it every 5 ms (CPython). 0 or -errno.
 */
static int look_at_others(struct others *others, bool locked, struct epolls *epolls)
{
	const struct timespec time = { .tv_nsec = REST_NS };
	uint64_t sleeps;
	int res = drop_others(others, locked, epolls);

	sleeps = others->sleeps;
	if (res || locked || !sleeps)
		return res;
	nanosleep(&time, NULL);
	res = drop_others(others, locked, epolls);
	return res ? res : others->sleeps == sleeps ? 0 : -ENODATA;
}

void main_handler__read_wait(uint32_t pid, struct main_handler *ret)
{
	struct blocked_call call;

	*ret = (struct main_handler){
		.pid = pid,
		.tid = pid,
		.sleep_cnt = thread_handler__sleep_cnt(pid, pid),
	};
	if (!blocked_call__read("/proc", pid, pid, &call))
		read_wait(pid, &call, &ret->wait);
}

int thread_handler__look(uint32_t pid, uint32_t tid, struct main_handler *ret)
{
	struct blocked_call call;
	struct proc_info info;
	bool calls;
	char state;
	int res;

	*ret = (struct main_handler){ .pid = pid, .tid = tid, .lock_epfd = -1 };
	res = procinfo__read_stat((pid_t)tid, &info, &state);
	if (res)
		return res;
	if (!strchr("RSD", state) || info.kernel_thread || compat32__process(pid))
		return -ENODATA;
	ret->state = state;
	ret->parent_pid = info.parent_pid;
	ret->sleep_cnt = thread_handler__sleep_cnt(pid, tid);
	calls = !blocked_call__read("/proc", pid, tid, &call);
	if (calls && syscalls__class((int)call.nr) == JANK_CLASS_POLL)
		return -EAGAIN;
	ret->futex = calls && call.nr == SYS_futex;
	ret->locked = ret->futex && waits_for_owner(pid, tid);
	ret->runs = !calls && state == 'R';
	ret->may_rest = !ret->locked && calls && is_rest(pid, &call);
	ret->rests = ret->may_rest && rests_in(pid, &call);
	if (calls)
		read_wait(pid, &call, &ret->wait);
	return ret->sleep_cnt == UINT64_MAX ? -ENODATA : 0;
}

/* The epoll whose loop's handler the thread is in, if it is in one. 0 or -errno. */
static int find_loop(struct main_handler *found, bool java, int32_t *ret)
{
	struct others others = { .pid = found->pid, .self = found->tid, .java = java };
	struct epolls epolls = {};
	int res = find_epolls(found->pid, found->parent_pid, false, &epolls);

	if (!res)
		res = look_at_others(&others, found->locked, &epolls);
	if (res)
		return res;
	*ret = epolls.fds[0];
	found->alone = !others.parked;
	return thread_handler__sleep_cnt(found->pid, found->tid) == found->sleep_cnt ? 0 : -ENODATA;
}

int main_handler__find(uint32_t pid, struct main_handler *ret)
{
	uint32_t java = java_main__find(pid);
	int res = thread_handler__look(pid, java ? java : pid, ret);

	if (res)
		return res;
	if (!ret->may_rest)
		return find_loop(ret, java, &ret->epfd);
	if (java && ret->futex)
		find_loop(ret, true, &ret->lock_epfd);
	return -ENODATA;
}
