/* SPDX-License-Identifier: GPL-2.0 */
/* The chain of wakers as JSON. */
#include "export/frame.h"
#include "export/json_parts.h"
#include "export/priority.h"

/* How its part of the interval was spent, where something of it was seen. */
static void add_meanwhile(struct jsonw *w, const struct link *link)
{
	uint64_t seen_ns = 0;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		seen_ns += link->part_ns[i];
	if (link->state < JANK_STATE_CNT)
		jsonw__kstr(w, "state", state__name(link->state));
	if (seen_ns)
		json__add_time(w, link->part_ns);
	jsonw__kstr_known(w, "syscall", link->syscall_name);
	json__add_waited(w, link->waited, link->syscall_name);
}

static void add_link(struct jsonw *w, const struct link *link)
{
	jsonw__object(w);
	jsonw__kstr(w, "role", link->role == LINK_HELD ? "held" : "woke");
	json__add_task(w, &link->task);
	jsonw__kstr_known(w, "process", link->process);
	json__add_priority(w, link->prio);
	jsonw__ku64(w, "t_ns", link->t_ns);
	jsonw__ku64(w, "ns", link->ns);
	add_meanwhile(w, link);
	json__add_stack(w, "stack", &link->stack);
	if (stack__frame_cnt(&link->wake_stack))
		json__add_stack(w, "wake_stack", &link->wake_stack);
	if (link->preemptor_cnt)
		json__add_preemptors(w, link->preemptors, link->preemptor_cnt);
	jsonw__object_end(w);
}

void json__add_chain(struct jsonw *w, const struct block *block)
{
	if (!block->chain_cnt)
		return;
	jsonw__karray(w, "chain");
	for (size_t i = 0; i < block->chain_cnt; i++)
		add_link(w, &block->chain[i]);
	jsonw__array_end(w);
	if (block->chain_sample < block->sample_cnt)
		jsonw__ku64(w, "chain_sample", block->samples[block->chain_sample].t_ns);
}
