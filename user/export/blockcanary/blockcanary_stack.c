/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of BlockCanary's log: a time, an empty line, frames and an empty line for each sample.
 * The reader expects `symbol(place)` for a frame: one pair of parentheses, and a letter first where
 * the frame may become the title. Angle brackets and ampersands vanish in its lists.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/blockcanary/blockcanary.h"
#include "export/cells.h"
#include "export/shared_words.h"

#define CRLF	   "\r\n"
#define STACKS_MAX 100 /* limit of the reader; the last ones count */
#define SYMBOL_MAX 400
#define PLACE_MAX  200

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

/* The reader's default white list deletes a log with a frame that begins with "org.chromium". */
static void add_symbol(struct strbuf *sb, const struct frame *frame)
{
	struct strbuf name = STRBUF_INIT, plain = STRBUF_INIT;

	if (frame->function)
		function__add_short(&name, frame->function, "", true);
	add_plain(&plain, strbuf__str(&name), SYMBOL_MAX);
	if (frame->kernel)
		strbuf__adds(sb, "k.");
	else if (!strncmp(strbuf__str(&plain), "org.chromium", strlen("org.chromium")))
		strbuf__adds(sb, "x.");
	strbuf__adds(sb, strbuf__str(&plain));
	sb->failed |= name.failed || plain.failed;
	strbuf__free(&name);
	strbuf__free(&plain);
}

static void add_place(struct strbuf *sb, const struct frame *frame)
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
	} else {
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
	}
}

static void add_frame(struct strbuf *sb, const struct frame *frame)
{
	add_symbol(sb, frame);
	strbuf__addc(sb, '(');
	add_place(sb, frame);
	strbuf__adds(sb, ")" CRLF);
}

/* The reader ignores a stack without a frame, and then has no title. */
static void add_no_frame(struct strbuf *sb, const char *what, const char *state, uint64_t ns)
{
	strbuf__addf(sb, "%s(%s ", what, state);
	clock__add_duration(sb, ns);
	strbuf__adds(sb, ")" CRLF);
}

static void add_sample(struct strbuf *sb, const struct block *block, const struct sample *sample)
{
	size_t cnt = stack__frame_cnt(&sample->stack);

	blockcanary__add_time(sb, block, sample->t_ns);
	strbuf__adds(sb, CRLF CRLF);
	for (size_t i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(&sample->stack, i);

		add_frame(sb, &frame);
	}
	if (!cnt)
		add_no_frame(sb, "no_frames", state__name(sample->state), sample->ns);
	strbuf__adds(sb, CRLF);
}

/* A block without a sample is still a record; BlockCanary itself would lose it. */
static void add_no_sample(struct strbuf *sb, const struct block *block)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < JANK_STATE_CNT; i++)
		if (block->state_ns[i] > block->state_ns[most])
			most = i;
	blockcanary__add_time(sb, block, block->start_ns);
	strbuf__adds(sb, CRLF CRLF);
	add_no_frame(sb, "no_samples", state__name(most), block->state_ns[most]);
	strbuf__adds(sb, CRLF);
}

void blockcanary__add_stacks(struct strbuf *sb, const struct block *block)
{
	size_t cnt = block->sample_cnt, first = cnt > STACKS_MAX ? cnt - STACKS_MAX : 0;

	strbuf__adds(sb, "stack = ");
	if (!cnt)
		add_no_sample(sb, block);
	for (size_t i = first; i < cnt; i++)
		add_sample(sb, block, &block->samples[i]);
}

/*
 * --- what was handled. BlockCanary's format has no key for it, although its monitor parses this
 * line of Looper's: ">>>>> Dispatching to HANDLER CALLBACK: WHAT". The line is written where the
 * loop's messages have handlers; the parts follow with our own keys.
 */

#define DISPATCHING ">>>>> Dispatching to "

static void add_name(struct strbuf *sb, const struct message_name *name, const char *absent)
{
	if (message_name__is_known(name))
		message_name__add(sb, name, false);
	else
		strbuf__adds(sb, absent);
}

/* Android writes "null" for a missing part. */
static void add_line(struct strbuf *line, const struct message *message)
{
	if (!message_name__is_known(&message->handler)) {
		message__add_phrase(line, message);
		return;
	}
	strbuf__adds(line, DISPATCHING);
	add_name(line, &message->handler, "");
	strbuf__addc(line, ' ');
	add_name(line, &message->callback, "null");
	if (message->what)
		strbuf__addf(line, ": %s", message->what);
}

static void add_name_key(struct strbuf *sb, const char *key, const struct message_name *name)
{
	struct strbuf text = STRBUF_INIT;

	if (!message_name__is_known(name))
		return;
	if (name->symbol)
		strbuf__adds(&text, name->symbol);
	else
		strbuf__addf(&text, "+0x%" PRIx64, name->offset);
	if (name->module)
		strbuf__addf(&text, " (%s)", name->module);
	blockcanary__add_str(sb, key, strbuf__str(&text));
	strbuf__free(&text);
}

static void add_fds(struct strbuf *sb, const struct message *message)
{
	if (message->fd.fd >= 0)
		blockcanary__add_u64(sb, "x-message-fd", message->fd.fd);
	if (message->fd.target)
		blockcanary__add_str(sb, "x-message-fd-target", message->fd.target);
	if (message->ready_cnt)
		blockcanary__add_u64(sb, "x-message-ready", message->ready_cnt);
}

void blockcanary__add_message(struct strbuf *sb, const struct message *message)
{
	struct strbuf line = STRBUF_INIT;

	if (!message__is_known(message))
		return;
	add_line(&line, message);
	if (line.len)
		blockcanary__add_str(sb, "x-message", strbuf__str(&line));
	sb->failed |= line.failed;
	strbuf__free(&line);
	if (message->what)
		blockcanary__add_str(sb, "x-message-what", message->what);
	add_name_key(sb, "x-message-handler", &message->handler);
	add_name_key(sb, "x-message-callback", &message->callback);
	add_name_key(sb, "x-message-source", &message->source);
	add_fds(sb, message);
	if (message->was_queued)
		blockcanary__add_u64(sb, "x-message-queued-ns", message->queued_ns);
}
