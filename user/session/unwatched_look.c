/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List of what is not watched. Found by reading /proc one second after the start, in slices of
 * time, and again at the end. The sink thread completes the list with the catalogue's rows and
 * reports it (not_watched.c). Used on the intake thread only.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "catalogue/syscalls.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* The ring fills while the intake thread looks: stay within the ring's room. */
#define SLICE_NS      (20 * NS_PER_MS)
#define REPORT_MAX_NS (700 * NS_PER_MS)	 /* after the first slice, report what was found */
#define FIRST_NS      NS_PER_SEC	 /* first report of what is not watched */
#define AGAIN_NS      (300 * NS_PER_SEC) /* an agent's next one */
#define PAUSE_NS      (30 * NS_PER_MS)	 /* between slices */
#define END_MAX_NS    (500 * NS_PER_MS)	 /* the ring is drained by then */

/* One pass over processes. */
struct pass {
	struct unwatched_look *look;
	struct unwatched_list *list;
	uint64_t until_ns;
	bool at_end; /* else the first look, or an agent's */
	bool idle;   /* a loop waits that was not seen to turn */
	bool failed;
};

static void add(struct pass *pass, const struct unwatched *item)
{
	pass->failed |= unwatched__add(pass->list, item) != 0;
}

/* process may be NULL; comm is used if the process has no better name. */
static void set_name(struct unwatched *item, const struct process_entry *process, const char *comm)
{
	const char *name = process && process->identity ? process->identity->name : NULL;

	snprintf(item->comm, sizeof(item->comm), "%s", name ? name : comm);
}

static void set_wait(struct unwatched *item, long nr, bool compat)
{
	const char *name = nr < 0 ? NULL : compat ? syscall__name_32(nr) : syscall__name(nr);

	snprintf(item->waits_in, sizeof(item->waits_in), "%s", name ? name : "");
}

static bool lacks_compat(const struct unwatched_look *look, bool compat)
{
	return compat && loader__wait_probe(look->loader) == WAIT_SYSCALL_TRACEPOINTS &&
	       !look->compat->attached;
}

/*
 * Returns false if the main thread is watched. A wait in epoll is, before any turn was seen: its
 * dispatch opens when the wait ends. The first reason that applies is reported.
 */
static bool why_not(const struct unwatched_look *look, const struct process_entry *process,
		    struct unwatched *ret)
{
	bool loop_seen = process && process->loop_ns;
	uint64_t since_ns;
	uint32_t loop;
	bool compat;
	long nr;

	if (process && process->main_ns)
		return false;
	compat = compat32__process(ret->pid);
	nr = idle_waits__call(ret->pid, ret->pid, &loop);
	set_wait(ret, nr, compat);
	since_ns = look->openings ? openings__since(look->openings, ret->pid) : 0;
	if (!since_ns && look->startups)
		since_ns = startups__since(look->startups, ret->pid);
	ret->waits_ns = since_ns ? clock__mono_ns() - since_ns : 0;
	if (!lacks_compat(look, compat) &&
	    (compat ? !strncmp(ret->waits_in, "epoll_", 6) : loop == JANK_LOOP_EPOLL))
		return false;
	ret->tid = loop_seen ? ret->pid : 0;
	ret->reason = lacks_compat(look, compat)			       ? UNWATCHED_BITS_32
		      : loop == JANK_LOOP_POLL				       ? UNWATCHED_FEW_TURNS
		      : look->mains && mains__is_beyond(look->mains, ret->pid) ? UNWATCHED_TOO_MANY
		      : loop_seen				   ? UNWATCHED_MAIN_THREAD
		      : syscalls__waits_for_signals(ret->waits_in) ? UNWATCHED_SIGNALS
								   : UNWATCHED_NO_LOOP;
	return true;
}

/* What held for a part of the run, and does no more. process may be NULL. */
static void add_formerly(struct pass *pass, const struct process_entry *process, const char *name)
{
	if (process)
		pass->failed |=
			formerly__add(process, name, *pass->look->start_ns, pass->list) != 0;
}

