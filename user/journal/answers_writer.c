/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each address of a process is written once, with its frames. */
#include "base/hash.h"
#include "journal/answers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/proto.h"
#include "export/record/record.h"
#include "schema/journal.pb-c.h"

/* At this count all keys are dropped: names may be written twice, but none is missing. */
#define SEEN_MAX 65536

struct seen {
	uint64_t key;
	UT_hash_handle hh;
};

struct process {
	uint32_t pid; /* 0 for the kernel */
	struct seen *seen;
	UT_hash_handle hh;
};

struct answers_writer {
	struct journal_writer *jw;
	struct record *record;
	struct process *processes;
	size_t seen_cnt; /* of all processes */
};

struct answers_writer *answers_writer__new(struct journal_writer *jw)
{
	struct answers_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->jw = jw;
	w->record = record__new();
	if (w->record)
		return w;
	free(w);
	return NULL;
}

static void forget(struct answers_writer *w, struct process *process)
{
	struct seen *seen, *next;

	HASH_ITER (hh, process->seen, seen, next) {
		HASH_DEL(process->seen, seen);
		free(seen);
		w->seen_cnt--;
	}
	HASH_DEL(w->processes, process);
	free(process);
}

static void forget_all(struct answers_writer *w)
{
	struct process *process, *next;

	HASH_ITER (hh, w->processes, process, next)
		forget(w, process);
}

void answers_writer__on_exit(struct answers_writer *w, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, w->processes, &pid, sizeof(pid), process);
	if (process)
		forget(w, process);
}

void answers_writer__free(struct answers_writer *w)
{
	if (!w)
		return;
	forget_all(w);
	record__free(w->record);
	free(w);
}

static struct process *process_of(struct answers_writer *w, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, w->processes, &pid, sizeof(pid), process);
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, w->processes, pid, sizeof(pid), process);
	return process;
}

/* 1: new, and now recorded as seen; 0: seen before; -ENOMEM. */
static int is_new(struct answers_writer *w, uint32_t pid, uint64_t key)
{
	struct process *process;
	struct seen *seen;

	if (w->seen_cnt >= SEEN_MAX)
		forget_all(w);
	process = process_of(w, pid);
	if (!process)
		return -ENOMEM;
	HASH_FIND(hh, process->seen, &key, sizeof(key), seen);
	if (seen)
		return 0;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	seen->key = key;
	HASH_ADD(hh, process->seen, key, sizeof(key), seen);
	if (!seen)
		return -ENOMEM;
	w->seen_cnt++;
	return 1;
}

/* Writes one record for the address of frames[0] and the frames inlined there. */
static int write_frames(struct answers_writer *w, uint32_t pid, uint64_t key,
			const struct frame *frames, size_t cnt)
{
	Jankbpf__JournalFrames message = JANKBPF__JOURNAL_FRAMES__INIT;
	protobuf_c_boolean app[ANSWERS_INLINED_MAX];
	uint64_t start = frames[0].start;

	if (cnt > ANSWERS_INLINED_MAX)
		cnt = ANSWERS_INLINED_MAX;
	message.frames = record__frames(w->record, frames, cnt);
	if (!message.frames)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		app[i] = frames[i].app;
	message.app = app;
	message.n_frames = message.n_app = cnt;
	SET(&message, pid, pid);
	SET(&message, key, key);
	if (start)
		SET(&message, start, start);
	return journal_writer__message(w->jw, JOURNAL_FRAMES, &message.base);
}

/*
 * Number of frames of one address: the inlined ones, and the function that they are inlined into.
 */
static size_t frames_of_address(const struct stack *stack, size_t first)
{
	size_t last = first;

	while (stack->frames[last].inlined && last + 1 < stack->frame_cnt &&
	       stack->frames[last + 1].address == stack->frames[first].address)
		last++;
	return last + 1 - first;
}

/*
 * True if the thread was at this address, in the kernel or in its program; earlier frames may be
 * inlined at the same place.
 */
static bool is_exact(const struct stack *stack, size_t i)
{
	return !i || (stack->frames[i - 1].kernel && !stack->frames[i].kernel);
}

/* Key of the frame in a replay; 0: do not write it. */
static uint64_t key_of(const struct stack *stack, size_t i)
{
	size_t native = stack->frame_cnt - stack->script_cnt;

	if (i < native)
		return answers__native_key(stack->frames[i].address, is_exact(stack, i));
	return stack->script[i - native].code ? answers__script_key(&stack->script[i - native]) : 0;
}

