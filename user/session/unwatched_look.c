/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List of what is not watched. Found by reading /proc one second after the start, in slices of
 * time, and again at the end. The sink thread completes the list with the catalogue's rows and
 * reports it (not_watched.c). Used on the intake thread only.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/syscall_name.h"
#include "catalogue/syscalls.h"
#include "probes/compat32.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* The ring fills while the intake thread looks: stay within the ring's room. */
#define SLICE_NS    (20 * NS_PER_MS)
#define TELL_MAX_NS (700 * NS_PER_MS) /* after the first slice, report what was found */
#define LATE_MIN_NS NS_PER_SEC	      /* a loop known earlier was active from the start */
#define LATE_MAX_NS                                                                                \
	(60 * NS_PER_SEC) /* by then, blocks from the start had been dropped (probation.c) */
#define END_MAX_NS (500 * NS_PER_MS) /* the ring is drained by then */

struct task_iter {
	struct session *s;
	struct unwatched_list *list;
	uint64_t until_ns;
	bool idle; /* a loop waits that was not seen to turn */
	bool failed;
};

void session__saw(struct session *s, const struct jank_rec *hdr)
{
	struct traced *traced = session__traced(s, hdr->tgid);

	if (!traced)
		return;
	traced->loop_seen = true;
	traced->main_seen |= hdr->tid == hdr->tgid;
}

/* True if the turns of this wait show that it is a loop. */
static bool is_by_turns(const struct jank_rec_wait *rec)
{
	return rec->turn_cnt && (rec->loop == JANK_LOOP_POLL ||
				 (rec->loop == JANK_LOOP_PARK && rec->hdr.tid == rec->hdr.tgid));
}

/*
 * Blocks from before a loop was known by its turns are kept until then. They are not kept for ever,
 * nor if the thread waited at another place first.
 */
void session__saw_turns(struct session *s, const struct jank_rec_wait *rec)
{
	struct traced *traced = session__traced(s, rec->hdr.tgid);

	if (traced && !traced->late_ns && is_by_turns(rec) &&
	    rec->hdr.ts_ns > s->start_ns + (rec->hdr.flags == 1 ? LATE_MAX_NS : LATE_MIN_NS))
		traced->late_ns = rec->hdr.ts_ns - s->start_ns;
}

static void add(struct task_iter *look, const struct unwatched *item)
{
	look->failed |= unwatched__add(look->list, item) != 0;
}

/* traced may be NULL; comm is used if the process has no better name. */
static void set_name(struct unwatched *item, const struct traced *traced, const char *comm)
{
	const char *name = traced && traced->process ? traced->process->name : NULL;

	snprintf(item->comm, sizeof(item->comm), "%s", name ? name : comm);
}

static void set_wait(struct unwatched *item, long nr, bool compat)
{
	const char *name = nr < 0 ? NULL : compat ? syscall__name_32(nr) : syscall__name(nr);

	snprintf(item->waits_in, sizeof(item->waits_in), "%s", name ? name : "");
}

static bool lacks_compat(const struct session *s, bool compat)
{
	return compat && loader__wait_probe(s->loader) == WAIT_SYSCALL_TRACEPOINTS &&
	       !s->compat.seen;
}

/*
 * Returns false if the main thread is watched. A wait in epoll is watched: its dispatch opens when
 * the wait ends.
 */
static bool why_not(const struct session *s, const struct traced *traced, struct unwatched *ret)
{
	bool loop_seen = traced && traced->loop_seen;
	uint32_t loop;
	bool compat;
	long nr;

	if (traced && traced->late_ns) {
		ret->reason = UNWATCHED_LATE;
		ret->late_ns = traced->late_ns;
		return true;
	}
	if (traced && traced->main_seen)
		return false;
	compat = compat32__process(ret->pid);
	nr = idle_waits__call(ret->pid, ret->pid, &loop);
	set_wait(ret, nr, compat);
	if (!lacks_compat(s, compat) &&
	    (compat ? !strncmp(ret->waits_in, "epoll_", 6) : loop == JANK_LOOP_EPOLL))
		return false;
	ret->tid = loop_seen ? ret->pid : 0;
	ret->reason = lacks_compat(s, compat)				 ? UNWATCHED_BITS_32
		      : loop == JANK_LOOP_POLL				 ? UNWATCHED_FEW_TURNS
		      : s->mains && mains__is_beyond(s->mains, ret->pid) ? UNWATCHED_TOO_MANY
		      : loop_seen					 ? UNWATCHED_MAIN_THREAD
									 : UNWATCHED_NO_LOOP;
	return true;
}

static void look_at_living(struct task_iter *look, const struct proc_info *info, char state)
{
	const struct traced *traced = session__traced(look->s, info->pid);
	struct unwatched item = { .reason = UNWATCHED_ZOMBIE, .pid = info->pid };

	set_name(&item, traced, info->comm);
	if (state != 'Z' ? why_not(look->s, traced, &item) : !traced || !traced->loop_seen)
		add(look, &item);
	else if (state != 'Z')
		look->idle |= !traced || !traced->loop_seen;
}