/* What holds now. The first look's answer is kept for the end: it may have changed by then. */
static void add_now(struct pass *pass, struct process_entry *process, struct unwatched *item)
{
	if (process && !pass->at_end)
		formerly__keep(process, item, pass->look->losses);
	else if (process)
		item->from_ns = formerly__from_ns(process, item, *pass->look->start_ns);
	add(pass, item);
}

static void look_at_living(struct pass *pass, const struct proc_info *info, char state)
{
	struct process_entry *process = process_table__find(pass->look->processes, info->pid);
	struct unwatched item = { .reason = UNWATCHED_ZOMBIE, .pid = info->pid };

	if (process && process->identity && process->identity->has_off)
		return; /* the sink thread has the reason (left_alone), --status counts it */
	set_name(&item, process, info->comm);
	if (pass->at_end)
		add_formerly(pass, process, item.comm);
	if (state != 'Z' ? why_not(pass->look, process, &item) : !process || !process->loop_ns)
		add_now(pass, process, &item);
	else if (state != 'Z')
		pass->idle |= !process || !process->loop_ns;
}

/* The last seconds of an ended process are unknown; use what was recorded. */
static void look_at_ended(struct pass *pass, const struct process_entry *process)
{
	struct unwatched item = {
		.reason = UNWATCHED_NO_LOOP,
		.pid = process->pid,
	};

	set_name(&item, process, "?");
	add_formerly(pass, process, item.comm);
	if (!process->loop_ns)
		add(pass, &item);
}

/* True if the user gave its pid; false if it was found by its records. */
static bool is_given(const struct process_entry *process)
{
	return process && !process->found;
}

static void look_at_traced(struct pass *pass)
{
	const struct process_entry *process;
	struct proc_info info;
	char state;

	for (process = pass->look->processes->entries; process; process = process->hh.next) {
		if (!is_given(process))
			continue;
		if (!procinfo__read_stat(process->pid, &info, &state) &&
		    (process->pidfd >= 0 || !process->identity))
			look_at_living(pass, &info, state);
		else
			look_at_ended(pass, process);
	}
}

/* Examines a process: with -a one that the filters admit, else a child of a traced process. */
static void look_at_other(struct pass *pass, uint32_t pid)
{
	const struct unwatched_look *look = pass->look;
	struct unwatched item = { .reason = UNWATCHED_CHILD, .pid = pid };
	uint32_t own = getpid();
	struct proc_info info;
	char state;

	if (procinfo__read_stat(pid, &info, &state) || info.kernel_thread)
		return;
	if (look->opts->filter.all) {
		if (pid != own && info.parent_pid != own && filter__admits(look->filter, pid))
			look_at_living(pass, &info, state);
		return;
	}
	if (state == 'Z' || is_given(process_table__find(look->processes, pid)))
		return;
	if (look->opts->follow) {
		if (loader__admits(look->loader, pid))
			look_at_living(pass, &info, state);
		return;
	}
	if (!process_table__find(look->processes, info.parent_pid))
		return;
	set_name(&item, NULL, info.comm);
	add(pass, &item);
}

/* Continues with the entries of /proc. False: the time is up. */
static bool look_at_others(struct pass *pass, DIR *proc)
{
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_other(pass, strtoul(entry->d_name, NULL, 10));
		if (clock__mono_ns() > pass->until_ns)
			return false;
	}
	return true;
}

/* Only with -a: without it, hardly any of them is a child of a traced process. */
static void count_others(struct pass *pass, DIR *proc)
{
	struct dirent *entry;

	while (pass->look->opts->filter.all && (entry = readdir(proc)))
		pass->list->more_cnt += !!isdigit((unsigned char)entry->d_name[0]);
}

