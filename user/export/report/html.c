/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTML file that needs no network: the page of web/, which mk/web.mk makes part of this
 * program, around the data. Records are written as they come; memory is that of the tables.
 */
#include "export/report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/values.h"

/* Blocks of a fault with all their spans; besides these, each that is longer than all before. */
#define FULL_CNT 30

static const char page_head[] =
#include "report_head.inc"
	;

static const char page_tail[] =
#include "report_tail.inc"
	;

static int html__init(struct report *report)
{
	struct html *h = (struct html *)report;

	h->texts = intern__new();
	h->frames = intern__new();
	h->stacks = intern__new();
	h->threads = intern__new();
	h->signatures = intern__new();
	return h->texts && h->frames && h->stacks && h->threads && h->signatures ? 0 : -ENOMEM;
}

static int lines__init(struct report *report)
{
	((struct html *)report)->bare = true;
	return html__init(report);
}

static void free_table(struct intern *table)
{
	if (table)
		intern__free(table);
}

static void html__free(struct report *report)
{
	struct html *h = (struct html *)report;

	free_table(h->texts);
	free_table(h->frames);
	free_table(h->stacks);
	free_table(h->threads);
	free_table(h->signatures);
	free(h->faults);
	strbuf__free(&h->line);
	strbuf__free(&h->key);
	strbuf__free(&h->name);
}

/* Before the first record; the states are numbers in the data. */
static int begin(struct html *h)
{
	struct strbuf *line = &h->line;
	struct jsonw w;

	if (h->begun)
		return 0;
	h->begun = true;
	if (!h->bare)
		strbuf__adds(&h->report.out->bytes, page_head);
	strbuf__reset(line);
	jsonw__init(&w, line);
	jsonw__array(&w);
	jsonw__str(&w, "jankbpf-report");
	jsonw__u64(&w, 1);
	jsonw__str(&w, JANK_VERSION);
	jsonw__array(&w);
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		jsonw__str(&w, value__state_word(state));
	jsonw__array_end(&w);
	jsonw__array_end(&w);
	return html__line(h, line);
}

/* --- how much of a block is shown */

static struct html_fault *get_fault(struct html *h, const Jankbpf__Block *block)
{
	const char *signature = block->cause ? block->cause->signature : NULL;
	uint32_t nr, cap = h->fault_cap ? h->fault_cap * 2 : 256;
	struct html_fault *longer;
	bool is_new;

	signature = signature ?: "";
	nr = intern__get(h->signatures, signature, strlen(signature), &is_new);
	if (nr <= h->fault_cap)
		return nr ? &h->faults[nr - 1] : NULL;
	longer = reallocarray(h->faults, cap, sizeof(*longer));
	if (!longer)
		return NULL;
	memset(longer + h->fault_cap, 0, (cap - h->fault_cap) * sizeof(*longer));
	h->faults = longer;
	h->fault_cap = cap;
	return &h->faults[nr - 1];
}

static bool is_full(struct html *h, const Jankbpf__Block *block)
{
	struct html_fault *fault = get_fault(h, block);
	bool longest = fault && value__delay(block) > fault->max_ns;

	if (longest)
		fault->max_ns = value__delay(block);
	return longest || (fault && fault->full_cnt++ < FULL_CNT);
}

/* --- records */

/*
 * The record without what has its own form in the page. Borrows from block: the identity is in
 * html__thread, and html__add_block has the verdict, times, samples and chain. Of the preemptors,
 * the longest.
 */