int answers_writer__stack(struct answers_writer *w, uint32_t pid, const struct stack *stack)
{
	for (size_t i = 0, cnt; i < stack->frame_cnt; i += cnt) {
		const struct frame *frame = &stack->frames[i];
		uint32_t owner = frame->kernel ? 0 : pid;
		uint64_t key = key_of(stack, i);
		int res;

		cnt = frames_of_address(stack, i);
		res = key ? is_new(w, owner, key) : 0;
		if (res > 0)
			res = write_frames(w, owner, key, frame, cnt);
		if (res < 0)
			return res;
	}
	return 0;
}

/* Removes what the kernel's records hold already; other members are 0 or empty in the journal. */
static void keep_answers(Jankbpf__Block *block)
{
	size_t kept = 0;

	for (size_t i = 0; i < block->n_samples; i++) {
		const Jankbpf__WaitedFor *waited = block->samples[i]->waited_for;

		if (waited && (waited->target || waited->path || waited->device || waited->peer ||
			       waited->peer_task || waited->futex_owner || waited->lock))
			block->samples[kept++] = block->samples[i];
	}
	block->n_samples = kept;
	block->time = NULL;
	block->cause = NULL;
	block->faults = NULL;
	block->lost = NULL;
	block->stack_quality = NULL;
}

int answers_writer__block(struct answers_writer *w, const struct block *block)
{
	Jankbpf__JournalAnswers answers = JANKBPF__JOURNAL_ANSWERS__INIT;

	answers.block = record__without_stacks(w->record, block);
	if (!answers.block)
		return -ENOMEM;
	keep_answers(answers.block);
	SET(&answers, tid, block->tid);
	SET(&answers, start_ns, block->start_ns);
	SET(&answers, hang, block__hang(block));
	SET(&answers, real_offset_ns, block->real_offset_ns);
	if (block->deadlock)
		SET(&answers, deadlock, true);
	if (block->seen_chain)
		SET(&answers, seen_chain, true);
	answers.idle_place = block->idle_place.addresses;
	answers.n_idle_place = block->idle_place.user_cnt;
	return journal_writer__message(w->jw, JOURNAL_ANSWERS, &answers.base);
}

int answers_writer__losses(struct answers_writer *w, const struct block *block)
{
	Jankbpf__JournalLosses losses = JANKBPF__JOURNAL_LOSSES__INIT;

	SET(&losses, tid, block->tid);
	SET(&losses, start_ns, block->start_ns);
	SET(&losses, hang, block__hang(block));
	losses.lost = record__losses(w->record, block->lost, block->lost_cnt);
	if (!losses.lost)
		return -ENOMEM;
	return journal_writer__message(w->jw, JOURNAL_LOSSES, &losses.base);
}

int answers_writer__left_out(struct answers_writer *w, const struct block *block,
			     enum not_shown_reason reason)
{
	Jankbpf__JournalAnswers answers = JANKBPF__JOURNAL_ANSWERS__INIT;

	SET(&answers, tid, block->tid);
	SET(&answers, start_ns, block->start_ns);
	SET(&answers, hang, block__hang(block));
	SET(&answers, left_out, true);
	answers.not_shown = (char *)not_shown__word(reason);
	return journal_writer__message(w->jw, JOURNAL_ANSWERS, &answers.base);
}

/* Copies a stack and its parts into one allocation. NULL: out of memory. */
static Jankbpf__JournalStack *stack_of(uint32_t tid, const struct stack *stack)
{
	struct {
		Jankbpf__JournalStack stack;
		Jankbpf__JournalScriptFrame *script[STACK_SCRIPT_MAX], frames[];
	} *ret = calloc(1, sizeof(*ret) + stack->script_cnt * sizeof(ret->frames[0]));

	if (!ret)
		return NULL;
	jankbpf__journal_stack__init(&ret->stack);
	SET(&ret->stack, tid, tid);
	SET(&ret->stack, t_ns, stack->t_ns);
	SET(&ret->stack, end, stack->end);
	ret->stack.end_module = stack->end_module;
	ret->stack.addresses = stack->addresses + stack->kernel_cnt;
	ret->stack.n_addresses = stack->user_cnt;
	ret->stack.script = ret->script;
	for (uint32_t i = 0; i < stack->script_cnt && i < STACK_SCRIPT_MAX; i++) {
		jankbpf__journal_script_frame__init(&ret->frames[i]);
		SET(&ret->frames[i], code, stack->script[i].code);
		SET(&ret->frames[i], instr, stack->script[i].instr);
		SET(&ret->frames[i], flags, stack->script[i].flags);
		SET(&ret->frames[i], check, stack->script[i].check);
		ret->script[ret->stack.n_script++] = &ret->frames[i];
	}
	return &ret->stack;
}