static bool has(const struct unwatched_list *list, uint32_t pid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/* The final list includes the children of the first look: they may have ended since. */
static void keep_children(struct pass *pass, bool at_end)
{
	struct unwatched_list *kept = &pass->look->children, *from = at_end ? kept : pass->list;
	struct unwatched_list *to = at_end ? pass->list : kept;

	for (size_t i = 0; i < from->cnt; i++)
		if (from->items[i].reason == UNWATCHED_CHILD && !has(to, from->items[i].pid))
			pass->failed |= unwatched__add(to, &from->items[i]) != 0;
}

static void end_pass(struct pass *pass)
{
	if (pass->failed)
		losses__add(pass->look->losses, LOSS_NO_MEMORY, 1);
}

bool unwatched_look__at_end(struct unwatched_look *look, struct unwatched_list *ret)
{
	struct pass pass = {
		.look = look,
		.list = ret,
		.until_ns = clock__mono_ns() + END_MAX_NS,
		.at_end = true,
	};
	DIR *proc = opendir("/proc");

	if (!look->opts->filter.all)
		look_at_traced(&pass);
	if (!look_at_others(&pass, proc))
		count_others(&pass, proc);
	keep_children(&pass, true);
	if (proc)
		closedir(proc);
	end_pass(&pass);
	return pass.idle;
}

/* --- the first look */

static void end_first_look(struct unwatched_look *look)
{
	if (look->proc)
		closedir(look->proc);
	if (look->list)
		unwatched__free(look->list);
	free(look->list);
	look->proc = NULL;
	look->list = NULL;
}

void unwatched_look__free(struct unwatched_look *look)
{
	end_first_look(look);
	unwatched__free(&look->children);
}

static void report(struct unwatched_look *look)
{
	struct item item = { .kind = ITEM_UNWATCHED, .data = look->list };

	look->found_cnt = look->list->cnt + look->list->more_cnt;
	if (queue__put(look->queue, &item) == QUEUE_ROOM)
		look->list = NULL;
	else
		losses__add(look->losses, LOSS_QUEUE_FULL, 1);
}

static bool look_at_slice(struct unwatched_look *look)
{
	struct pass pass = { .look = look, .until_ns = clock__mono_ns() + SLICE_NS };
	bool begins = !look->list, done;

	if (begins) {
		look->report_ns = clock__mono_ns() + REPORT_MAX_NS;
		look->proc = opendir("/proc");
		look->list = calloc(1, sizeof(*look->list));
	}
	pass.list = look->list;
	if (!look->list) {
		losses__add(look->losses, LOSS_NO_MEMORY, 1);
		end_first_look(look);
		return true;
	}
	if (begins && !look->opts->filter.all)
		look_at_traced(&pass);
	done = look_at_others(&pass, look->proc) || clock__mono_ns() > look->report_ns;
	if (done) {
		keep_children(&pass, false);
		report(look);
		end_first_look(look);
	}
	end_pass(&pass);
	return done;
}

/* --- its timer */

/* By now, active programs have shown their loops. */
static void on_unwatched(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	if (!s->unwatched_look.list)
		session__look(s, NULL);
	if (!look_at_slice(&s->unwatched_look))
		return;
	event_loop__remove(s->event_loop, s->unwatched_look.timer_fd);
	if (s->opts->command == CMD_AGENT)
		s->unwatched_look.timer_fd =
			event_loop__timer(s->event_loop, AGAIN_NS, PAUSE_NS, on_unwatched, s);
}

int session__look_for_unwatched(struct session *s)
{
	s->unwatched_look.timer_fd =
		event_loop__timer(s->event_loop, FIRST_NS, PAUSE_NS, on_unwatched, s);
	return s->unwatched_look.timer_fd;
}

void session__look_unwatched_soon(struct session *s)
{
	struct unwatched_look *look = &s->unwatched_look;

	if (s->opts->command != CMD_AGENT || look->timer_fd < 0 || look->list)
		return; /* a look that has begun reports it, too */
	event_loop__remove(s->event_loop, look->timer_fd);
	session__look_for_unwatched(s);
}
