/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The handled message. The catalogue row of a mark defines the meaning of its values. With a mark,
 * the descriptors that the wait returned are left out: any of them may belong to another message.
 */
#include "enrich/block_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/proto.h"
#include "base/text.h"
#include "procfs/descriptor.h"

struct naming {
	const struct message_names *names;
	struct block *block;
	const struct jank_rec_message *raw;
	Jankbpf__Message *message;
	const struct catalogue_field *field;
	unsigned index;
	uint64_t value;
};

/* strdup that keeps NULL */
static int copy(char **ret, const char *str)
{
	free(*ret);
	return text__copy(ret, str);
}

/* offset: counts only without a name. Nothing if neither name nor module is known. */
static int set_symbol(Jankbpf__Symbol **ret, const char *name, const char *module, uint64_t offset)
{
	if (!name && !module)
		return 0;
	if (!*ret)
		*ret = proto__new(&jankbpf__symbol__descriptor);
	if (!*ret)
		return -ENOMEM;
	(*ret)->has_offset = !name;
	(*ret)->offset = name ? 0 : offset;
	return copy(&(*ret)->symbol, name) ?: copy(&(*ret)->module, module);
}

/* A pointer into the middle of a function is not a callback: leave it unnamed. */
static int name_function(const struct naming *n, Jankbpf__Symbol **ret)
{
	struct frame frame;
	int res = symbolizer__function(n->names->symbolizer, n->block->pid, n->value, &frame);

	if (res || !frame.module || (frame.function && frame.offset))
		return res;
	return set_symbol(ret, frame.function, frame.module, frame.offset);
}

static int name_class(const struct naming *n, Jankbpf__Symbol **ret)
{
	struct frame frame;
	int res = symbolizer__class(n->names->symbolizer, n->block->pid, n->value, &frame);

	return res || !frame.function ? res : set_symbol(ret, frame.function, frame.module, 0);
}

static int name_number(const struct naming *n, Jankbpf__Symbol **ret)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld",
		 (long long)catalogue_field__number(n->field, n->value));
	return set_symbol(ret, text, NULL, 0);
}

static int name_enum(const struct naming *n, Jankbpf__Symbol **ret)
{
	const char *name = catalogue_field__enum_name(n->field, n->value);

	return name ? set_symbol(ret, name, NULL, 0) : name_number(n, ret);
}

static int name_text(const struct naming *n, Jankbpf__Symbol **ret)
{
	char text[CATALOGUE_TEXT_SZ];

	catalogue_field__text(n->field, n->raw->text, text);
	return set_symbol(ret, *text ? text : NULL, NULL, 0);
}

static int name_value(const struct naming *n, Jankbpf__Symbol **ret)
{
	static int (*const by_view[])(const struct naming *n, Jankbpf__Symbol **ret) = {
		[VIEW_NUMBER] = name_number, [VIEW_ENUM] = name_enum, [VIEW_SYMBOL] = name_function,
		[VIEW_CLASS] = name_class,   [VIEW_TEXT] = name_text, [VIEW_CLOCK] = name_number,
	};

	if (!n->value && (n->field->view == VIEW_SYMBOL || n->field->view == VIEW_CLASS))
		return 0;
	return by_view[n->field->view](n, ret);
}

static int set_what(const struct naming *n)
{
	Jankbpf__Symbol *name = NULL;
	int res = name_value(n, &name);

	if (!res)
		res = copy(&n->message->what, name ? name->symbol : NULL);
	jankbpf__symbol__free_unpacked(name, NULL);
	return res;
}

static int set_handler(const struct naming *n)
{
	return name_value(n, &n->message->handler);
}

static int set_callback(const struct naming *n)
{
	return name_value(n, &n->message->callback);
}

static int set_source(const struct naming *n)
{
	return name_value(n, &n->message->source);
}

/*
 * Describes the descriptor; *ret stays NULL if that is not possible. Returns 0, -ENOMEM or the
 * reason as -errno.
 */
static int find_target(const struct block *block, int32_t fd, uint64_t inode, char **ret)
{
	struct strbuf sb = STRBUF_INIT;
	int res = inode == JANK_INODE_NONE ? -ESTALE
					   : fdtarget__add(&sb, block->pid, block->tid, fd, inode);

	if (!res && sb.len)
		res = copy(ret, strbuf__str(&sb));
	strbuf__free(&sb);
	return res;
}

static int set_fd(const struct naming *n)
{
	int64_t fd = catalogue_field__number(n->field, n->value);
	uint64_t inode = n->raw->value_inode[n->index];
	int res;

	if (fd < 0 || fd > INT32_MAX)
		return 0;
	n->message->has_fd = true;
	n->message->fd = (int32_t)fd;
	res = find_target(n->block, (int32_t)fd, inode, &n->message->fd_target);
	if (res == -EBADF || res == -ESTALE)
		res = copy(&n->message->fd_target, MESSAGE_FD_CLOSED);
	return res == -ENOMEM ? res : 0;
}

static void set_due(const struct block *block, Jankbpf__Message *message, uint64_t due_ns)
{
	if (due_ns > block->start_ns)
		return;
	message->has_queued_ns = true;
	message->queued_ns = block->start_ns - due_ns;
}

static int set_queued(const struct naming *n)
{
	uint64_t unit_ns = n->field->unit_ns ? n->field->unit_ns : 1, due_ns;
	int64_t due = catalogue_field__number(n->field, n->value);

	if (due > 0 && !__builtin_mul_overflow((uint64_t)due, unit_ns, &due_ns))
		set_due(n->block, n->message, due_ns);
	return 0;
}

