/* SPDX-License-Identifier: GPL-2.0 */
/* libbpf's ring buffer behind two calls. */
#include "intake/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	struct ring_buffer *rb;
	void (*fn)(void *ctx, const void *data, size_t len);
	void *ctx;
};

static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *ring = ctx;

	ring->fn(ring->ctx, data, len);
	return 0;
}

int ring__new(int map_fd, void (*fn)(void *ctx, const void *data, size_t len), void *ctx,
	      struct ring **ret, struct err *err)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return err__set(err, ENOMEM, "out of memory");
	ring->fn = fn;
	ring->ctx = ctx;
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

int ring__consume(struct ring *ring)
{
	int res = ring_buffer__consume(ring->rb);

	return res < 0 ? res : 0;
}
