/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Relies on the order of a thread's records: the wait object comes right before its span. */
#include "model/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/sample.h"

/*
 * Limits of one dispatch; above them it is thinned. 2,048 samples are 20 s at 99 Hz. A frame of the
 * deepest stacks takes 8 bytes here, 90 when named and 120 as JSON: 2,048 such samples made 32 MB
 * of JSON, and writing took 110 MB.
 */
#define SAMPLE_MAX    2048
#define BYTES_MAX     (512u << 10)
#define PREEMPTOR_MAX 64

int tasks__add(struct other_task **tasks, size_t *cnt, size_t max, const struct jank_task *task,
	       uint16_t prio)
{
	for (size_t i = 0; i < *cnt; i++)
		if ((*tasks)[i].tid == task->tid) {
			(*tasks)[i].ns += task->ns;
			if (prio)
				(*tasks)[i].prio = prio;
			return 0;
		}
	if (*cnt == max)
		return -ENOSPC;
	if (!*tasks)
		*tasks = calloc(max, sizeof(**tasks));
	if (!*tasks)
		return -ENOMEM;
	other_task__set(&(*tasks)[*cnt], task);
	(*tasks)[(*cnt)++].prio = prio;
	return 0;
}

static int longest_first(const void *a, const void *b)
{
	const struct other_task *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void tasks__sort(struct other_task *tasks, size_t cnt)
{
	if (cnt)
		qsort(tasks, cnt, sizeof(*tasks), longest_first);
}

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static size_t payload(const struct sample *sample)
{
	return sample__bytes(sample) - sizeof(*sample);
}

static size_t message_bytes(const struct evidence *evidence)
{
	return evidence->message ? sizeof(*evidence->message) : 0;
}

static void count_bytes(struct evidence *evidence)
{
	size_t sum = evidence->sample_cap * sizeof(struct sample) +
		     (evidence->preemptors ? PREEMPTOR_MAX * sizeof(struct other_task) : 0) +
		     message_bytes(evidence) + wait_object__bytes(evidence->pending);

	for (size_t i = 0; i < evidence->sample_cnt; i++)
		sum += payload(&evidence->samples[i]);
	evidence->bytes = sum;
}

static void count_capped(struct evidence *evidence, size_t cnt, struct losses *losses)
{
	evidence->capped_cnt += cnt;
	losses__add(losses, LOSS_SAMPLES_CAPPED, cnt);
}

bool evidence__is_thinnable(const struct evidence *evidence)
{
	return evidence->sample_cnt > THIN_MIN;
}

void evidence__thin(struct evidence *evidence, struct losses *losses)
{
	size_t cnt = thin__halve(evidence->samples, evidence->sample_cnt);
	struct sample *samples = realloc(evidence->samples, cnt * sizeof(*samples));

	count_capped(evidence, evidence->sample_cnt - cnt, losses);
	evidence->sample_cnt = cnt;
	if (samples) {
		evidence->samples = samples;
		evidence->sample_cap = cnt;
	}
	count_bytes(evidence);
}

void evidence__drop(struct evidence *evidence, struct losses *losses)
{
	const struct evidence left = { .facts = evidence->facts,
				       .start_frozen_ns = evidence->start_frozen_ns,
				       .thawer = evidence->thawer,
				       .capped_cnt = evidence->capped_cnt,
				       .preemptors_capped_cnt = evidence->preemptors_capped_cnt +
								evidence->preemptor_cnt };
	size_t cnt = evidence->sample_cnt;

	losses__add(losses, LOSS_PREEMPTORS_CAPPED, evidence->preemptor_cnt);
	evidence__clear(evidence);
	*evidence = left;
	count_capped(evidence, cnt, losses);
}

void evidence__sort(struct evidence *evidence, struct losses *losses)
{
	size_t cnt = evidence->sample_cnt;

	if (evidence->capped_cnt)
		evidence->sample_cnt = thin__even_ticks(evidence->samples, cnt);
	count_capped(evidence, cnt - evidence->sample_cnt, losses);
	if (evidence->sample_cnt)
		qsort(evidence->samples, evidence->sample_cnt, sizeof(struct sample), by_time);
	tasks__sort(evidence->preemptors, evidence->preemptor_cnt);
}

int evidence__append(struct evidence *to, struct evidence *from)
{
	size_t cnt = to->sample_cnt + from->sample_cnt;
	struct sample *samples;

	if (!to->sample_cnt) {
		evidence__clear(to);
		*to = *from;
		*from = (struct evidence){ 0 };
		return 0;
	}
	samples = realloc(to->samples, cnt * sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	if (from->sample_cnt)
		memcpy(samples + to->sample_cnt, from->samples,
		       from->sample_cnt * sizeof(*samples));
	to->samples = samples;
	to->sample_cnt = to->sample_cap = cnt;
	to->capped_cnt += from->capped_cnt;
	to->preemptors_capped_cnt += from->preemptors_capped_cnt + from->preemptor_cnt;
	from->sample_cnt = 0;
	evidence__clear(from);
	count_bytes(to);
	return 0;
}

void evidence__end(struct evidence *evidence, uint64_t end_ns)
{
	size_t cnt = 0;

	for (size_t i = 0; i < evidence->sample_cnt; i++) {
		if (evidence->samples[i].t_ns < end_ns)
			evidence->samples[cnt++] = evidence->samples[i];
		else
			sample__free(&evidence->samples[i]);
	}
	evidence->sample_cnt = cnt;
	count_bytes(evidence);
}

/* Of devpts the name is a number; its path ends at the root of that file system. */
static bool is_terminal(const struct jank_rec_waited *rec)
{
	const char *name = rec->name;

	if (!(rec->hdr.flags & JANK_WAITED_FILE) || !S_ISCHR(rec->mode))
		return false;
	return text__begins(name, "tty") || !strcmp(name, "console") ||
	       (*name && strspn(name, "0123456789") == strlen(name));
}

/* Standard input that is a pipe or a socket is a terminal's deputy: inetd, ssh, `cat | program`. */
static bool is_input(const struct jank_rec_waited *rec)
{
	return rec->hdr.flags & JANK_WAITED_FILE && rec->fd == 0 &&
	       (S_ISFIFO(rec->mode) || S_ISSOCK(rec->mode));
}

uint64_t evidence__input_ns(const struct evidence *evidence)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < evidence->sample_cnt; i++) {
		const struct sample *sample = &evidence->samples[i];

		if (sample->state >= JANK_STATE_FIRST_BLOCKED && sample->waited &&
		    (is_terminal(&sample->waited->raw) || is_input(&sample->waited->raw)))
			ret += sample->ns;
	}
	return ret;
}

