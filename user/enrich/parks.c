/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of processes with parks, each with the places that the probes got. */
#include "enrich/parks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "catalogue/idle_places.h"
#include "catalogue/syscalls.h"
#include "model/stack.h"

#define PLACES_MAX 1024 /* per process; the BPF map evicts the ones beyond */

#define JUDGED_MAX 4096 /* threads of one process; the oldest are dropped */

#define ALIKE_MAX 8 /* the frames of a new thread are found within some waits */

/* A thread and the chains of callers that it returns to. */
struct judged {
	uint32_t tid;
	struct idle_chains *chains;
	uint32_t alike_cnt; /* successive waits in an interpreter without frames */
	UT_hash_handle hh;
};

struct process {
	uint32_t pid;
	const struct catalogue_row *row; /* NULL: threads are judged by the places they return to */
	struct judged *threads;		 /* the judged ones */
	uint64_t since_ns;		 /* the probes have known it since */
	struct jank_parks parks;	 /* copy of the probes' entry */
	struct jank_parks former;	 /* the same before it was left alone */
	uint32_t chain_tids[JANK_PARK_CHAIN_MAX]; /* tids of the threads that asked */
	unsigned next;				  /* next chain to replace */
	struct jank_park_place *places;
	size_t place_cnt;
	uint32_t alike_tid; /* a worker with an IDLE_ALIKE wait; 0: none */
	UT_hash_handle hh;
};

struct parks {
	struct park_bpf_fds *maps;
	struct loop_owner *owners;
	struct interp_threads *scripts;
	const struct idle_places *places;
	struct process *processes;
};

struct parks *parks__new(struct park_bpf_fds *maps, struct loop_owner *owners,
			 struct interp_threads *scripts, const struct idle_places *places)
{
	struct parks *parks = calloc(1, sizeof(*parks));

	if (!parks)
		return NULL;
	parks->maps = maps;
	parks->owners = owners;
	parks->scripts = scripts;
	parks->places = places;
	return parks;
}

static void drop_judged(struct process *process, struct judged *thread)
{
	HASH_DEL(process->threads, thread);
	idle_chains__free(thread->chains);
	free(thread);
}

static void forget_threads(struct process *process)
{
	while (process->threads)
		drop_judged(process, process->threads);
}

/* NULL: out of memory. */
static struct judged *judged_of(struct process *process, uint32_t tid)
{
	struct judged *thread;

	HASH_FIND(hh, process->threads, &tid, sizeof(tid), thread);
	if (thread)
		return thread;
	if (HASH_COUNT(process->threads) >= JUDGED_MAX)
		drop_judged(process, process->threads);
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD(hh, process->threads, tid, sizeof(tid), thread);
	if (!thread)
		return NULL;
	thread->chains = idle_chains__new();
	if (thread->chains)
		return thread;
	drop_judged(process, thread);
	return NULL;
}

static void drop(struct parks *parks, struct process *process)
{
	HASH_DEL(parks->processes, process);
	forget_threads(process);
	free(process->places);
	free(process);
}

void parks__free(struct parks *parks)
{
	if (!parks)
		return;
	while (parks->processes)
		drop(parks, parks->processes);
	free(parks);
}

static struct process *find(const struct parks *parks, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, parks->processes, &pid, sizeof(pid), process);
	return process;
}

static struct process *add(struct parks *parks, uint32_t pid)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, parks->processes, pid, sizeof(pid), process);
	return process;
}

static uint32_t kinds_of(const struct catalogue_row *row)
{
	return (catalogue_row__parks_anywhere(row) ? JANK_PARKS_ANY_FUTEX : 0) |
	       (catalogue_row__parks_somewhere(row) ? JANK_PARKS_BY_PLACE : 0);
}

static bool is_whole(const struct jank_parks *parks)
{
	return !parks->off_start && parks->off_end == UINT64_MAX;
}

/* Is all of its code left alone? The probes drop a process at exec, so check their map. */
static bool is_left(const struct parks *parks, const struct process *process)
{
	return process && is_whole(&process->parks) &&
	       park_bpf_fds__has_process(parks->maps, process->pid);
}

