/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy is checked by the head afterwards: what the probes reached meanwhile is left out. */
#include "probes/history_buffers.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define ENTRIES_MIN   64
#define ENTRIES_A_SEC 25000 /* of a CPU: two switches every 80 us */
#define MARGIN_PART   16    /* of a buffer: not read, since it is overwritten next */

static uint32_t power_of_two(uint64_t at_least, uint32_t max)
{
	uint32_t ret = ENTRIES_MIN;

	while (ret < at_least && ret <= max / 2)
		ret *= 2;
	return ret;
}

struct history_size history_size__of(uint64_t ns, uint32_t entry_cnt, uint32_t cpu_cnt)
{
	uint32_t max = HISTORY_BUFFERS_MAX / sizeof(struct jank_history_entry) / cpu_cnt;
	uint64_t wanted = entry_cnt ?: (ns + NS_PER_SEC - 1) / NS_PER_SEC * ENTRIES_A_SEC;

	return (struct history_size){ power_of_two(wanted, max), cpu_cnt };
}

/* --- mapping */

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

static size_t entries_sz(const struct history_size *size)
{
	return whole_pages(sizeof(struct jank_history_entry) * size->entry_cnt * size->cpu_cnt);
}

static size_t heads_sz(const struct history_size *size)
{
	return whole_pages(sizeof(struct jank_history_head) * size->cpu_cnt);
}

int history_buffers__open(struct history_buffers *ret, int entries_fd, int heads_fd,
			  const struct history_size *size)
{
	void *entries = mmap(NULL, entries_sz(size), PROT_READ, MAP_SHARED, entries_fd, 0);
	void *heads = MAP_FAILED;
	int err = errno;

	if (entries != MAP_FAILED) {
		heads = mmap(NULL, heads_sz(size), PROT_READ, MAP_SHARED, heads_fd, 0);
		err = errno;
	}
	if (heads == MAP_FAILED) {
		if (entries != MAP_FAILED)
			munmap(entries, entries_sz(size));
		return -err;
	}
	*ret = (struct history_buffers){ entries, heads, *size };
	return 0;
}

void history_buffers__close(struct history_buffers *buffers)
{
	if (!buffers->entries)
		return;
	munmap((void *)buffers->entries, entries_sz(&buffers->size));
	munmap((void *)buffers->heads, heads_sz(&buffers->size));
	*buffers = (struct history_buffers){};
}

/* A cpuset may forbid some CPUs: those are known from their next switch on. */
void history_buffers__begin(const struct history_buffers *buffers)
{
	size_t bits = buffers->size.cpu_cnt > CPU_SETSIZE ? buffers->size.cpu_cnt : CPU_SETSIZE;
	size_t size = CPU_ALLOC_SIZE(bits);
	cpu_set_t *before = CPU_ALLOC(bits), *one = CPU_ALLOC(bits);

	if (before && one && !sched_getaffinity(0, size, before)) {
		for (uint32_t cpu = 0; cpu < buffers->size.cpu_cnt; cpu++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(cpu, size, one);
			sched_setaffinity(0, size, one);
		}
		sched_setaffinity(0, size, before);
	}
	CPU_FREE(before);
	CPU_FREE(one);
}

/* --- reading */

/* A CPU's buffer, whose entries have ascending numbers. */
struct view {
	const struct jank_history_entry *entries;
	uint32_t cnt;
	uint64_t first, end; /* numbers of the entries that may be read, as of now */
};

static uint64_t head_cnt(const struct history_buffers *buffers, uint32_t cpu)
{
	return __atomic_load_n(&buffers->heads[cpu].cnt, __ATOMIC_ACQUIRE);
}

static struct view view_of(const struct history_buffers *buffers, uint32_t cpu)
{
	uint32_t cnt = buffers->size.entry_cnt, readable = cnt - cnt / MARGIN_PART;
	struct view view = { buffers->entries + (size_t)cpu * cnt, cnt, 0, head_cnt(buffers, cpu) };

	view.first = view.end > readable ? view.end - readable : 0;
	return view;
}

static const struct jank_history_entry *at(const struct view *view, uint64_t nr)
{
	return &view->entries[nr & (view->cnt - 1)];
}

/* The first entry from nr on that is later than t_ns. */
static uint64_t after(const struct view *view, uint64_t nr, uint64_t t_ns)
{
	uint64_t end = view->end;

	while (nr < end) {
		uint64_t middle = nr + (end - nr) / 2;

		if (at(view, middle)->t_ns > t_ns)
			end = middle;
		else
			nr = middle + 1;
	}
	return nr;
}

/* The last switch until t_ns; else the first entry. */
static uint64_t switch_before(const struct view *view, uint64_t t_ns)
{
	uint64_t nr = after(view, view->first, t_ns);

	while (nr > view->first) {
		nr--;
		if ((at(view, nr)->kind & JANK_HISTORY_KIND) == JANK_HISTORY_SWITCH)
			break;
	}
	return nr;
}

bool history_buffers__has(const struct history_buffers *buffers, uint32_t cpu)
{
	return head_cnt(buffers, cpu);
}

uint64_t history_buffers__reach(const struct history_buffers *buffers, uint64_t now_ns)
{
	uint64_t ret = UINT64_MAX;

	for (uint32_t cpu = 0; cpu < buffers->size.cpu_cnt; cpu++) {
		struct view view = view_of(buffers, cpu);
		uint64_t t_ns = view.first ? at(&view, view.first)->t_ns : 0;

		if (t_ns && t_ns < now_ns && now_ns - t_ns < ret)
			ret = now_ns - t_ns;
	}
	return ret;
}

/* The ring's two parts, in order. */
static void copy_entries(const struct view *view, uint64_t from, size_t cnt,
			 struct jank_history_entry *to)
{
	size_t start = from & (view->cnt - 1);
	size_t first = cnt < view->cnt - start ? cnt : view->cnt - start;

	memcpy(to, view->entries + start, first * sizeof(*to));
	memcpy(to + first, view->entries, (cnt - first) * sizeof(*to));
}

int history_buffers__copy(const struct history_buffers *buffers, uint32_t cpu, uint64_t begin_ns,
			  uint64_t end_ns, struct jank_history_entry **ret, size_t *ret_cnt)
{
	struct view view = view_of(buffers, cpu);
	uint64_t from = switch_before(&view, begin_ns), written;
	size_t cnt = after(&view, from, end_ns) - from, lost = 0;
	struct jank_history_entry *entries = malloc((cnt ?: 1) * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	copy_entries(&view, from, cnt, entries);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	written = head_cnt(buffers, cpu) + 1; /* one may be half written */
	if (written > from + view.cnt)
		lost = written - view.cnt - from;
	if (lost > cnt)
		lost = cnt;
	cnt -= lost;
	memmove(entries, entries + lost, cnt * sizeof(*entries));
	*ret = entries;
	*ret_cnt = cnt;
	return 0;
}
