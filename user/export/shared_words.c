/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that several sinks share. */
#include "export/shared_words.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/values.h"

const char *module__base(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (!module)
		return "";
	return slash && slash[1] ? slash + 1 : module;
}

/* --- messages: handler, event, callback, source */

#define FD_CLOSED "already closed" /* a value of fd_target, MESSAGE_FD_CLOSED of the model */

void symbol__add_short(struct strbuf *sb, const Jankbpf__Symbol *symbol, bool call)
{
	if (symbol->symbol && *symbol->symbol) {
		function__add_short(sb, symbol->symbol, "<…>", false);
		strbuf__adds(sb, call ? "()" : "");
	} else if (symbol->module) {
		strbuf__addf(sb, "%s+0x%" PRIx64, module__base(symbol->module), symbol->offset);
	}
}

void symbol__add(struct strbuf *sb, const Jankbpf__Symbol *symbol)
{
	if (symbol->symbol)
		strbuf__adds(sb, symbol->symbol);
	else
		strbuf__addf(sb, "+0x%" PRIx64, symbol->offset);
}

/* A bare number needs a prefix: Android's own traces write "#12". */
static void add_number_or_name(struct strbuf *sb, const char *what)
{
	const char *digits = what + (*what == '-');

	if (*digits && !digits[strspn(digits, "0123456789")])
		strbuf__addc(sb, '#');
	strbuf__adds(sb, what);
}

static void add_fd(struct strbuf *sb, const Jankbpf__Message *message)
{
	const char *target = message->fd_target;

	if (target && strcmp(target, FD_CLOSED))
		strbuf__adds(sb, target);
	else if (target)
		strbuf__addf(sb, "fd %" PRId32 " (%s)", message->fd, target);
	else
		strbuf__addf(sb, "fd %" PRId32, message->fd);
}

static void add_separator(struct strbuf *sb, size_t begin)
{
	if (sb->len > begin)
		strbuf__adds(sb, ", ");
}

/* A callback that is no function is a value that the catalogue's row has formatted. */
static void add_names(struct strbuf *sb, const Jankbpf__Message *message, size_t begin)
{
	const Jankbpf__Symbol *callback = message->callback;

	if (callback) {
		add_separator(sb, begin);
		symbol__add_short(sb, callback, callback->symbol && callback->module);
	}
	if (message->source) {
		strbuf__adds(sb, sb->len > begin ? " of " : "source ");
		symbol__add_short(sb, message->source, false);
	}
}

/* With several ready descriptors, do not present the first as the only cause. */
static void add_ready(struct strbuf *sb, const Jankbpf__Message *message, size_t begin)
{
	if (message->ready > 1) {
		add_separator(sb, begin);
		strbuf__addf(sb, "%" PRIu32 " ready", message->ready);
	}
	if (!message->has_fd && !message->fd_target)
		return;
	add_separator(sb, begin);
	strbuf__adds(sb, message->ready > 1 ? "first " : "");
	add_fd(sb, message);
}

void message__add_phrase(struct strbuf *sb, const Jankbpf__Message *message)
{
	size_t begin = sb->len;

	if (!message)
		return;
	if (message->what && *message->what)
		add_number_or_name(sb, message->what);
	if (message->handler) {
		strbuf__adds(sb, sb->len > begin ? " to " : "to ");
		symbol__add_short(sb, message->handler, false);
	}
	add_names(sb, message, begin);
	add_ready(sb, message, begin);
}

/* --- waits */

static void add_owner(struct strbuf *sb, const Jankbpf__Owner *owner)
{
	strbuf__addf(sb, "%sheld by %s (its tid %" PRIu32 ")", sb->len ? ", " : "",
		     owner->comm ? owner->comm : "a thread", owner->tid);
}

/* Adds the object, and the process at its other end. */
static void add_object(struct strbuf *sb, const Jankbpf__WaitedFor *waited)
{
	const char *object = waited->path ? waited->path : waited->peer;
	const Jankbpf__Task *there = waited->peer_task;

	if (!object)
		object = waited->target;
	if (object)
		strbuf__addf(sb, "for %s", object);
	if (waited->path && waited->device)
		strbuf__addf(sb, " on %s", waited->device);
	if (there)
		strbuf__addf(sb, object ? " (%s, pid %" PRIu32 ")" : "for %s, pid %" PRIu32,
			     value__name(there->comm), there->pid);
}

static bool is_sleep(const char *syscall)
{
	return syscall && strstr(syscall, "nanosleep");
}

void wait__add_phrase(struct strbuf *sb, const Jankbpf__WaitedFor *waited, uint32_t said,
		      const char *syscall, bool all)
{
	if (!waited)
		return;
	add_object(sb, waited);
	if (waited->futex_owner && waited->futex_owner->tid != said)
		add_owner(sb, waited->futex_owner);
	if (all && waited->has_fd)
		strbuf__addf(sb, "%sfd %" PRId32, sb->len ? ", " : "", waited->fd);
	if (waited->has_timeout_ns) {
		strbuf__adds(sb, sb->len ? ", " : "");
		clock__add_duration(sb, waited->timeout_ns);
		strbuf__adds(sb, is_sleep(syscall) ? " asked for" : " at most");
	}
	if (all && waited->has_bytes)
		strbuf__addf(sb, "%s%" PRIu64 " bytes", sb->len ? ", " : "", waited->bytes);
}
