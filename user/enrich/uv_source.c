/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of /proc and of the process's memory for a look at its pool; all with limits. */
#include "enrich/uv_source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"

#define PROC	 "/proc"
#define TEXT_MAX 16384
#define SPAN_MAX 1024 /* bytes from the pool's first variable to its last one */

void uv_source__add_loop(struct uv_source *source, uint32_t tid)
{
	for (uint32_t i = 0; i < source->loop_cnt && i < UV_LOOPS_MAX; i++)
		if (source->loops[i] == tid)
			return;
	if (source->loop_cnt < UV_LOOPS_MAX)
		source->loops[source->loop_cnt] = tid;
	source->loop_cnt++;
}

int uv_counts__read(const struct uv_source *source, struct uv_counts *ret)
{
	const struct uv_pool_at *at = &source->at;
	uint64_t next = 0;
	const struct {
		uint64_t addr;
		void *to;
		size_t size;
	} all[] = {
		{ at->threads, &ret->threads, sizeof(ret->threads) },
		{ at->nthreads, &ret->thread_cnt, sizeof(ret->thread_cnt) },
		{ at->idle_threads, &ret->idle_cnt, sizeof(ret->idle_cnt) },
		{ at->slow_running, &ret->slow_cnt, sizeof(ret->slow_cnt) },
		{ at->slow_pending, &next, sizeof(next) },
	};
	uint64_t base = UINT64_MAX, end = 0;
	uint8_t span[SPAN_MAX];
	int res;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		base = all[i].addr < base ? all[i].addr : base;
		end = all[i].addr + all[i].size > end ? all[i].addr + all[i].size : end;
	}
	if (end - base > sizeof(span))
		return -EINVAL;
	res = memory__read_across(PROC, source->pid, base, span, end - base);
	if (res)
		return res;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		memcpy(all[i].to, span + (all[i].addr - base), all[i].size);
	ret->slow_waits = next && next != at->slow_pending;
	return ret->thread_cnt > UV_THREADS_MAX || ret->idle_cnt > ret->thread_cnt ||
			       ret->slow_cnt > ret->thread_cnt
		       ? -EINVAL
		       : 0;
}

static bool is_new(const uint32_t *tids, uint32_t cnt, uint32_t tid)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (tids[i] == tid)
			return false;
	return true;
}

/* False: not each of the pthread_t has the number of another living thread there. */
static bool take_tids(struct uv_source *source, const uint64_t *handles, uint32_t cnt,
		      uint32_t offset)
{
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t number, tid;

		if (memory__read(PROC, source->pid, handles[i] + offset, &number, sizeof(number)))
			return false;
		tid = number ? threadname__by_ns_tid(PROC, source->pid, number) : 0;
		if (!tid || tid == source->pid || !is_new(source->tids, i, tid))
			return false;
		source->tids[i] = tid;
	}
	source->tid_cnt = cnt;
	return true;
}

bool uv_source__find_threads(struct uv_source *source, const struct uv_counts *counts)
{
	/* glibc: x86-64, arm64; musl: x86-64, arm64. Each is checked. */
	static const uint32_t offsets[] = { 720, 208, 48, 32 };
	uint64_t handles[UV_THREADS_MAX];

	if (source->tid_cnt == counts->thread_cnt)
		return true;
	if (memory__read_across(PROC, source->pid, counts->threads, handles,
				counts->thread_cnt * sizeof(*handles)))
		return false;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		if (take_tids(source, handles, counts->thread_cnt, offsets[i]))
			return true;
	return false;
}

static bool read_text(uint32_t pid, uint32_t tid, const char *name, struct strbuf *ret)
{
	char path[PATH_MAX];

	strbuf__reset(ret);
	snprintf(path, sizeof(path), PROC "/%u/task/%u/%s", pid, tid, name);
	return !file__read(path, TEXT_MAX, ret) && !ret->failed;
}

/* The number behind a key; UINT64_MAX: none. */
static uint64_t read_number(uint32_t pid, uint32_t tid, const char *name, const char *key,
			    struct strbuf *text)
{
	const char *at = read_text(pid, tid, name, text) ? strstr(strbuf__str(text), key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, 10) : UINT64_MAX;
}