/* For the probes; of a process that is left alone: when it is watched again. */
static int set_kinds(struct parks *parks, struct process *process, uint32_t kinds)
{
	const struct jank_parks now = { .kinds = kinds };

	if (is_left(parks, process)) {
		process->former = now;
		return 0;
	}
	process->parks = now;
	return park_bpf_fds__set_process(parks->maps, process->pid, &process->parks);
}

/* The probes drop a process at exec, so check their map. */
int parks__update(struct parks *parks, uint32_t pid, const struct catalogue_row *row)
{
	struct process *process;
	int res;

	if (!row || !row->parks.cnt || parks->maps->processes_fd < 0)
		return 0;
	process = find(parks, pid);
	if (process && process->row && park_bpf_fds__has_process(parks->maps, pid))
		return 0;
	process = process ?: add(parks, pid);
	if (!process)
		return -ENOMEM;
	res = set_kinds(parks, process, kinds_of(row));
	if (process->row != row)
		process->since_ns = clock__mono_ns();
	process->row = row;
	log__debug("process %u: the parks of [%s] are no blocks", pid, row->id);
	return res;
}

int parks__watch_idle(struct parks *parks, uint32_t pid, bool workers)
{
	struct process *process = find(parks, pid);

	if (parks->maps->processes_fd < 0 || (park_bpf_fds__has_process(parks->maps, pid) &&
					      (!is_left(parks, process) || process->former.kinds)))
		return 0;
	process = process ?: add(parks, pid);
	if (!process)
		return -ENOMEM;
	forget_threads(process); /* of the previous program */
	process->row = NULL;
	process->alike_tid = 0;
	return set_kinds(
		parks, process,
		JANK_PARKS_MAIN | (workers ? JANK_PARKS_WORKERS : 0) |
			(interp_threads__reads(parks->scripts, pid) ? JANK_PARKS_SCRIPT : 0));
}

int parks__leave_alone(struct parks *parks, uint32_t pid, uint64_t code_start, uint64_t code_end)
{
	struct process *process = find(parks, pid);
	bool known;

	if (parks->maps->processes_fd < 0)
		return 0;
	process = process ?: add(parks, pid);
	if (!process)
		return -ENOMEM;
	known = park_bpf_fds__has_process(parks->maps, pid);
	if (process->parks.off_end == code_end && known)
		return 0;
	process->former =
		known && !is_whole(&process->parks) ? process->parks : (struct jank_parks){};
	process->parks = (struct jank_parks){ .off_start = code_start, .off_end = code_end };
	return park_bpf_fds__set_process(parks->maps, pid, &process->parks);
}

int parks__watch_again(struct parks *parks, uint32_t pid)
{
	struct process *process = find(parks, pid);
	bool left = is_left(parks, process);

	if (!process || !is_whole(&process->parks))
		return 0;
	process->parks = left ? process->former : (struct jank_parks){}; /* an exec ends them */
	process->former = (struct jank_parks){};
	if (process->parks.kinds || process->parks.off_end)
		return park_bpf_fds__set_process(parks->maps, pid, &process->parks);
	park_bpf_fds__drop_process(parks->maps, pid);
	return 0;
}

struct search {
	struct parks *parks;
	const char *exe;
	int res;
};

static void look_at_wait(void *ctx, const struct jank_rec_wait *rec)
{
	const struct jank_park_place place = {
		.sp = rec->sp,
		.tid = rec->hdr.tid,
		.nr = rec->syscall,
	};
	struct search *search = ctx;
	struct loop_owner *owners = search->parks->owners;
	const struct jank_rec_wait *known = loop_owner__recorded(owners, rec->hdr.tid);
	struct wait_note *note;
	int res;

	/* A handler's own poll is not the loop's. */
	if (rec->loop != JANK_LOOP_POLL || (known && known->loop == rec->loop))
		return;
	note = wait_note__of_memory(rec, search->exe);
	res = note ? loop_owner__record(owners, note) : -ENOMEM;
	wait_note__free(note);
	if (!res && loop_owner__row(owners, rec->hdr.tgid, rec->hdr.tid, rec->loop))
		res = park_bpf_fds__set_place(search->parks->maps, &place, JANK_PARK_YES);
	search->res = search->res ? search->res : res;
}

int parks__find_waits(struct parks *parks, uint32_t pid, const char *exe)
{
	struct search search = { .parks = parks, .exe = exe };

	if (parks->maps->places_fd >= 0)
		idle_waits__each(pid, look_at_wait, &search);
	return search.res;
}

