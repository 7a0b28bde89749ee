/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markdown for people: a table of the faults, the worst first, then the stacks of the worst block
 * of the first ones. It reads well on a terminal and in an issue. Memory: the faults, and the text
 * of one block of each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "base/text.h"
#include "export/report/md.h"
#include "export/values.h"

#define SHOWN_FAULTS 5	/* with stacks */
#define FRAMES_MAX   24 /* of a stack */

/* The stacks of a fault's longest block so far. */
struct worst {
	struct group_node node; /* by its signature */
	uint64_t delay_ns;
	struct strbuf stacks;
};

struct md {
	struct report report;
	struct faults *faults;
	struct groups worst;
	uint64_t block_cnt, hang_cnt, total_ns, lost_cnt;
	struct strbuf name, clean;
};

static void clear_worst(void *worst)
{
	strbuf__free(&((struct worst *)worst)->stacks);
}

static int md__init(struct report *report)
{
	struct md *md = (struct md *)report;

	groups__init(&md->worst, sizeof(struct worst), FAULTS_MAX, clear_worst);
	md->faults = faults__new(FAULT_GROUP_SIGNATURE);
	return md->faults ? 0 : -ENOMEM;
}

static void md__free(struct report *report)
{
	struct md *md = (struct md *)report;

	groups__free(&md->worst);
	faults__free(md->faults);
	strbuf__free(&md->name);
	strbuf__free(&md->clean);
}

static const char *frame_name(struct md *md, const Jankbpf__Frame *frame)
{
	strbuf__reset(&md->name);
	if (frame)
		frame__add_place(&md->name, frame, false);
	return strbuf__str(&md->name);
}

/* --- stacks, when a block is the longest of its fault so far */

/* One line of a fenced block. Four spaces, so that no name ends the fence. */
static void add_frame(struct md *md, struct strbuf *sb, const Jankbpf__Frame *frame)
{
	strbuf__adds(sb, frame->app ? "  → " : "    ");
	cells__add(sb, frame_name(md, frame), 100);
	if (frame->file) {
		strbuf__adds(sb, "  ");
		cells__add(sb, text__base_name(frame->file), MD_NAME_COLUMNS);
		strbuf__addf(sb, ":%" PRIu32, frame->line);
	} else if (frame->module && frame->function) {
		strbuf__adds(sb, "  ");
		cells__add(sb, module__base(frame->module), MD_NAME_COLUMNS);
	}
	strbuf__addc(sb, '\n');
}

static void add_stack(struct md *md, struct strbuf *sb, const struct merged *of)
{
	const Jankbpf__Sample *sample = of->sample;
	size_t cnt = sample ? sample->n_stack : 0;

	clock__add_duration(sb, of->ns);
	strbuf__addf(sb, " %s", value__state_word(of->state));
	if (sample && sample->syscall) {
		strbuf__adds(sb, " in ");
		cells__add(sb, sample->syscall, MD_NAME_COLUMNS);
	}
	strbuf__adds(sb, cnt ? "\n" : ", no stack\n");
	for (size_t i = 0; i < cnt && i < FRAMES_MAX; i++)
		add_frame(md, sb, sample->stack[i]);
	if (cnt > FRAMES_MAX)
		strbuf__addf(sb, "    … %zu callers more\n", cnt - FRAMES_MAX);
}

static int set_stacks(struct md *md, struct strbuf *sb, const Jankbpf__Block *block)
{
	struct merged *list;
	size_t cnt;
	int res = merged__of(block, &list, &cnt);

	if (res)
		return res;
	strbuf__reset(sb);
	for (size_t i = 0; i < cnt && i < md->report.list.stacks; i++) {
		if (i)
			strbuf__addc(sb, '\n');
		add_stack(md, sb, &list[i]);
	}
	free(list);
	return sb->failed ? -ENOMEM : 0;
}

static int keep_worst(struct md *md, const Jankbpf__Block *block)
{
	struct worst *worst = groups__get_text(&md->worst, value__signature(block));
	uint64_t delay = value__delay(block);

	if (!worst)
		return groups__is_full(&md->worst) ? 0 : -ENOMEM;
	if (worst->delay_ns && worst->delay_ns >= delay)
		return 0;
	worst->delay_ns = delay;
	return set_stacks(md, &worst->stacks, block);
}

/* --- records */

static void count_lost(struct md *md, const Jankbpf__Lost *lost)
{
	struct loss_count loss;
	unsigned pos = 0;

	while (value__next_loss(lost, &pos, &loss))
		if (__builtin_add_overflow(md->lost_cnt, loss.cnt, &md->lost_cnt))
			md->lost_cnt = UINT64_MAX;
}

static int md__record(struct report *report, const Jankbpf__Record *record)
{
	struct md *md = (struct md *)report;
	const Jankbpf__Block *block = report__block(record);
	Jankbpf__Block numbered;
	int res;

	if (record->type_case == JANKBPF__RECORD__TYPE_SUMMARY)
		count_lost(md, record->summary->lost);
	if (!block)
		return 0;
	if (record->type_case == JANKBPF__RECORD__TYPE_HANG) {
		md->hang_cnt++;
		res = faults__add_hang(md->faults, block);
	} else {
		numbered = *block;
		md->block_cnt++;
		if (__builtin_add_overflow(md->total_ns, value__delay(block), &md->total_ns))
			md->total_ns = UINT64_MAX;
		res = faults__add(md->faults, &numbered);
	}
	return res ?: keep_worst(md, block);
}

/* --- the report */