static void rest_of(Jankbpf__Block *ret, Jankbpf__Host *host, const Jankbpf__Block *block,
		    bool full)
{
	*ret = *block;
	jankbpf__host__init(host);
	if (block->host) {
		host->has_mem_free_kb = block->host->has_mem_free_kb;
		host->mem_free_kb = block->host->mem_free_kb;
		host->has_mem_available_kb = block->host->has_mem_available_kb;
		host->mem_available_kb = block->host->mem_available_kb;
		ret->host = host;
	}
	ret->id = ret->start = ret->process = ret->thread = ret->exe = ret->cgroup = NULL;
	ret->container = ret->pod = ret->unit = ret->loop = ret->role = NULL;
	ret->has_pid = ret->has_tid = ret->has_ns_pid = ret->has_uid = ret->has_names_uid = false;
	ret->has_threshold_ns = ret->has_start_ns = ret->has_duration_ns = ret->has_cpu_ns = false;
	ret->has_start_delay_ns = ret->has_delay_ns = ret->has_behind = false;
	ret->has_chain_sample = false;
	ret->time = NULL;
	ret->cause = NULL;
	ret->n_samples = ret->n_chain = 0;
	if (ret->n_preemptors > html__preemptors(full))
		ret->n_preemptors = html__preemptors(full);
}

static int write_block(struct html *h, const Jankbpf__Record *record, const Jankbpf__Block *block)
{
	bool is_hang = record->type_case == JANKBPF__RECORD__TYPE_HANG;
	Jankbpf__Record short_record = JANKBPF__RECORD__INIT;
	Jankbpf__Block rest;
	bool full = is_full(h, block);
	Jankbpf__Host host;
	struct jsonw w;
	int res;

	rest_of(&rest, &host, block, full);
	short_record.type_case = record->type_case;
	short_record.block = &rest;
	strbuf__reset(&h->line);
	strbuf__adds(&h->line, "[\"b\",");
	jsonw__init(&w, &h->line);
	res = html__add_block(h, &w, block, is_hang, full);
	strbuf__addc(&h->line, ']');
	h->block_cnt++;
	if (!res)
		res = html__line(h, &h->line);
	strbuf__reset(&h->line);
	strbuf__adds(&h->line, "[\"x\",");
	json__add_record(&h->line, &short_record);
	strbuf__addc(&h->line, ']');
	return res ?: html__line(h, &h->line);
}

/* Its faults are in the blocks. */
static int write_summary(struct html *h, const Jankbpf__Record *record)
{
	Jankbpf__Record short_record = *record;
	Jankbpf__Summary summary = *record->summary;

	summary.n_faults = 0;
	short_record.summary = &summary;
	strbuf__reset(&h->line);
	strbuf__adds(&h->line, "[\"r\",");
	json__add_record(&h->line, &short_record);
	strbuf__addc(&h->line, ']');
	return html__line(h, &h->line);
}

static int html__record(struct report *report, const Jankbpf__Record *record)
{
	struct html *h = (struct html *)report;
	const Jankbpf__Block *block = report__block(record);
	int res = begin(h);

	if (!res && block)
		res = write_block(h, record, block);
	else if (!res && record->type_case == JANKBPF__RECORD__TYPE_SUMMARY)
		res = write_summary(h, record);
	if (h->line.failed || h->key.failed || h->name.failed)
		return -ENOMEM;
	return res;
}

static int html__finish(struct report *report)
{
	struct html *h = (struct html *)report;
	int res = begin(h);

	strbuf__reset(&h->line);
	strbuf__addf(&h->line, "[\"end\",%" PRIu64 ",%" PRIu64 "]", h->block_cnt, report->cut_cnt);
	if (!res)
		res = html__line(h, &h->line);
	if (!h->bare)
		strbuf__adds(&report->out->bytes, page_tail);
	return res ?: report_out__added(report->out);
}

const struct report_ops report_html = {
	.name = "html",
	.is_binary = true,
	.size = sizeof(struct html),
	.init = html__init,
	.record = html__record,
	.finish = html__finish,
	.free = html__free,
};

const struct report_ops report_lines = {
	.name = "lines",
	.size = sizeof(struct html),
	.init = lines__init,
	.record = html__record,
	.finish = html__finish,
	.free = html__free,
};
