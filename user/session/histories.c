/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window is copied a moment after its end: by then every CPU's entries until the end can be read.
 * If that is late, because the thread was busy, the begin may have been overwritten: a gap.
 */
#include "session/histories.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "export/values.h"
#include "model/history.h"

#define DUE_NS	   (10 * NS_PER_MS)
#define BLOCKS_MAX (8u << 20) /* bytes of the blocks of all windows; further ones are not drawn */

struct packed_block {
	uint8_t *bytes;
	size_t len;
};

/* A window that waits for its end. */
struct pending {
	struct pending *next;
	struct history_window window;
	struct packed_block *blocks;
	size_t cnt;
	uint64_t left_out_cnt;
};

struct histories {
	uint64_t before_ns, start_ns;
	const struct history_buffers *buffers; /* NULL: the probes do not record */
	struct losses *losses;
	struct pending *pending;
	size_t bytes;
	struct summary_histories counts;
};

struct histories *histories__new(uint64_t before_ns, struct losses *losses)
{
	struct histories *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->before_ns = before_ns;
	h->losses = losses;
	h->counts.known = true;
	return h;
}

static void free_pending(struct histories *h, struct pending *pending)
{
	for (size_t i = 0; i < pending->cnt; i++) {
		h->bytes -= pending->blocks[i].len;
		free(pending->blocks[i].bytes);
	}
	free(pending->blocks);
	free(pending);
}

void histories__free(struct histories *h)
{
	if (!h)
		return;
	while (h->pending) {
		struct pending *first = h->pending;

		h->pending = first->next;
		free_pending(h, first);
	}
	free(h);
}

void histories__begin(struct histories *h, const struct history_buffers *buffers, uint64_t start_ns)
{
	h->buffers = buffers;
	h->start_ns = start_ns;
}

/* --- windows */

static struct pending *new_pending(struct histories *h, const struct history_window *window)
{
	struct pending *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->window = *window;
	ret->next = h->pending;
	h->pending = ret;
	return ret;
}

static struct pending *find(struct histories *h, const struct history_window *window)
{
	for (struct pending *each = h->pending; each; each = each->next)
		if (history_window__join(&each->window, window))
			return each;
	return new_pending(h, window);
}

static int add_block(struct histories *h, struct pending *pending, const Jankbpf__Block *block)
{
	size_t len = jankbpf__block__get_packed_size(block);
	struct packed_block *blocks;
	uint8_t *bytes;

	if (len > BLOCKS_MAX - h->bytes) {
		pending->left_out_cnt++;
		return 0;
	}
	blocks = reallocarray(pending->blocks, pending->cnt + 1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	pending->blocks = blocks;
	bytes = malloc(len ?: 1);
	if (!bytes)
		return -ENOMEM;
	jankbpf__block__pack(block, bytes);
	blocks[pending->cnt++] = (struct packed_block){ bytes, len };
	h->bytes += len;
	return 0;
}

void histories__add(struct histories *h, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block = record->block; /* or its hang: the same member */
	struct history_window window;
	struct pending *pending;

	if (!h || !h->buffers)
		return;
	window = history_window__of(value__due(block), block->start_ns + block->duration_ns,
				    h->before_ns, h->start_ns);
	pending = find(h, &window);
	if (!pending || add_block(h, pending, block))
		losses__add(h->losses, LOSS_NO_MEMORY, 1);
}

uint64_t histories__due_ns(const struct histories *h)
{
	uint64_t ret = 0;

	if (!h)
		return 0;
	for (const struct pending *each = h->pending; each; each = each->next)
		if (!ret || each->window.end_ns + DUE_NS < ret)
			ret = each->window.end_ns + DUE_NS;
	return ret;
}

/* --- copies */

static int64_t boot_offset(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)(timespec__ns(boot) - clock__mono_ns());
}

/* 0 or -ENOMEM; history__free in both cases. */
static int copy(const struct histories *h, const struct history_window *window, struct history *ret)
{
	const struct history_buffers *buffers = h->buffers;

	*ret = (struct history){ .window = *window, .boot_offset_ns = boot_offset() };
	ret->cpus = calloc(buffers->size.cpu_cnt, sizeof(*ret->cpus));
	if (!ret->cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < buffers->size.cpu_cnt; i++) {
		struct history_cpu *cpu = &ret->cpus[ret->cpu_cnt];
		int res;

		if (!history_buffers__has(buffers, i))
			continue;
		ret->cpu_cnt++;
		cpu->cpu = i;
		res = history_buffers__copy(buffers, i, window->begin_ns, window->end_ns,
					    &cpu->entries, &cpu->cnt);
		if (!res)
			res = history_cpu__find_gaps(cpu, window);
		if (res)
			return res;
	}
	return 0;
}

static void count(struct histories *h, const struct history *history, uint64_t left_out_cnt)
{
	uint64_t gap_cnt = 0;

	for (size_t i = 0; i < history->cpu_cnt; i++)
		gap_cnt += history->cpus[i].gap_cnt;
	h->counts.cnt++;
	h->counts.gap_cnt += gap_cnt;
	h->counts.incomplete_cnt += gap_cnt > 0;
	h->counts.left_out_cnt += left_out_cnt;
}

static void free_blocks(Jankbpf__Block **blocks, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		jankbpf__block__free_unpacked(blocks[i], NULL);
	free(blocks);
}

/* NULL: out of memory. */
static Jankbpf__Block **unpack(const struct pending *pending)
{
	Jankbpf__Block **ret = calloc(pending->cnt + 1, sizeof(*ret));

	for (size_t i = 0; ret && i < pending->cnt; i++) {
		ret[i] = jankbpf__block__unpack(NULL, pending->blocks[i].len,
						pending->blocks[i].bytes);
		if (!ret[i]) {
			free_blocks(ret, i);
			return NULL;
		}
	}
	return ret;
}

static int write_pending(struct histories *h, history_write_fn *write, struct output *out,
			 const struct pending *pending)
{
	Jankbpf__Block **blocks = unpack(pending);
	struct history history = {};
	int res = 0;

	if (blocks && !copy(h, &pending->window, &history)) {
		count(h, &history, pending->left_out_cnt);
		res = write(out, &history,
			    &(struct output_blocks){ blocks, pending->cnt, pending->left_out_cnt });
	} else {
		losses__add(h->losses, LOSS_NO_MEMORY, 1);
	}
	history__free(&history);
	if (blocks)
		free_blocks(blocks, pending->cnt);
	return res;
}

int histories__write(struct histories *h, history_write_fn *write, struct output *out,
		     uint64_t now_ns)
{
	struct pending **link = h ? &h->pending : NULL, *pending;
	int res = 0;

	while (link && (pending = *link)) {
		if (pending->window.end_ns + DUE_NS > now_ns) {
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		res = write_pending(h, write, out, pending) ?: res;
		free_pending(h, pending);
	}
	return res;
}

int histories__finish(struct histories *h, history_write_fn *write, struct output *out,
		      uint64_t stop_ns, struct summary_histories *ret)
{
	int res;

	if (!h)
		return 0;
	for (struct pending *each = h->pending; each; each = each->next) {
		if (each->window.end_ns > stop_ns)
			each->window.end_ns = stop_ns;
		if (each->window.begin_ns > stop_ns)
			each->window.begin_ns = stop_ns;
	}
	res = histories__write(h, write, out, UINT64_MAX);
	*ret = h->counts;
	return res;
}