bool parks__is_early(const struct parks *parks, const struct block *block)
{
	const struct process *process = find(parks, block->pid);

	return process && process->row && block->start_ns < process->since_ns &&
	       (block->state_ns[JANK_STATE_FUTEX] ||
		(catalogue_row__parks_somewhere(process->row) &&
		 catalogue_row__parks_anywhere(process->row) && block->state_ns[JANK_STATE_SLEEP]));
}

static bool may_rest(const struct sample *sample)
{
	return sample->state >= JANK_STATE_FIRST_BLOCKED && sample->state != JANK_STATE_SLEEP &&
	       sample->stack.user_cnt &&
	       !(sample->waited && wait_object__is_lock(&sample->waited->raw));
}

/* At the thread's idle place? */
static bool is_rest(const struct judged *thread, const struct sample *sample)
{
	const struct idle_visit visit = {
		.addresses = sample->stack.addresses + sample->stack.kernel_cnt,
		.cnt = sample->stack.user_cnt,
		.nr = sample->syscall,
	};

	return stack_end__has_all_callers(sample->stack.end) &&
	       idle_chains__is_idle(thread->chains, &visit);
}

/* In a function that the row names? */
static bool is_park(const struct parks *parks, const struct process *process,
		    const struct sample *sample)
{
	return catalogue_row__parks_somewhere(process->row) &&
	       loop_owner__is_park(parks->owners, process->pid,
				   sample->stack.addresses + sample->stack.kernel_cnt,
				   sample->stack.user_cnt, process->row);
}

bool parks__rests(const struct parks *parks, const struct block *block)
{
	const struct process *process = find(parks, block->pid);
	const struct judged *thread = NULL;
	uint64_t rest_ns = 0;

	if (!process)
		return false;
	if (block->loop == JANK_LOOP_PARK && !process->row)
		HASH_FIND(hh, process->threads, &block->tid, sizeof(block->tid), thread);
	for (size_t i = 0; (thread || process->row) && i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (may_rest(sample) &&
		    (thread ? is_rest(thread, sample) : is_park(parks, process, sample)))
			rest_ns += sample->ns;
	}
	return rest_ns && block__delay(block) < rest_ns + block->threshold_ns;
}

bool parks__asks(const struct jank_rec_wait *rec)
{
	return rec->loop == JANK_LOOP_PARK && !rec->turn_cnt;
}

static void keep_place(struct process *process, const struct jank_park_place *place)
{
	struct jank_park_place *places;

	if (process->place_cnt == PLACES_MAX)
		return;
	if (!(process->place_cnt & (process->place_cnt - 1))) {
		places = reallocarray(process->places, process->place_cnt * 2 + 1, sizeof(*places));
		if (!places)
			return;
		process->places = places;
	}
	process->places[process->place_cnt++] = *place;
}

/* Keep the parks; the oldest chain that is not a park is replaced. */
static void add_chain(struct process *process, uint32_t tid, const struct jank_park_chain *chain)
{
	for (unsigned i = 0; i < JANK_PARK_CHAIN_MAX; i++) {
		unsigned at = process->next++ % JANK_PARK_CHAIN_MAX;

		if (process->parks.chains[at].verdict != JANK_PARK_YES) {
			process->parks.chains[at] = *chain;
			process->chain_tids[at] = tid;
			return;
		}
	}
}

static bool has_chain(const struct process *process, const struct jank_park_chain *chain)
{
	for (unsigned i = 0; i < JANK_PARK_CHAIN_MAX; i++)
		if (!memcmp(&process->parks.chains[i], chain, sizeof(*chain)))
			return true;
	return false;
}

/* A place further out was found: the former idle place is a wait in a handler. */
static void revoke(struct process *process, uint32_t tid)
{
	for (unsigned i = 0; i < JANK_PARK_CHAIN_MAX; i++)
		if (process->parks.chains[i].verdict && process->chain_tids[i] == tid)
			process->parks.chains[i].verdict = JANK_PARK_NO;
}

/* A chain that answers several threads at once is entered once. */
static int tell(struct parks *parks, struct process *process, const struct jank_park_place *place,
		const struct jank_park_chain *chain, uint32_t verdict)
{
	int res = 0;

	if (chain->verdict && !has_chain(process, chain)) {
		add_chain(process, place->tid, chain);
		res = park_bpf_fds__set_process(parks->maps, process->pid, &process->parks);
	}
	keep_place(process, place);
	return res ?: park_bpf_fds__set_place(parks->maps, place, verdict);
}

