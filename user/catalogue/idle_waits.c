/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/task/TID/syscall shows the call that a blocked thread is in, and its stack pointer. */
#include "catalogue/idle_waits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/file.h"

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
