/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of BlockCanary's log: a time, an empty line, frames and an empty line for each sample.
 * The reader expects `symbol(place)` for a frame: one pair of parentheses, and a letter first where
 * the frame may become the title. Angle brackets and ampersands vanish in its lists.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/blockcanary/blockcanary.h"
#include "export/values.h"

#define CRLF	   "\r\n"
#define STACKS_MAX 100 /* limit of the reader; the last ones count */
#define SYMBOL_MAX 400
#define PLACE_MAX  200

void blockcanary__add_time(struct strbuf *sb, const Jankbpf__Block *block, uint64_t mono_ns)
{
	clock__add_local(sb, "%m-%d %H:%M:%S.%L", value__real_ns(block, mono_ns));
}

/*
 * Adds clean text without characters that the reader interprets; "unknown" where nothing is left.
 */
static void add_plain(struct strbuf *sb, const char *text, unsigned max)
{
	struct strbuf clean = STRBUF_INIT;
	size_t begin = sb->len;

	cells__add(&clean, text, max);
	for (const char *p = strbuf__str(&clean); *p; p++)
		if (!strchr("()<>&", *p) && !(*p == ' ' && sb->len == begin))
			strbuf__addc(sb, *p);
	while (sb->len > begin && sb->data[sb->len - 1] == ' ')
		sb->data[--sb->len] = '\0';
	if (sb->len == begin)
		strbuf__adds(sb, "unknown");
	sb->failed |= clean.failed;
	strbuf__free(&clean);
}

/*
 * The reader's title comes from the first frame that begins with a letter: no frame above the
 * title's does. Its default white list deletes a log with a frame that begins with "org.chromium".
 */
static void add_symbol(struct strbuf *sb, const Jankbpf__Frame *frame, bool above_title)
{
	struct strbuf name = STRBUF_INIT, plain = STRBUF_INIT;

	if (frame->function)
		function__add_short(&name, frame->function, "", true);
	add_plain(&plain, strbuf__str(&name), SYMBOL_MAX);
	if (above_title)
		strbuf__adds(sb, frame->kernel ? "[k]." : "[l].");
	else if (frame->kernel)
		strbuf__adds(sb, "k.");
	else if (!strncmp(strbuf__str(&plain), "org.chromium", strlen("org.chromium")))
		strbuf__adds(sb, "x.");
	strbuf__adds(sb, strbuf__str(&plain));
	sb->failed |= name.failed || plain.failed;
	strbuf__free(&name);
	strbuf__free(&plain);
}

static void add_place(struct strbuf *sb, const Jankbpf__Frame *frame)
{
	if (frame->file && frame->line) {
		add_plain(sb, module__base(frame->file), PLACE_MAX);
		strbuf__addf(sb, ":%" PRIu32, frame->line);
	} else if (frame->module) {
		add_plain(sb, module__base(frame->module), PLACE_MAX);
		if (!frame->kernel || !frame->function)
			strbuf__addf(sb, "+0x%" PRIx64, frame->offset);
	} else if (frame->kernel && frame->function) {
		strbuf__adds(sb, "kernel");
	} else if (frame->function) {
		strbuf__addf(sb, "+0x%" PRIx64, frame->offset);
	} else {
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
	}
}

static void add_frame(struct strbuf *sb, const Jankbpf__Frame *frame, bool above_title)
{
	add_symbol(sb, frame, above_title);
	strbuf__addc(sb, '(');
	add_place(sb, frame);
	strbuf__adds(sb, ")" CRLF);
}

/* The reader ignores a stack without a frame, and then has no title. */
static void add_no_frame(struct strbuf *sb, const char *name, const char *state, uint64_t ns)
{
	strbuf__addf(sb, "%s(%s ", name, state);
	clock__add_duration(sb, ns);
	strbuf__adds(sb, ")" CRLF);
}

/* The program's own first frame; else the first that is not the kernel's; else the first. */
static size_t title_of(const Jankbpf__Sample *sample)
{
	size_t user = sample->n_stack;

	for (size_t i = 0; i < sample->n_stack; i++) {
		if (sample->stack[i]->app)
			return i;
		if (!sample->stack[i]->kernel && user == sample->n_stack)
			user = i;
	}
	return user < sample->n_stack ? user : 0;
}

static void add_sample(struct strbuf *sb, const Jankbpf__Block *block,
		       const Jankbpf__Sample *sample)
{
	size_t title = title_of(sample);

	blockcanary__add_time(sb, block, sample->t_ns);
	strbuf__adds(sb, CRLF CRLF);
	for (size_t i = 0; i < sample->n_stack; i++)
		add_frame(sb, sample->stack[i], i < title);
	if (!sample->n_stack)
		add_no_frame(sb, "no_frames", value__name(sample->state), sample->ns);
	strbuf__adds(sb, CRLF);
}

/* A block without a sample is still a record; BlockCanary itself would lose it. */
static void add_no_sample(struct strbuf *sb, const Jankbpf__Block *block)
{
	uint64_t most_ns = 0;
	uint32_t most = 0;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		if (value__in_state(block->time, i) > most_ns) {
			most = i;
			most_ns = value__in_state(block->time, i);
		}
	blockcanary__add_time(sb, block, block->start_ns);
	strbuf__adds(sb, CRLF CRLF);
	add_no_frame(sb, "no_samples", value__state_word(most), most_ns);
	strbuf__adds(sb, CRLF);
}

void blockcanary__add_stacks(struct strbuf *sb, const Jankbpf__Block *block)
{
	size_t cnt = block->n_samples, first = cnt > STACKS_MAX ? cnt - STACKS_MAX : 0;

	strbuf__adds(sb, "stack = ");
	if (!cnt)
		add_no_sample(sb, block);
	for (size_t i = first; i < cnt; i++)
		add_sample(sb, block, block->samples[i]);
}