/* Makes the probes send the interpreter's frames with their questions, if frames can be read. */
static int ask_frames(struct parks *parks, struct process *process, struct judged *thread)
{
	bool reads = interp_threads__reads(parks->scripts, process->pid);

	if (thread->tid != process->pid && (!reads || ++thread->alike_cnt >= ALIKE_MAX))
		process->alike_tid = thread->tid;
	if (!reads || process->parks.kinds & JANK_PARKS_SCRIPT)
		return 0;
	process->parks.kinds |= JANK_PARKS_SCRIPT;
	return park_bpf_fds__set_process(parks->maps, process->pid, &process->parks);
}

static int judge_by_row(struct parks *parks, const struct process *process,
			const struct wait_note *note, struct jank_park_chain *chain)
{
	int res = loop_owner__parks(parks->owners, note, process->row, chain);

	return res < 0 ? res : res ? JANK_PARK_YES : JANK_PARK_NO;
}

/* Returns JANK_PARK_*, -ENODATA if not known yet, or another -errno. */
static int judge(struct parks *parks, struct process *process, const struct wait_note *note,
		 struct jank_park_chain *chain)
{
	enum idle_verdict verdict;
	struct judged *thread;

	if (process->row)
		return judge_by_row(parks, process, note, chain);
	if (note->rec.hdr.flags & JANK_WAIT_COMPARE)
		return loop_owner__compare(parks->owners, note, parks->places, chain);
	thread = judged_of(process, note->rec.hdr.tid);
	if (!thread)
		return -ENOMEM;
	verdict = loop_owner__rests(parks->owners, note, thread->chains, chain);
	if (verdict == IDLE_OUTER)
		revoke(process, note->rec.hdr.tid);
	if (verdict == IDLE_ALIKE)
		return ask_frames(parks, process, thread) ?: -ENODATA;
	if (note->script)
		thread->alike_cnt = 0;
	if (verdict == IDLE_UNKNOWN)
		return -ENODATA;
	if (verdict == IDLE_LEFT)
		return JANK_PARK_LEFT;
	return verdict == IDLE_NO ? JANK_PARK_NO : JANK_PARK_YES;
}

int parks__answer(struct parks *parks, const struct wait_note *note)
{
	const struct jank_rec_wait *rec = &note->rec;
	struct process *process = find(parks, rec->hdr.tgid);
	const struct jank_park_place place = {
		.sp = rec->sp,
		.arg0 = note->arg0,
		.tid = rec->hdr.tid,
		.nr = rec->syscall,
		.script = note->script ? note->script->identity : 0,
	};
	struct jank_park_chain chain;
	int verdict;

	if (!process)
		return 0;
	verdict = judge(parks, process, note, &chain);
	if (verdict < 0)
		return verdict == -ENODATA ? 0 : verdict; /* a thread asks again later */
	/*
	 * Where a worker's handler waits, other threads may rest: in Java all waits have the same
	 * callers in C, up to the compiled code.
	 */
	if (verdict == JANK_PARK_NO && !process->row && place.tid != process->pid)
		chain.verdict = 0;
	log__debug("thread %u sleeps at 0x%llx in %s(0x%llx): %s", place.tid, place.sp,
		   syscall__name(place.nr), place.arg0,
		   verdict == JANK_PARK_NO ? "no park" : "a park");
	return tell(parks, process, &place, &chain, verdict);
}

void parks__each_alike(const struct parks *parks, void (*fn)(void *ctx, uint32_t pid, uint32_t tid),
		       void *ctx)
{
	struct process *process, *next;

	HASH_ITER (hh, parks->processes, process, next)
		if (process->alike_tid)
			fn(ctx, process->pid, process->alike_tid);
}

void parks__on_exit(struct parks *parks, uint32_t pid)
{
	struct process *process = find(parks, pid);

	if (!process)
		return;
	park_bpf_fds__drop_process(parks->maps, pid);
	for (size_t i = 0; i < process->place_cnt; i++)
		park_bpf_fds__drop_place(parks->maps, &process->places[i]);
	drop(parks, process);
}
