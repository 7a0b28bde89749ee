/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signature contains only what a fault has in every run: no address of a call, no line, pid or
 * thread id; nothing about other threads, because evidence of them may be missing. A wait: the
 * function, the call, the class of the object. Time on the CPU: the function that was on the stack
 * for most of it; which function below it has the most samples is chance. A quota or a real-time
 * task stops it at a random place, so that is one fault of the process.
 */
#include "verdict/analysis.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/stable_name.h"
#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "verdict/blame.h"

#define TICKS_ENOUGH	   5			   /* to say where a thread was busy */
#define REAL_TIME_PRIO_MAX (JANK_PRIO_OFFSET + 99) /* the lowest real-time priority */

void stable_name__add_module(struct strbuf *sb, const char *module)
{
	const char *name = text__base_name(module), *so = strstr(name, ".so");
	const char *deleted = strstr(name, " (deleted)");
	size_t len = deleted ? (size_t)(deleted - name) : strlen(name);

	if (so && (so[3] == '\0' || so[3] == '.' || so[3] == ' '))
		len = so - name;
	else
		so = NULL;
	/* "libc-2.31.so" */
	for (size_t i = 1; so && i + 1 < len; i++)
		if (name[i] == '-' && isdigit((unsigned char)name[i + 1]))
			len = i;
	strbuf__add(sb, name, len);
}

/* --- the part of the verdict that is the fault */

static bool is_runnable(const struct cause_part *part)
{
	return part->state == JANK_STATE_RUNNABLE;
}

/* What another remedy helps against, whatever ran when the CPU was taken. */
static bool is_withheld(const struct cause_part *part)
{
	return text__same(part->what, "throttled") || text__same(part->what, "frozen");
}

/* True if the thread waited for a CPU mostly after wake-ups: at the end of its waits. */
static bool is_after_wait(const struct cause_part *part)
{
	return is_runnable(part) && text__same(part->what, "wakeup_latency");
}

/*
 * Returns the part. Time waiting for a CPU comes on top of another cause, more of it on a busy
 * machine, so the largest other part is the fault, if there is one.
 */
static size_t part_of(const struct cause *cause)
{
	size_t other = 0;

	if (!is_runnable(&cause->parts[0]))
		return 0;
	for (size_t i = cause->part_cnt; i--;) {
		if (is_withheld(&cause->parts[i]))
			return i;
		if (!is_runnable(&cause->parts[i]))
			other = i;
	}
	return is_after_wait(&cause->parts[0]) ? 0 : other;
}

/* The state of the fault: JANK_STATE_RUNNING also if a busy thread did not get the CPU. */
static uint32_t state_of(const struct analysis *analysis, size_t nr)
{
	const struct cause_part *part = &analysis->block->cause.parts[nr];
	const struct sample *sample =
		is_after_wait(part) ? analysis__main_sample(analysis, nr) : NULL;
	uint32_t state = sample ? sample->state : part->state;

	return state == JANK_STATE_RUNNABLE ? JANK_STATE_RUNNING : state;
}

/* --- the function, the call and the object */

/*
 * Without a name: where the function starts in its module, which another build may move. Without
 * that, the module.
 */
static void add_frame(struct strbuf *text, const struct frame *frame)
{
	if (frame->function)
		stable_name__add_function(text, frame->function);
	else if (frame->start)
		strbuf__addf(text, "+%llx", (unsigned long long)frame->start);
	strbuf__addc(text, '\n');
	stable_name__add_module(text, frame->module);
}

static const struct frame *frame_in(const struct analysis *analysis, size_t part)
{
	const struct frame *ret = culprit__common(analysis, part, NULL);

	return ret ? ret : analysis->block->cause.parts[part].frame;
}

static size_t sample_cnt(const struct analysis *analysis, size_t part)
{
	size_t ret = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++)
		ret += analysis__weight(analysis, i, part) > 0;
	return ret;
}

/*
 * A busy thread may have few ticks in a short time on the CPU. If it lost the CPU more often, that
 * says where it was busy.
 */
static const struct frame *busy_frame(const struct analysis *analysis, size_t nr)
{
	const struct cause *cause = &analysis->block->cause;
	const struct frame *ret = frame_in(analysis, nr);
	size_t cnt = ret ? sample_cnt(analysis, nr) : 0;

	if (is_runnable(&cause->parts[nr]) || cnt >= TICKS_ENOUGH)
		return ret;
	for (size_t i = 0; i < cause->part_cnt; i++) {
		const struct frame *lost =
			is_runnable(&cause->parts[i]) ? frame_in(analysis, i) : NULL;

		if (lost && (!ret || sample_cnt(analysis, i) > cnt))
			return lost;
	}
	return ret;
}