static bool is_loop_wait(int32_t call)
{
	const char *name = call >= 0 ? syscall__name(call) : NULL;

	return name && !strncmp(name, "epoll_", 6);
}

/* As long as the pool is not known, each wait for a futex may be a rest, and a loop's wait is. */
static bool is_rest(const struct uv_source *source, const struct blocked_call *call)
{
	if (source->found)
		return call->nr == SYS_futex &&
		       call->args[0] - source->at.cond < source->at.cond_sz;
	return call->nr == SYS_futex || is_loop_wait((int32_t)call->nr);
}

/* False: the thread has ended. */
static bool read_call(const struct uv_source *source, struct strbuf *text, struct uv_thread *ret)
{
	struct blocked_call call;

	ret->call = UV_CALL_NONE;
	ret->rests = false;
	if (!read_text(source->pid, ret->tid, "syscall", text))
		return false;
	if (!blocked_call__parse(strbuf__str(text), &call) || call.nr > INT32_MAX)
		return true;
	ret->call = (int32_t)call.nr;
	ret->rests = is_rest(source, &call);
	return true;
}

/* The call last: a thread that ends its job meanwhile and rests is not taken for one at work. */
static bool read_thread(const struct uv_source *source, struct strbuf *text, struct uv_thread *ret)
{
	if (!read_call(source, text, ret) || ret->rests)
		return ret->rests;
	ret->write_cnt = read_number(source->pid, ret->tid, "io", "\nsyscw:", text);
	ret->sleep_cnt =
		read_number(source->pid, ret->tid, "status", "\nvoluntary_ctxt_switches:", text);
	return ret->sleep_cnt != UINT64_MAX && read_call(source, text, ret);
}

static bool loops_sleep(const struct uv_source *source, struct strbuf *text)
{
	for (uint32_t i = 0; i < source->loop_cnt && i < UV_LOOPS_MAX; i++) {
		struct uv_thread loop = { .tid = source->loops[i] };

		if (read_call(source, text, &loop) && !is_loop_wait(loop.call))
			return false;
	}
	return source->loop_cnt <= UV_LOOPS_MAX;
}

/* Fills the threads, of which the tids are known, and the time. Threads that ended are left out. */
static void read_threads(const struct uv_source *source, struct uv_look *look)
{
	struct strbuf text = STRBUF_INIT;
	uint32_t cnt = 0;
	bool works = false;

	for (uint32_t i = 0; i < look->thread_cnt; i++) {
		struct uv_thread thread = { .tid = look->threads[i].tid };

		if (!read_thread(source, &text, &thread))
			continue;
		look->threads[cnt++] = thread;
		works |= !thread.rests;
	}
	look->thread_cnt = cnt;
	look->end_ns = clock__mono_ns();
	look->loops_sleep = !works || loops_sleep(source, &text);
	strbuf__free(&text);
}

void uv_look__all_threads(const struct uv_source *source, struct uv_look *ret)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	*ret = (struct uv_look){};
	snprintf(path, sizeof(path), PROC "/%u/task", source->pid);
	dir = opendir(path);
	while (dir && ret->thread_cnt < UV_THREADS_MAX && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret->threads[ret->thread_cnt++].tid =
				(uint32_t)strtoul(entry->d_name, NULL, 10);
	if (dir)
		closedir(dir);
	read_threads(source, ret);
}

bool uv_look__pool(const struct uv_source *source, struct uv_look *ret)
{
	struct uv_counts counts;

	*ret = (struct uv_look){ .thread_cnt = source->tid_cnt };
	for (uint32_t i = 0; i < source->tid_cnt; i++)
		ret->threads[i].tid = source->tids[i];
	read_threads(source, ret);
	if (uv_counts__read(source, &counts) || counts.thread_cnt != ret->thread_cnt)
		return false;
	ret->idle_cnt = counts.idle_cnt;
	ret->slow_cnt = counts.slow_cnt;
	ret->slow_waits = counts.slow_waits;
	return true;
}
