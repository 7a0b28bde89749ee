/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of the HTML report: texts, frames, stacks and threads, each defined once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/report/html.h"

#define STACK_MAX 1024 /* frames; a longer stack is cut */

int html__line(struct html *h, const struct strbuf *line)
{
	struct strbuf *out = &h->report.out->bytes;
	const char *at = line->data, *end = at + line->len;

	if (line->failed)
		return -ENOMEM;
	while (at < end) {
		const char *less = memchr(at, '<', (size_t)(end - at)) ?: end;

		strbuf__add(out, at, (size_t)(less - at));
		if (less < end)
			strbuf__adds(out, "\\u003c");
		at = less + (less < end);
	}
	strbuf__addc(out, '\n');
	return report_out__added(h->report.out);
}

/* The number of h->key; *ret_new: its line is to be written. */
static uint32_t get(struct html *h, struct intern *table, const struct strbuf *key, bool *ret_new)
{
	uint32_t nr = intern__get(table, key->data, key->len, ret_new);

	h->report.cut_cnt += !nr;
	return nr;
}

static void define(struct html *h, const char *kind, const char *value)
{
	struct strbuf line = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &line);
	jsonw__array(&w);
	jsonw__str(&w, kind);
	if (value)
		jsonw__str(&w, value);
	jsonw__array_end(&w);
	html__line(h, &line);
	strbuf__free(&line);
}

uint32_t html__text(struct html *h, const char *text)
{
	bool is_new;
	uint32_t nr;

	if (!text)
		return 0;
	strbuf__reset(&h->key);
	strbuf__adds(&h->key, text);
	nr = get(h, h->texts, &h->key, &is_new);
	if (is_new)
		define(h, "s", text);
	return nr;
}

static uint64_t place(const Jankbpf__Frame *frame)
{
	if (frame->function && *frame->function)
		return 0;
	return frame->module ? frame->offset : frame->address;
}

uint32_t html__frame(struct html *h, const Jankbpf__Frame *frame)
{
	uint32_t fields[] = {
		html__text(h, frame->function),
		html__text(h, frame->module),
		html__text(h, frame->file),
		frame->line,
		(frame->kernel ? HTML_KERNEL : 0u) | (frame->inlined ? HTML_INLINED : 0u) |
			(frame->app ? HTML_APP : 0u),
	};
	uint64_t offset = place(frame);
	struct strbuf line = STRBUF_INIT;
	bool is_new;
	uint32_t nr;

	strbuf__reset(&h->key);
	strbuf__add(&h->key, fields, sizeof(fields));
	strbuf__add(&h->key, &offset, sizeof(offset));
	nr = get(h, h->frames, &h->key, &is_new);
	if (is_new) {
		strbuf__addf(&line,
			     "[\"f\",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
			     fields[0], fields[1], fields[2], fields[3], fields[4]);
		if (offset)
			strbuf__addf(&line, ",\"0x%" PRIx64 "\"", offset);
		strbuf__addc(&line, ']');
		html__line(h, &line);
	}
	strbuf__free(&line);
	return nr;
}

uint32_t html__stack(struct html *h, Jankbpf__Frame *const *frames, size_t cnt)
{
	uint32_t stack[STACK_MAX];
	struct strbuf line = STRBUF_INIT;
	bool is_new;
	uint32_t nr;

	if (!cnt)
		return 0;
	h->report.cut_cnt += cnt > STACK_MAX;
	cnt = cnt > STACK_MAX ? STACK_MAX : cnt;
	for (size_t i = 0; i < cnt; i++)
		stack[i] = html__frame(h, frames[i]);
	strbuf__reset(&h->key);
	strbuf__add(&h->key, stack, cnt * sizeof(*stack));
	nr = get(h, h->stacks, &h->key, &is_new);
	if (is_new) {
		strbuf__adds(&line, "[\"k\",[");
		for (size_t i = 0; i < cnt; i++)
			strbuf__addf(&line, "%s%" PRIu32, i ? "," : "", stack[i]);
		strbuf__adds(&line, "]]");
		html__line(h, &line);
	}
	strbuf__free(&line);
	return nr;
}

/* The parts of a block that are the same for all blocks of its thread. Borrows from block. */
static void of_thread(Jankbpf__Block *ret, Jankbpf__Host *host, const Jankbpf__Block *block)
{
	if (block->host) {
		*host = *block->host;
		host->has_mem_free_kb = host->has_mem_available_kb = false;
		ret->host = host;
	}
	ret->has_pid = block->has_pid;
	ret->pid = block->pid;
	ret->has_tid = block->has_tid;
	ret->tid = block->tid;
	ret->has_ns_pid = block->has_ns_pid;
	ret->ns_pid = block->ns_pid;
	ret->has_uid = block->has_uid;
	ret->uid = block->uid;
	ret->has_names_uid = block->has_names_uid;
	ret->names_uid = block->names_uid;
	ret->has_threshold_ns = block->has_threshold_ns;
	ret->threshold_ns = block->threshold_ns;
	ret->process = block->process;
	ret->thread = block->thread;
	ret->exe = block->exe;
	ret->cgroup = block->cgroup;
	ret->container = block->container;
	ret->pod = block->pod;
	ret->unit = block->unit;
	ret->loop = block->loop;
	ret->role = block->role;
}

uint32_t html__thread(struct html *h, const Jankbpf__Block *block)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Block thread = JANKBPF__BLOCK__INIT;
	Jankbpf__Host host;
	struct strbuf line = STRBUF_INIT;
	bool is_new;
	uint32_t nr;

	of_thread(&thread, &host, block);
	record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	record.block = &thread;
	strbuf__reset(&h->key);
	json__add_record(&h->key, &record);
	nr = get(h, h->threads, &h->key, &is_new);
	if (is_new) {
		strbuf__adds(&line, "[\"o\",");
		strbuf__add(&line, h->key.data, h->key.len);
		strbuf__addc(&line, ']');
		html__line(h, &line);
	}
	strbuf__free(&line);
	return nr;
}