static size_t stack_cnt(const struct block *block)
{
	size_t cnt = 0;
	uint32_t tid;

	while (block__stack(block, cnt, &tid))
		cnt++;
	return cnt;
}

static int add_stacks(Jankbpf__JournalCallers *callers, const struct block *block)
{
	const struct stack *stack;
	uint32_t tid;

	for (size_t nr = 0; (stack = block__stack(block, nr, &tid)); nr++) {
		if (stack->end == STACK_END_UNKNOWN && !stack->script_cnt)
			continue;
		callers->stacks[callers->n_stacks] = stack_of(tid, stack);
		if (!callers->stacks[callers->n_stacks])
			return -ENOMEM;
		callers->n_stacks++;
	}
	return 0;
}

int answers_writer__callers(struct answers_writer *w, const struct block *block)
{
	Jankbpf__JournalCallers callers = JANKBPF__JOURNAL_CALLERS__INIT;
	size_t cnt = stack_cnt(block);
	int res;

	SET(&callers, tid, block->tid);
	SET(&callers, start_ns, block->start_ns);
	SET(&callers, hang, block__hang(block));
	callers.stacks = calloc(cnt + 1, sizeof(*callers.stacks));
	res = callers.stacks ? add_stacks(&callers, block) : -ENOMEM;
	if (!res)
		res = journal_writer__message(w->jw, JOURNAL_CALLERS, &callers.base);
	for (size_t i = 0; i < callers.n_stacks; i++)
		free(callers.stacks[i]);
	free(callers.stacks);
	return res;
}

int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns)
{
	Jankbpf__JournalSession session = JANKBPF__JOURNAL_SESSION__INIT;
	Jankbpf__Host host = JANKBPF__HOST__INIT;

	SET(&session, threshold_ns, judge->threshold_ns);
	SET(&session, hang_ns, hang_ns);
	SET(&session, startup_ns, judge->startup_ns);
	SET(&session, fps, judge->fps);
	SET(&session, real_offset_ns, judge->real_offset_ns);
	session.boot_id = judge->host->boot_id;
	session.host = &host;
	host.name = judge->host->name;
	host.kernel = judge->host->kernel;
	host.arch = judge->host->arch;
	SET(&host, cpus, judge->host->cpus);
	return journal_writer__message(jw, JOURNAL_SESSION, &session.base);
}

int journal__add_process(struct journal_writer *jw, const Jankbpf__Identity *process)
{
	return journal_writer__message(jw, JOURNAL_PROCESS, &process->base);
}

/* Adds the catalogue's names for a process's loops. */
static void add_loops(Jankbpf__JournalEnd *end, const struct summary *summary,
		      Jankbpf__JournalLoop *loops)
{
	for (size_t i = 0; i < summary->loop_cnt; i++) {
		Jankbpf__JournalLoop *loop = &loops[end->n_loops];

		if (!summary->loops[i].loop_name)
			continue;
		jankbpf__journal_loop__init(loop);
		SET(loop, pid, summary->loops[i].pid);
		SET(loop, loop, summary->loops[i].loop);
		loop->name = (char *)summary->loops[i].loop_name;
		end->loops[end->n_loops++] = loop;
	}
}

int journal__add_end(struct journal_writer *jw, const struct summary *summary)
{
	Jankbpf__JournalEnd end = JANKBPF__JOURNAL_END__INIT;
	struct record *builder = record__new();
	const Jankbpf__Record *record = builder ? record__of_summary(builder, summary) : NULL;
	Jankbpf__JournalLoop *loops = calloc(summary->loop_cnt + 1, sizeof(*loops));
	int res = -ENOMEM;

	SET(&end, elapsed_ns, summary->elapsed_ns);
	end.loops = calloc(summary->loop_cnt + 1, sizeof(*end.loops));
	if (record && end.loops && loops) {
		end.lost = record->summary->lost;
		end.not_watched = record->summary->not_watched;
		end.n_not_watched = record->summary->n_not_watched;
		SET(&end, not_watched_more, summary->unwatched.more_cnt);
		end.over_share = record->summary->over_share;
		end.n_over_share = record->summary->n_over_share;
		add_loops(&end, summary, loops);
		res = journal_writer__message(jw, JOURNAL_END, &end.base);
	}
	free(end.loops);
	free(loops);
	record__free(builder);
	return res;
}
