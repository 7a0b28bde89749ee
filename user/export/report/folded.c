/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flamegraph.pl and speedscope read them: a line for each distinct stack, its
 * frames outermost first and separated by semicolons, then its wall time in µs. The first frames
 * are process and thread, the last one is the state: [running], [runnable], [futex], …
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/report/report.h"
#include "export/values.h"

struct folded {
	struct report report;
	struct intern *lines; /* without their times */
	uint64_t *ns;	      /* of the line number n: ns[n - 1] */
	uint32_t ns_cap;
	struct strbuf line;
	struct strbuf name;
};

static int folded__init(struct report *report)
{
	struct folded *f = (struct folded *)report;

	f->lines = intern__new();
	return f->lines ? 0 : -ENOMEM;
}

static void folded__free(struct report *report)
{
	struct folded *f = (struct folded *)report;

	intern__free(f->lines);
	free(f->ns);
	strbuf__free(&f->line);
	strbuf__free(&f->name);
}

/* Adds a frame of any bytes: a semicolon would split it. */
static void add_frame(struct strbuf *sb, const char *name)
{
	size_t begin = sb->len;

	text__add_clean(sb, name && *name ? name : "?");
	for (size_t i = begin; i < sb->len; i++)
		if (sb->data[i] == ';')
			sb->data[i] = ':';
}

/* The suffixes are those of the tools that fold other profiles: [k] kernel, [i] inlined. */
static void add_stack(struct folded *f, const struct weight *weight)
{
	for (size_t i = weight->sample->n_stack; i-- > weight->first;) {
		const Jankbpf__Frame *frame = weight->sample->stack[i];

		strbuf__reset(&f->name);
		frame__add_place(&f->name, frame, false);
		strbuf__addc(&f->line, ';');
		add_frame(&f->line, strbuf__str(&f->name));
		strbuf__adds(&f->line, frame->kernel ? "_[k]" : frame->inlined ? "_[i]" : "");
	}
}

static void make_line(struct folded *f, const Jankbpf__Block *block, const struct weight *weight)
{
	const char *missing = label__missing(weight);

	strbuf__reset(&f->line);
	add_frame(&f->line, block->process);
	strbuf__addc(&f->line, ';');
	add_frame(&f->line, block->thread);
	if (*missing)
		strbuf__addf(&f->line, ";%s", missing);
	else
		add_stack(f, weight);
	strbuf__addf(&f->line, ";[%s]", value__state_word(weight->state));
}

static int write_lines(struct folded *f)
{
	struct report_out *out = f->report.out;
	int res = 0;

	for (uint32_t nr = 1; !res && nr <= intern__cnt(f->lines); nr++) {
		uint64_t us = f->ns[nr - 1] / NS_PER_US + (f->ns[nr - 1] % NS_PER_US >= 500);
		size_t len;
		const void *line = intern__key(f->lines, nr, &len);

		if (!us)
			continue;
		strbuf__add(&out->bytes, line, len);
		strbuf__addf(&out->bytes, " %" PRIu64 "\n", us);
		res = report_out__added(out);
	}
	intern__reset(f->lines);
	return res;
}

static bool grow(struct folded *f)
{
	uint32_t cap = f->ns_cap ? f->ns_cap * 2 : 1024;
	uint64_t *ns = reallocarray(f->ns, cap, sizeof(*ns));

	if (!ns)
		return false;
	f->ns = ns;
	f->ns_cap = cap;
	return true;
}

/* Lines may repeat, so a full table is written and begun again. */
static int add_weight(struct folded *f, const struct weight *weight)
{
	bool is_new;
	uint32_t nr = intern__get(f->lines, f->line.data, f->line.len, &is_new);

	if (!nr) {
		int res = write_lines(f);

		if (res)
			return res;
		nr = intern__get(f->lines, f->line.data, f->line.len, &is_new);
	}
	if (!nr) { /* longer than a whole table */
		f->report.cut_cnt++;
		return 0;
	}
	if (nr > f->ns_cap && !grow(f))
		return -ENOMEM;
	if (is_new)
		f->ns[nr - 1] = 0;
	if (__builtin_add_overflow(f->ns[nr - 1], weight->ns, &f->ns[nr - 1]))
		f->ns[nr - 1] = UINT64_MAX;
	return 0;
}

static int folded__record(struct report *report, const Jankbpf__Record *record)
{
	struct folded *f = (struct folded *)report;
	const Jankbpf__Block *block = report__block(record);
	struct weight *weights;
	size_t cnt;
	int res;

	if (!block)
		return 0;
	res = weights__of(block, &weights, &cnt);
	if (res)
		return res;
	for (size_t i = 0; !res && i < cnt; i++) {
		make_line(f, block, &weights[i]);
		res = f->line.failed || f->name.failed ? -ENOMEM : add_weight(f, &weights[i]);
	}
	free(weights);
	return res;
}

static int folded__finish(struct report *report)
{
	return write_lines((struct folded *)report);
}

const struct report_ops report_folded = {
	.name = "folded",
	.size = sizeof(struct folded),
	.init = folded__init,
	.record = folded__record,
	.finish = folded__finish,
	.free = folded__free,
};