static void add_cell(struct strbuf *sb, uint64_t v, bool is_time, unsigned width)
{
	size_t begin;

	strbuf__adds(sb, " | ");
	begin = sb->len;
	if (is_time)
		clock__add_duration(sb, v);
	else
		md__add_grouped(sb, v);
	md__pad(sb, begin, width, true);
}

static void add_name_cell(struct md *md, struct strbuf *sb, const char *name, unsigned width)
{
	size_t begin;

	strbuf__adds(sb, " | ");
	begin = sb->len;
	md__add_code(sb, &md->clean, name);
	md__pad(sb, begin, width, false);
}

static void add_row(struct md *md, struct strbuf *sb, size_t nr, const Jankbpf__Fault *fault)
{
	strbuf__addf(sb, "| %2zu", nr);
	add_cell(sb, fault->blocks, false, 6);
	add_cell(sb, fault->total_ns, true, 8);
	if (fault->has_p50_ns)
		add_cell(sb, fault->p50_ns, true, 8);
	else
		strbuf__adds(sb, " |        –");
	add_cell(sb, fault->max_ns, true, 8);
	add_cell(sb, fault->behind, false, 6);
	add_name_cell(md, sb, fault->signature, 18);
	add_name_cell(md, sb, frame_name(md, fault->frame), 20);
	add_name_cell(md, sb, fault->process, 12);
	strbuf__adds(sb, " | ");
	if (fault->hangs)
		strbuf__addf(sb, "(%" PRIu64 " not ended) ", fault->hangs);
	md__add_text(sb, &md->clean, fault->summary ?: "The cause is not known.");
	strbuf__adds(sb, " |\n");
}

static void add_totals(struct md *md, struct strbuf *sb, size_t fault_cnt)
{
	uint64_t more = faults__more(md->faults);

	strbuf__adds(sb, "# jankbpf report\n\n");
	md__add_count(sb, md->block_cnt, "block");
	strbuf__adds(sb, " of ");
	md__add_count(sb, fault_cnt, "fault");
	strbuf__adds(sb, ", ");
	clock__add_duration(sb, md->total_ns);
	strbuf__adds(sb, " of delay");
	if (md->hang_cnt) {
		strbuf__adds(sb, ", ");
		md__add_count(sb, md->hang_cnt, "hang");
		strbuf__adds(sb, " that had not ended");
	}
	if (md->lost_cnt) {
		strbuf__adds(sb, "; the runs lost ");
		md__add_count(sb, md->lost_cnt, "part");
		strbuf__adds(sb, " of records (`--format html` says which)");
	}
	strbuf__adds(sb, ".\n");
	if (more) {
		md__add_count(sb, more, "block");
		strbuf__addf(sb, " belong to faults beyond the first %u, which are not shown.\n",
			     FAULTS_MAX);
	}
}

static int add_table(struct md *md, Jankbpf__Fault **faults, size_t cnt)
{
	struct strbuf *sb = &md->report.out->bytes;
	size_t shown = md->report.list.top && md->report.list.top < cnt ? md->report.list.top : cnt;
	int res = 0;

	strbuf__adds(
		sb,
		"\n|  # | blocks |    total |      p50 |      max | behind | signature          "
		"| function             | process      | worst block |\n"
		"|---:|-------:|---------:|---------:|---------:|-------:|:-------------------"
		"|:---------------------|:-------------|:------------|\n");
	for (size_t i = 0; !res && i < shown; i++) {
		add_row(md, sb, i + 1, faults[i]);
		res = report_out__added(md->report.out);
	}
	if (shown < cnt)
		strbuf__addf(sb, "\n%zu faults more: `--top 0` shows all.\n", cnt - shown);
	return res;
}

static void add_fault(struct md *md, struct strbuf *sb, size_t nr, const Jankbpf__Fault *fault)
{
	const struct worst *worst;

	strbuf__addf(sb, "\n## %zu. ", nr);
	md__add_text(sb, &md->clean, fault->summary ?: "The cause is not known.");
	strbuf__adds(sb, "\n\n");
	md__add_count(sb, fault->blocks, "block");
	strbuf__adds(sb, ", the worst ");
	clock__add_duration(sb, fault->max_ns);
	if (fault->id) {
		strbuf__adds(sb, ": ");
		md__add_code(sb, &md->clean, fault->id);
	}
	strbuf__adds(sb, "\n");
	worst = groups__find_text(&md->worst, fault->signature ?: "");
	if (!worst || !worst->stacks.len)
		return;
	strbuf__adds(sb, "\n```\n");
	strbuf__add(sb, worst->stacks.data, worst->stacks.len);
	strbuf__adds(sb, "```\n");
}

static int md__finish(struct report *report)
{
	struct md *md = (struct md *)report;
	struct strbuf *sb = &report->out->bytes;
	Jankbpf__Fault **faults;
	size_t cnt;
	int res = faults__list(md->faults, report->list.order, &faults, &cnt);

	if (res)
		return res;
	add_totals(md, sb, cnt);
	if (cnt)
		res = add_table(md, faults, cnt);
	for (size_t i = 0; !res && i < cnt && i < SHOWN_FAULTS; i++) {
		add_fault(md, sb, i + 1, faults[i]);
		res = report_out__added(report->out);
	}
	free(faults);
	return md->name.failed || md->clean.failed ? -ENOMEM : res;
}

const struct report_ops report_md = {
	.name = "md",
	.size = sizeof(struct md),
	.init = md__init,
	.record = md__record,
	.finish = md__finish,
	.free = md__free,
};