/* The last seconds of an ended process are unknown; use what was recorded. */
static void look_at_ended(struct task_iter *look, const struct traced *traced)
{
	struct unwatched item = {
		.reason = traced->late_ns ? UNWATCHED_LATE : UNWATCHED_NO_LOOP,
		.pid = traced->pid,
		.late_ns = traced->late_ns,
	};

	set_name(&item, traced, "?");
	if (!traced->loop_seen || traced->late_ns)
		add(look, &item);
}

/* True if the user gave its pid; false if it was found by its records. */
static bool is_given(const struct traced *traced)
{
	return traced && !traced->met;
}

static void look_at_traced(struct task_iter *look)
{
	struct proc_info info;
	char state;

	for (struct traced *traced = look->s->traced; traced; traced = traced->hh.next) {
		if (!is_given(traced))
			continue;
		if (!procinfo__read_stat(traced->pid, &info, &state) &&
		    (traced->pidfd >= 0 || !traced->process))
			look_at_living(look, &info, state);
		else
			look_at_ended(look, traced);
	}
}

/* Examines a process: with -a one that the filters admit, else a child of a traced process. */
static void look_at_other(struct task_iter *look, uint32_t pid)
{
	struct session *s = look->s;
	struct unwatched item = { .reason = UNWATCHED_CHILD, .pid = pid };
	uint32_t own = getpid();
	struct proc_info info;
	char state;

	if (procinfo__read_stat(pid, &info, &state) || info.kernel_thread)
		return;
	if (s->opts->filter.all) {
		if (pid != own && info.parent_pid != own && filter__admits(&s->filter, pid))
			look_at_living(look, &info, state);
		return;
	}
	if (state == 'Z' || is_given(session__traced(s, pid)))
		return;
	if (s->opts->follow) {
		if (loader__admits(s->loader, pid))
			look_at_living(look, &info, state);
		return;
	}
	if (!session__traced(s, info.parent_pid))
		return;
	set_name(&item, NULL, info.comm);
	add(look, &item);
}

/* Continues with the entries of /proc. False: the time is up. */
static bool look_at_others(struct task_iter *look, DIR *proc)
{
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_other(look, strtoul(entry->d_name, NULL, 10));
		if (clock__mono_ns() > look->until_ns)
			return false;
	}
	return true;
}

/* Only with -a: without it, hardly any of them is a child of a traced process. */
static void count_others(struct task_iter *look, DIR *proc)
{
	struct dirent *entry;

	while (look->s->opts->filter.all && (entry = readdir(proc)))
		look->list->more_cnt += !!isdigit((unsigned char)entry->d_name[0]);
}

static bool has(const struct unwatched_list *list, uint32_t pid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/* The final list includes the children of the first look: they may have ended since. */
static void keep_children(struct task_iter *look, bool at_end)
{
	struct unwatched_list *kept = &look->s->children, *from = at_end ? kept : look->list;
	struct unwatched_list *to = at_end ? look->list : kept;

	for (size_t i = 0; i < from->cnt; i++)
		if (from->items[i].reason == UNWATCHED_CHILD && !has(to, from->items[i].pid))
			look->failed |= unwatched__add(to, &from->items[i]) != 0;
}

bool session__find_unwatched(struct session *s, struct unwatched_list *ret)
{
	struct task_iter look = {
		.s = s,
		.list = ret,
		.until_ns = clock__mono_ns() + END_MAX_NS,
	};
	DIR *proc = opendir("/proc");

	if (!s->opts->filter.all)
		look_at_traced(&look);
	if (!look_at_others(&look, proc))
		count_others(&look, proc);
	keep_children(&look, true);
	if (proc)
		closedir(proc);
	if (look.failed)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	return look.idle;
}

void session__free_first_look(struct first_look *first)
{
	if (first->proc)
		closedir(first->proc);
	if (first->list)
		unwatched__free(first->list);
	free(first->list);
	*first = (struct first_look){};
}

static void tell(struct session *s, struct first_look *first)
{
	struct item item = { .kind = ITEM_UNWATCHED, .data = first->list };

	if (queue__put(s->queue, &item))
		first->list = NULL;
	else
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
}

bool session__look_unwatched(struct session *s)
{
	struct first_look *first = &s->first_look;
	struct task_iter look = { .s = s, .until_ns = clock__mono_ns() + SLICE_NS };
	bool begins = !first->list, done;

	if (begins) {
		first->tell_ns = clock__mono_ns() + TELL_MAX_NS;
		first->proc = opendir("/proc");
		first->list = calloc(1, sizeof(*first->list));
	}
	look.list = first->list;
	if (!first->list) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		session__free_first_look(first);
		return true;
	}
	if (begins && !s->opts->filter.all)
		look_at_traced(&look);
	done = look_at_others(&look, first->proc) || clock__mono_ns() > first->tell_ns;
	if (done) {
		keep_children(&look, false);
		tell(s, first);
		session__free_first_look(first);
	}
	if (look.failed)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	return done;
}
