/* SPDX-License-Identifier: GPL-2.0 */
/* A block's samples as JSON. */
#include "export/frame.h"
#include "export/json_parts.h"
#include "export/quality.h"

/* Where the waker of a sample was as it woke: known of the wait that the chain explains. */
static const struct stack *wake_stack(const struct block *block, size_t i)
{
	const struct link *first = block->chain;

	if (!block->chain_cnt || block->chain_sample != i || first->role != LINK_WOKE ||
	    first->task.tid != block->samples[i].waker.tid || !stack__frame_cnt(&first->wake_stack))
		return NULL;
	return &first->wake_stack;
}

static void add_waker(struct jsonw *w, const struct sample *sample, const struct stack *stack)
{
	if (!sample->has_waker)
		return;
	jsonw__kobject(w, "waker");
	json__add_task(w, &sample->waker);
	if (sample->waker_softirq)
		jsonw__kbool(w, "softirq", true);
	if (stack)
		json__add_stack(w, "stack", stack);
	jsonw__object_end(w);
}

static void add_sample(struct jsonw *w, const struct sample *sample, const struct stack *wake_stack)
{
	jsonw__object(w);
	jsonw__ku64(w, "t_ns", sample->t_ns);
	jsonw__kstr(w, "state", state__name(sample->state));
	if (sample->ns)
		jsonw__ku64(w, "ns", sample->ns);
	if (sample->runnable_ns)
		jsonw__ku64(w, "runnable_ns", sample->runnable_ns);
	if (sample->open)
		jsonw__kbool(w, "open", true);
	jsonw__ku64(w, "cpu", sample->cpu);
	jsonw__kstr_known(w, "syscall", sample->syscall_name);
	json__add_waited(w, sample->waited, sample->syscall_name);
	add_waker(w, sample, wake_stack);
	json__add_stack(w, "stack", &sample->stack);
	jsonw__object_end(w);
}

void json__add_samples(struct jsonw *w, const struct block *block)
{
	struct strbuf quality = STRBUF_INIT;

	jsonw__karray(w, "samples");
	for (size_t i = 0; i < block->sample_cnt; i++)
		add_sample(w, &block->samples[i], wake_stack(block, i));
	jsonw__array_end(w);
	quality__add(&quality, block);
	jsonw__kstr(w, "stack_quality", strbuf__str(&quality));
	strbuf__free(&quality);
}