static void add_place(struct strbuf *text, const struct analysis *analysis,
		      const struct frame *frame)
{
	if (frame)
		add_frame(text, frame);
	else
		strbuf__adds(text, analysis->block->process->name ?: "");
}

static const char *class_of_socket(const struct jank_rec_waited *raw)
{
	if (raw->family == AF_UNIX)
		return "unix";
	if (raw->family != AF_INET && raw->family != AF_INET6)
		return "socket";
	return raw->type == SOCK_STREAM ? "tcp" : raw->type == SOCK_DGRAM ? "udp" : "ip";
}

static const char *class_of_file(const struct jank_rec_waited *raw)
{
	static const struct {
		mode_t mode;
		const char *class;
	} rows[] = { { S_IFREG, "file" },    { S_IFDIR, "file" },   { S_IFIFO, "pipe" },
		     { S_IFSOCK, "socket" }, { S_IFCHR, "device" }, { S_IFBLK, "device" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((raw->mode & S_IFMT) == rows[i].mode)
			return rows[i].class;
	return "anonymous"; /* an eventfd, a timerfd … */
}

/* By what the probe saw; names are looked up later, when the object may be gone. */
static const char *class_of(const struct sample *sample)
{
	const struct jank_rec_waited *raw = sample && sample->waited ? &sample->waited->raw : NULL;

	if (raw && raw->hdr.flags & JANK_WAITED_SOCKET)
		return class_of_socket(raw);
	return raw && raw->hdr.flags & JANK_WAITED_FILE ? class_of_file(raw) : "";
}

/* "mutex", by the thread's own stack and call. */
static const char *lock_of(const struct sample *sample)
{
	struct activity activity;

	if (!sample || sample->state != JANK_STATE_FUTEX)
		return NULL;
	activity = activity__of_sample(sample);
	activity.waker_tid = 0;
	return wait_reason__of_futex(&activity);
}

static void add_wait(struct strbuf *text, const struct analysis *analysis, size_t part)
{
	const struct sample *sample = analysis__main_sample(analysis, part);
	const char *syscall = culprit__syscall(analysis, part), *lock = lock_of(sample);

	strbuf__addf(text, "\n%s\n%s\n%s", syscall ? syscall : "", class_of(sample),
		     lock ? lock : "");
}

/* --- all of it */

/* A real-time task took the CPU at one place for all of the time; others take turns with us. */
static bool is_of_real_time(const struct block *block, const struct cause_part *part)
{
	struct runners by;

	if (!is_runnable(part) || !text__same(part->what, "priority"))
		return false;
	by = runners__of(block->preemptors, block->preemptor_cnt, block->pid, block->facts.prio);
	return by.task && by.task->prio <= REAL_TIME_PRIO_MAX;
}

/* True if the CPU was taken at a random place, for a reason outside of the function. */
static bool is_taken(const struct block *block, const struct cause_part *part)
{
	return is_withheld(part) || text__same(part->what, "interrupts") ||
	       is_of_real_time(block, part);
}

void signature__make(struct analysis *analysis)
{
	struct cause *cause = &analysis->block->cause;
	size_t nr = part_of(cause);
	const struct cause_part *part = &cause->parts[nr];
	uint32_t state = state_of(analysis, nr);
	struct strbuf text = STRBUF_INIT;

	if (is_withheld(part) || (!nr && is_taken(analysis->block, part))) {
		strbuf__addf(&text, "%s\n%s", part->what, analysis->block->process->name ?: "");
	} else if (state == JANK_STATE_RUNNING) {
		bool has_word =
			part->what && !is_runnable(part) && !is_taken(analysis->block, part);

		/* One word: whether a busy thread gets the CPU is chance. */
		strbuf__addf(&text, "cpu\n%s\n", has_word ? part->what : "");
		add_place(&text, analysis, busy_frame(analysis, nr));
	} else {
		strbuf__addf(&text, "%s\n", state__name(state));
		add_place(&text, analysis, frame_in(analysis, nr));
		add_wait(&text, analysis, nr);
	}
	snprintf(cause->signature, sizeof(cause->signature), "%016llx",
		 (unsigned long long)XXH64(strbuf__str(&text), text.len, SIGNATURE_VERSION));
	strbuf__free(&text);
}
