/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "intake/records.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- the ring: a wrapper of libbpf's */

#define ROUND_BYTES (1u << 20)	/* about 5 ms; signals and timers are handled between two rounds */
#define DRAIN_BYTES (64u << 20) /* used if the kernel does not report the ring's size */

struct ring {
	struct ring_buffer *rb;
	void (*fn)(void *ctx, const void *data, size_t len);
	void *ctx;
	size_t size;	   /* of the ring */
	size_t bytes, max; /* of the records consumed in this call, and its limit */
};

/* A negative value ends libbpf's loop; this record counts as consumed. */
static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *ring = ctx;

	ring->fn(ring->ctx, data, len);
	ring->bytes += len;
	return ring->bytes < ring->max ? 0 : -ECANCELED;
}

/* Size in bytes. 0: unknown. */
static size_t size_of(int map_fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(map_fd, &info, &len) ? 0 : info.max_entries;
}

int ring__new(int map_fd, void (*fn)(void *ctx, const void *data, size_t len), void *ctx,
	      struct ring **ret, struct err *err)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return err__set(err, ENOMEM, "out of memory");
	ring->fn = fn;
	ring->ctx = ctx;
	ring->size = size_of(map_fd);
	ring->rb = ring_buffer__new(map_fd, on_record, ring, NULL);
	if (!ring->rb) {
		int code = errno;

		free(ring);
		return err__set(err, code, "cannot map the ring buffer: %s", strerror(code));
	}
	*ret = ring;
	return 0;
}

void ring__free(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->rb);
	free(ring);
}

int ring__fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->rb);
}

static int consume(struct ring *ring, size_t max)
{
	int res;

	ring->bytes = 0;
	ring->max = max;
	res = ring_buffer__consume(ring->rb);
	return res < 0 && res != -ECANCELED ? res : 0;
}

int ring__consume(struct ring *ring)
{
	return consume(ring, ROUND_BYTES);
}

int ring__drain(struct ring *ring)
{
	return consume(ring, ring->size ? ring->size : DRAIN_BYTES);
}

/*
 * Decoder with one row per kind, generated from the ABI's list. It terminates names from the
 * kernel.
 */

/*
 * Checks that a span ends within the range of time. Before its dispatch begins, a thread can only
 * wait for a CPU. A record of a waker has no waker itself.
 */
static int check_stack(const struct jank_rec_stack *rec)
{
	bool other = rec->hdr.kind == JANK_REC_OTHER;
	uint64_t end;

	if (rec->state >= JANK_STATE_CNT || __builtin_add_overflow(rec->t_ns, rec->ns, &end))
		return -EBADMSG;
	if (rec->hdr.flags & JANK_STACK_WAKES &&
	    (!other || rec->ns || rec->hdr.flags & JANK_STACK_WAKER))
		return -EBADMSG;
	if (rec->hdr.flags & JANK_STACK_START && (other || rec->state != JANK_STATE_RUNNABLE))
		return -EBADMSG;
	return 0;
}

static int decode_stack(const void *data, size_t len, struct event *ret)
{
	struct stack_event *stack = &ret->stack;
	const struct jank_rec_stack *rec = &stack->rec;
	const char *tail = (const char *)data + sizeof(*rec);
	size_t addresses_sz, slices_sz, prios_sz = 0;

	if (len < sizeof(*rec))
		return -EBADMSG;
	memcpy(&stack->rec, data, sizeof(*rec));
	addresses_sz = ((size_t)rec->kernel_cnt + rec->user_cnt) * sizeof(uint64_t);
	slices_sz = (size_t)rec->slice_cnt * sizeof(struct jank_task);
	if (rec->hdr.flags & JANK_STACK_PRIOS)
		prios_sz = (rec->slice_cnt * sizeof(uint16_t) + 7) & ~(size_t)7;
	if (rec->kernel_cnt > JANK_KSTACK_MAX || rec->user_cnt > JANK_USTACK_MAX ||
	    rec->slice_cnt > JANK_SLICE_MAX ||
	    sizeof(*rec) + addresses_sz + slices_sz + prios_sz != len)
		return -EBADMSG;
	if (check_stack(rec))
		return -EBADMSG;
	stack->addresses = (const uint64_t *)(const void *)tail;
	stack->slices = (const struct jank_task *)(const void *)(tail + addresses_sz);
	stack->prios =
		prios_sz ? (const uint16_t *)(const void *)(tail + addresses_sz + slices_sz) : NULL;
	return 0;
}

/* The states must add up to the duration; a sum that overflows is rejected. */
static int check_block(const struct jank_rec_block *rec)
{
	uint64_t sum = 0, end;

	for (int i = 0; i < JANK_STATE_CNT; i++)
		if (__builtin_add_overflow(sum, rec->state_ns[i], &sum))
			return -EBADMSG;
	if (__builtin_add_overflow(rec->start_ns, rec->duration_ns, &end))
		return -EBADMSG;
	if (rec->start_delay_ns != JANK_START_DELAY_UNKNOWN && rec->start_delay_ns > rec->start_ns)
		return -EBADMSG;
	return sum == rec->duration_ns && rec->state < JANK_STATE_CNT ? 0 : -EBADMSG;
}