static int add_preemptors(struct evidence *evidence, const struct stack_event *event,
			  struct losses *losses)
{
	bool had_none = !evidence->preemptors;
	int res = 0;

	/* What ran while a quota withheld the CPU took nothing away. */
	if (event->rec.hdr.flags & JANK_STACK_THROTTLED)
		return 0;
	for (unsigned i = 0; i < event->rec.slice_cnt && !res; i++) {
		res = tasks__add(&evidence->preemptors, &evidence->preemptor_cnt, PREEMPTOR_MAX,
				 &event->slices[i], event->prios ? event->prios[i] : 0);
		if (res == -ENOSPC) {
			evidence->preemptors_capped_cnt++;
			losses__add(losses, LOSS_PREEMPTORS_CAPPED, 1);
			res = 0;
		}
	}
	if (event->rec.hdr.flags & JANK_STACK_CUT_SLICES) {
		evidence->preemptors_capped_cnt++;
		losses__add(losses, LOSS_PREEMPTORS_CAPPED, 1);
	}
	if (had_none && evidence->preemptors)
		evidence->bytes += PREEMPTOR_MAX * sizeof(struct other_task);
	return res;
}

/*
 * The wait object of the span that began at t_ns, or NULL; the caller owns it. Frees a pending
 * object of another span.
 */
static struct wait_object *take_pending(struct evidence *evidence, uint64_t t_ns)
{
	struct wait_object *waited = evidence->pending;

	evidence->bytes -= wait_object__bytes(waited);
	evidence->pending = NULL;
	if (!waited || waited->raw.t_ns == t_ns)
		return waited;
	wait_object__free(waited);
	return NULL;
}

/*
 * A span that was sent open, for a hang, is sent again when it ends: the complete span replaces the
 * part. It inherits the part's wait object if it has none.
 */
static void drop_open_part(struct evidence *evidence, uint64_t t_ns, struct wait_object **waited)
{
	struct sample *last;

	if (!evidence->sample_cnt)
		return;
	last = &evidence->samples[evidence->sample_cnt - 1];
	if (!last->open || last->t_ns != t_ns)
		return;
	evidence->bytes -= payload(last);
	if (!*waited) {
		*waited = last->waited;
		last->waited = NULL;
	}
	sample__free(last);
	evidence->sample_cnt--;
}

static int make_room(struct evidence *evidence)
{
	size_t cap = evidence->sample_cap ? evidence->sample_cap * 2 : 16;
	struct sample *samples;

	if (evidence->sample_cnt < evidence->sample_cap)
		return 0;
	samples = realloc(evidence->samples, cap * sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	evidence->bytes += (cap - evidence->sample_cap) * sizeof(*samples);
	evidence->samples = samples;
	evidence->sample_cap = cap;
	return 0;
}

/*
 * A timer interrupt runs on top of the current thread; the probe takes that thread for a sender if
 * its system call may send. A waker outside of an interrupt is a real waker, however close to the
 * timeout.
 */
static void drop_bystander(struct sample *sample)
{
	const struct jank_rec_waited *raw = sample->waited ? &sample->waited->raw : NULL;

	if (sample->waker_softirq && wait_object__timed_out(raw, sample->ns - sample->runnable_ns))
		sample->has_waker = sample->waker_softirq = false;
}

static void set_frozen_start(struct evidence *evidence, const struct jank_rec_stack *rec)
{
	if (!(rec->hdr.flags & JANK_STACK_FROZEN) || rec->runnable_ns > rec->ns)
		return;
	evidence->start_frozen_ns = rec->ns - rec->runnable_ns;
	if (rec->hdr.flags & JANK_STACK_WAKER)
		other_task__set(&evidence->thawer, &rec->waker);
}

uint64_t evidence__frozen_ns(const struct evidence *evidence)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < evidence->sample_cnt; i++) {
		const struct sample *sample = &evidence->samples[i];

		if (sample->state == JANK_STATE_STOPPED && sample->stack.flags & JANK_STACK_FROZEN)
			ret += sample->ns - sample->runnable_ns;
	}
	return ret;
}

