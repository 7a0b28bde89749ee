/* SPDX-License-Identifier: GPL-2.0 */
/* A block's message in one plain structure: to make one, and to look at one. */
#ifndef JANK_MESSAGE_FIXTURE_H
#define JANK_MESSAGE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "base/text.h"
#include "model/block.h"

struct message_name {
	const char *symbol, *module;
	uint64_t offset;
};

struct message_fd {
	int32_t fd; /* -1: none */
	uint32_t events;
	const char *target;
	const char *words; /* of the events: in a message that was looked at */
};

/* NULL, 0 and fd -1: not known. Texts are borrowed. */
struct message {
	const char *what;
	struct message_name handler, callback, source;
	struct message_fd fd, also[JANK_READY_MAX];
	unsigned also_cnt;
	uint32_t ready_cnt;
	bool was_queued, too_many_fds;
	uint64_t queued_ns;
};

static inline Jankbpf__Symbol *message_fixture__symbol(const struct message_name *name)
{
	Jankbpf__Symbol *ret = NULL;

	if (!name->symbol && !name->module)
		return NULL;
	ret = proto__new(&jankbpf__symbol__descriptor);
	text__copy(&ret->symbol, name->symbol);
	text__copy(&ret->module, name->module);
	ret->has_offset = !name->symbol;
	ret->offset = name->offset;
	return ret;
}

static inline char *message_fixture__words(uint32_t events)
{
	struct strbuf sb = STRBUF_INIT;

	message__add_events(&sb, events);
	return sb.data;
}

static inline Jankbpf__ReadyFd *message_fixture__ready(const struct message_fd *fd)
{
	Jankbpf__ReadyFd *ret = proto__new(&jankbpf__ready_fd__descriptor);

	ret->has_fd = true;
	ret->fd = fd->fd;
	text__copy(&ret->fd_target, fd->target);
	ret->events = message_fixture__words(fd->events);
	return ret;
}

/* Replaces the block's message. */
static inline void message_fixture__set(struct block *block, const struct jank_rec_message *raw,
					const struct message *m)
{
	Jankbpf__Message *ret = proto__new(&jankbpf__message__descriptor);

	jankbpf__message__free_unpacked(block->live->message, NULL);
	free(block->message);
	block->message = message__new(raw);
	block->live->message = ret;
	text__copy(&ret->what, m->what);
	ret->handler = message_fixture__symbol(&m->handler);
	ret->callback = message_fixture__symbol(&m->callback);
	ret->source = message_fixture__symbol(&m->source);
	ret->has_fd = m->fd.fd >= 0;
	ret->fd = m->fd.fd;
	text__copy(&ret->fd_target, m->fd.target);
	ret->events = message_fixture__words(m->fd.events);
	ret->also_ready = calloc(JANK_READY_MAX, sizeof(Jankbpf__ReadyFd *));
	for (unsigned i = 0; i < m->also_cnt; i++)
		ret->also_ready[ret->n_also_ready++] = message_fixture__ready(&m->also[i]);
	ret->has_ready = !!m->ready_cnt;
	ret->ready = m->ready_cnt;
	ret->has_queued_ns = m->was_queued;
	ret->queued_ns = m->queued_ns;
	ret->has_too_many_fds = ret->too_many_fds = m->too_many_fds;
}

static inline struct message_name message_fixture__name(const Jankbpf__Symbol *from)
{
	return from ? (struct message_name){ from->symbol, from->module, from->offset }
		    : (struct message_name){};
}

/* Of a block without a message: nothing. */
static inline struct message message_fixture__of(const struct block *block)
{
	static const Jankbpf__Message none = JANKBPF__MESSAGE__INIT;
	const Jankbpf__Message *m = block->live->message ?: &none;
	struct message ret = {
		.what = m->what,
		.handler = message_fixture__name(m->handler),
		.callback = message_fixture__name(m->callback),
		.source = message_fixture__name(m->source),
		.fd = { m->has_fd ? m->fd : -1, 0, m->fd_target, m->events },
		.ready_cnt = m->ready,
		.was_queued = m->has_queued_ns,
		.queued_ns = m->queued_ns,
		.too_many_fds = m->too_many_fds,
	};

	for (; ret.also_cnt < m->n_also_ready && ret.also_cnt < JANK_READY_MAX; ret.also_cnt++) {
		const Jankbpf__ReadyFd *fd = m->also_ready[ret.also_cnt];

		ret.also[ret.also_cnt] =
			(struct message_fd){ fd->fd, 0, fd->fd_target, fd->events };
	}
	return ret;
}

static inline bool message_fixture__is_known(const struct message *m)
{
	return m->what || m->handler.symbol || m->handler.module || m->callback.symbol ||
	       m->callback.module || m->source.symbol || m->source.module || m->fd.fd >= 0 ||
	       m->fd.target || m->ready_cnt || m->was_queued;
}

#endif