/* Two record kinds have grown: members missing in an old, shorter record become zero. */
#define GROWN(NAME, member, old_sz, older_sz)                                                      \
	static int decode_##NAME(const void *data, size_t len, struct event *ret)                  \
	{                                                                                          \
		if (len != (old_sz) && len != (older_sz) && len != sizeof(ret->member))            \
			return -EBADMSG;                                                           \
		memset(&ret->member, 0, sizeof(ret->member));                                      \
		memcpy(&ret->member, data, len);                                                   \
		ret->member.comm[JANK_COMM_SZ - 1] = '\0';                                         \
		return 0;                                                                          \
	}
GROWN(block_fixed, block, JANK_BLOCK_SZ_OLD, JANK_BLOCK_SZ_OLD)
GROWN(thread, thread, JANK_THREAD_SZ_STARTS, JANK_THREAD_SZ_OLD)

#define FIXED(NAME, member)                                                                        \
	static int decode_##NAME(const void *data, size_t len, struct event *ret)                  \
	{                                                                                          \
		if (len != sizeof(ret->member))                                                    \
			return -EBADMSG;                                                           \
		memcpy(&ret->member, data, sizeof(ret->member));                                   \
		ret->member.comm[JANK_COMM_SZ - 1] = '\0';                                         \
		return 0;                                                                          \
	}
FIXED(loop, loop)
FIXED(exec, exec)
FIXED(started_fixed, started)
FIXED(wait, wait)
FIXED(message_fixed, message)
FIXED(waited_fixed, waited)
FIXED(facts, facts)

static int decode_waited(const void *data, size_t len, struct event *ret)
{
	int res = decode_waited_fixed(data, len, ret);

	ret->waited.name[JANK_WAITED_NAME_SZ - 1] = '\0';
	return res;
}

static int decode_started(const void *data, size_t len, struct event *ret)
{
	int res = decode_started_fixed(data, len, ret);

	return !res && ret->started.end_ns < ret->started.begin_ns ? -EBADMSG : res;
}

static int decode_block(const void *data, size_t len, struct event *ret)
{
	int res = decode_block_fixed(data, len, ret);

	if (!res && len == JANK_BLOCK_SZ_OLD)
		ret->block.start_delay_ns = JANK_START_DELAY_UNKNOWN;
	return res ? res : check_block(&ret->block);
}

static int decode_message(const void *data, size_t len, struct event *ret)
{
	int res = decode_message_fixed(data, len, ret);

	if (!res && ret->message.ready_got > JANK_READY_MAX)
		return -EBADMSG;
	ret->message.text[JANK_MESSAGE_TEXT_SZ - 1] = '\0';
	return res;
}

static int decode_copy(const void *data, size_t len, struct event *ret)
{
	struct copy_event *copy = &ret->copy;

	if (len < sizeof(copy->rec))
		return -EBADMSG;
	memcpy(&copy->rec, data, sizeof(copy->rec));
	if (copy->rec.copy_sz > JANK_COPY_MAX || sizeof(copy->rec) + copy->rec.copy_sz != len)
		return -EBADMSG;
	copy->bytes = (const uint8_t *)data + sizeof(copy->rec);
	return 0;
}

static int decode_marks(const void *data, size_t len, struct event *ret)
{
	if (len != sizeof(ret->marks))
		return -EBADMSG;
	memcpy(&ret->marks, data, sizeof(ret->marks));
	return 0;
}

static int decode_script(const void *data, size_t len, struct event *ret)
{
	struct script_event *script = &ret->script;
	const char *tail = (const char *)data + sizeof(script->rec);

	if (len < sizeof(script->rec))
		return -EBADMSG;
	memcpy(&script->rec, data, sizeof(script->rec));
	if (script->rec.frame_cnt > JANK_SCRIPT_MAX ||
	    sizeof(script->rec) + script->rec.frame_cnt * sizeof(*script->frames) != len)
		return -EBADMSG;
	script->frames = (const struct jank_script_frame *)(const void *)tail;
	return 0;
}

static const struct row {
	const char *name;
	int (*decode)(const void *data, size_t len, struct event *ret);
} rows[] = {
#define decode_LOOP		 decode_loop
#define decode_BLOCK		 decode_block
#define decode_HANG		 decode_block
#define decode_STACK		 decode_stack
#define decode_THREAD		 decode_thread
#define decode_EXEC		 decode_exec
#define decode_WAIT		 decode_wait
#define decode_MESSAGE		 decode_message
#define decode_WAITED		 decode_waited
#define decode_FACTS		 decode_facts
#define decode_OTHER		 decode_stack
#define decode_COPY		 decode_copy
#define decode_SCRIPT		 decode_script
#define decode_MARKS		 decode_marks
#define decode_STARTED		 decode_started
#define ROW(nr, NAME, type, key) [nr] = { key, decode_##NAME },
	JANK_RECORDS(ROW)
};

static const struct row *row_of(uint16_t kind)
{
	if (kind >= sizeof(rows) / sizeof(rows[0]) || !rows[kind].decode)
		return NULL;
	return &rows[kind];
}

int decode__record(const void *data, size_t len, struct event *ret)
{
	struct jank_rec hdr;
	const struct row *row;

	if (len < sizeof(hdr))
		return -EBADMSG;
	memcpy(&hdr, data, sizeof(hdr));
	if (hdr.size > len || hdr.size < sizeof(hdr))
		return -EBADMSG;
	row = row_of(hdr.kind);
	if (!row)
		return -ENOTSUP;
	ret->kind = hdr.kind;
	ret->hdr = hdr;
	return row->decode(data, hdr.size, ret);
}

const char *record__name(uint16_t kind)
{
	const struct row *row = row_of(kind);

	return row ? row->name : "unknown";
}