int evidence__add_stack(struct evidence *evidence, const struct stack_event *event,
			struct losses *losses)
{
	struct wait_object *waited;
	int res = add_preemptors(evidence, event, losses);

	if (event->rec.hdr.flags & JANK_STACK_START) { /* before the dispatch: without a stack */
		set_frozen_start(evidence, &event->rec);
		return res;
	}
	waited = take_pending(evidence, event->rec.t_ns);

	drop_open_part(evidence, event->rec.t_ns, &waited);
	if (!res)
		res = make_room(evidence);
	if (!res)
		res = sample__set(&evidence->samples[evidence->sample_cnt], event);
	if (res) {
		wait_object__free(waited);
		return res;
	}
	evidence->samples[evidence->sample_cnt].waited = waited;
	drop_bystander(&evidence->samples[evidence->sample_cnt]);
	evidence->bytes += payload(&evidence->samples[evidence->sample_cnt++]);
	if (evidence->sample_cnt > SAMPLE_MAX ||
	    (evidence->bytes > BYTES_MAX && evidence__is_thinnable(evidence)))
		evidence__thin(evidence, losses);
	return 0;
}

int evidence__add_waited(struct evidence *evidence, const struct jank_rec_waited *rec)
{
	evidence->bytes -= wait_object__bytes(evidence->pending);
	wait_object__free(evidence->pending);
	evidence->pending = wait_object__new(rec);
	evidence->bytes += wait_object__bytes(evidence->pending);
	return evidence->pending ? 0 : -ENOMEM;
}

/*
 * Sent for a hang, and sent again for its end if some values could be read only then: the later
 * record has more.
 */
int evidence__set_message(struct evidence *evidence, const struct jank_rec_message *rec)
{
	evidence->bytes -= message_bytes(evidence);
	free(evidence->message);
	evidence->message = message__new(rec);
	evidence->bytes += message_bytes(evidence);
	return evidence->message ? 0 : -ENOMEM;
}

/* Sent for a hang, and again for its end. */
void evidence__set_facts(struct evidence *evidence, const struct jank_rec_facts *rec)
{
	evidence->facts = (struct facts){
		.known = true,
		.throttled_ns = rec->throttled_ns,
		.stolen_ns = rec->stolen_ns,
		.maj_flt_cnt = rec->maj_flt_cnt,
		.min_flt_cnt = rec->min_flt_cnt,
		.prio = rec->prio,
		.policy = rec->policy,
		.cpus_allowed = rec->cpus_allowed,
	};
}

static int copy_samples(struct evidence *ret, const struct evidence *from)
{
	if (!from->sample_cnt)
		return 0;
	ret->samples = calloc(from->sample_cnt, sizeof(struct sample));
	if (!ret->samples)
		return -ENOMEM;
	ret->sample_cap = from->sample_cnt;
	for (; ret->sample_cnt < from->sample_cnt; ret->sample_cnt++)
		if (sample__copy(&ret->samples[ret->sample_cnt], &from->samples[ret->sample_cnt]))
			return -ENOMEM;
	return 0;
}

static int copy_preemptors(struct evidence *ret, const struct evidence *from)
{
	if (!from->preemptor_cnt)
		return 0;
	ret->preemptors = calloc(PREEMPTOR_MAX, sizeof(struct other_task));
	if (!ret->preemptors)
		return -ENOMEM;
	for (; ret->preemptor_cnt < from->preemptor_cnt; ret->preemptor_cnt++) {
		ret->preemptors[ret->preemptor_cnt] = from->preemptors[ret->preemptor_cnt];
		ret->preemptors[ret->preemptor_cnt].cgroup = NULL; /* not named yet */
	}
	return 0;
}

int evidence__copy(struct evidence *ret, const struct evidence *from)
{
	*ret = (struct evidence){ .capped_cnt = from->capped_cnt,
				  .preemptors_capped_cnt = from->preemptors_capped_cnt,
				  .facts = from->facts,
				  .start_frozen_ns = from->start_frozen_ns,
				  .thawer = from->thawer };
	if (copy_samples(ret, from) || copy_preemptors(ret, from))
		return -ENOMEM;
	if (!from->message)
		return 0;
	ret->message = message__new(from->message);
	return ret->message ? 0 : -ENOMEM;
}

void evidence__clear(struct evidence *evidence)
{
	samples__free(evidence->samples, evidence->sample_cnt);
	tasks__free(evidence->preemptors, evidence->preemptor_cnt);
	free(evidence->message);
	wait_object__free(evidence->pending);
	*evidence = (struct evidence){ 0 };
}