static int set_nothing(const struct naming *n)
{
	(void)n;
	return 0;
}

static int fill_by_mark(struct naming *n)
{
	static int (*const by_role[])(const struct naming *n) = {
		[ROLE_WHAT] = set_what,
		[ROLE_HANDLER] = set_handler,
		[ROLE_CALLBACK] = set_callback,
		[ROLE_SOURCE] = set_source,
		[ROLE_FD] = set_fd,
		[ROLE_QUEUED] = set_queued,
		[ROLE_CHECK] = set_nothing,
	};
	const struct jank_rec_message *raw = n->raw;
	const struct catalogue *cat = n->names->catalogue;
	const struct catalogue_mark *mark;
	uint64_t values[JANK_MARK_FIELD_MAX];
	int res = 0;

	if (!cat || raw->mark > catalogue__mark_cnt(cat))
		return 0;
	mark = catalogue__mark(cat, raw->mark - 1);
	for (unsigned i = 0; i < JANK_MARK_FIELD_MAX; i++)
		values[i] = raw->value[i];
	if (!catalogue_mark__holds(mark, raw->got, values))
		return 0;
	for (unsigned i = 0; i < mark->spec.field_cnt && i < JANK_MARK_FIELD_MAX && !res; i++) {
		if (!(raw->got & 1u << i))
			continue;
		n->field = &mark->fields[i];
		n->index = i;
		n->value = values[i];
		res = by_role[n->field->role](n);
	}
	return res;
}

/*
 * Returns the inode of the descriptor during the dispatch; if data is not a descriptor, its inode
 * now.
 */
static uint64_t inode_of(const struct jank_rec_message *raw, unsigned i,
			 const struct epoll_item *item)
{
	bool same = (uint32_t)raw->ready_data[i] == (uint32_t)item->fd;

	return same && raw->ready_inode[i] ? raw->ready_inode[i] : item->inode;
}

static char *words_of(uint32_t events)
{
	struct strbuf sb = STRBUF_INIT;

	message__add_events(&sb, events);
	if (events && !sb.failed)
		return sb.data;
	strbuf__free(&sb);
	return NULL;
}

/*
 * Leaves out a descriptor that was closed or reused since the dispatch: its file is gone, and *ret
 * NULL. 0 or -ENOMEM.
 */
static int read_ready(const struct block *block, unsigned i, const struct epoll_item *item,
		      Jankbpf__ReadyFd **ret)
{
	const struct jank_rec_message *raw = block->message;
	char *target = NULL;
	int res;

	*ret = NULL;
	if (item->fd < 0)
		return 0;
	res = find_target(block, item->fd, inode_of(raw, i, item), &target);
	if (res == -ENOMEM || res == -EBADF || res == -ESTALE)
		return res == -ENOMEM ? res : 0;
	*ret = proto__new(&jankbpf__ready_fd__descriptor);
	if (!*ret) {
		free(target);
		return -ENOMEM;
	}
	(*ret)->has_fd = true;
	(*ret)->fd = item->fd;
	(*ret)->fd_target = target;
	(*ret)->events = words_of(raw->ready_events[i]);
	return 0;
}

/* The first one is the message's own. Takes it over. */
static void set_first(Jankbpf__Message *message, Jankbpf__ReadyFd *first)
{
	if (!first)
		return;
	message->has_fd = true;
	message->fd = first->fd;
	message->fd_target = first->fd_target;
	message->events = first->events;
	free(first);
}

static int fill_by_epoll(const struct block *block, Jankbpf__Message *message)
{
	const struct jank_rec_message *raw = block->message;
	struct epoll_item items[JANK_READY_MAX];
	Jankbpf__ReadyFd *fd = NULL;
	int res;

	message->has_ready = block->ready_cnt > 0;
	message->ready = block->ready_cnt > 0 ? block->ready_cnt : 0;
	if (block->fd < 0 || !raw->ready_got)
		return 0;
	for (unsigned i = 0; i < raw->ready_got; i++)
		items[i].data = raw->ready_data[i];
	res = epollinfo__find(block->pid, block->tid, block->fd, items, raw->ready_got);
	message->has_too_many_fds = message->too_many_fds = res == -E2BIG;
	message->also_ready = calloc(JANK_READY_MAX, sizeof(Jankbpf__ReadyFd *));
	if (!message->also_ready)
		return -ENOMEM;
	res = res ? 0 : read_ready(block, 0, &items[0], &fd);
	if (!res)
		set_first(message, fd);
	for (unsigned i = 1; i < raw->ready_got && !res; i++) {
		res = read_ready(block, i, &items[i], &fd);
		if (fd)
			message->also_ready[message->n_also_ready++] = fd;
	}
	return res;
}

int message_names__fill(void *names, struct block *block)
{
	struct naming n = { .names = names, .block = block, .raw = block->message };

	if (!n.raw)
		return 0;
	if (!block->live->message)
		block->live->message = proto__new(&jankbpf__message__descriptor);
	n.message = block->live->message;
	if (!n.message)
		return -ENOMEM;
	if (n.raw->mark)
		return fill_by_mark(&n);
	if (n.raw->got & JANK_GOT_DUE)
		set_due(block, n.message, n.raw->value[0]);
	return fill_by_epoll(block, n.message);
}
