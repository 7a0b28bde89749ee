/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrapper of libbpf's ring buffer. */
#include "intake/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
