/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that several exports share. A stack may come without the symbolizer's frames (out of
 * memory, a replay without the files): then its raw addresses are the frames.
 */
#include "export/shared_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/text.h"
#include "bpf/jank_abi.h"

size_t stack__frame_cnt(const struct stack *stack)
{
	if (stack->frames)
		return stack->frame_cnt;
	return stack->addresses ? (size_t)stack->kernel_cnt + stack->user_cnt : 0;
}

struct frame stack__frame(const struct stack *stack, size_t i)
{
	if (stack->frames)
		return stack->frames[i];
	return (struct frame){
		.address = stack->addresses[i],
		.kernel = i < stack->kernel_cnt,
	};
}

bool frame__same(const struct frame *a, const struct frame *b)
{
	if (a->kernel != b->kernel || !text__same(a->module, b->module))
		return false;
	if (a->function || b->function)
		return text__same(a->function, b->function);
	return a->module ? a->offset == b->offset : a->address == b->address;
}

const char *module__base(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (!module)
		return "";
	return slash && slash[1] ? slash + 1 : module;
}

double share__bounded(double share)
{
	if (!(share > 0))
		return 0;
	return share < 1 ? share : 1;
}

/* --- messages: handler, event, callback, source */

static const struct {
	uint32_t bit;
	const char *name;
} events_names[] = {
	{ EPOLLIN, "in" },	   { EPOLLPRI, "pri" },	      { EPOLLOUT, "out" },
	{ EPOLLERR, "err" },	   { EPOLLHUP, "hup" },	      { EPOLLRDHUP, "rdhup" },
	{ EPOLLRDNORM, "rdnorm" }, { EPOLLRDBAND, "rdband" }, { EPOLLWRNORM, "wrnorm" },
	{ EPOLLWRBAND, "wrband" }, { EPOLLMSG, "msg" },
};

void message__add_events(struct strbuf *sb, uint32_t events)
{
	const char *sep = "";

	for (size_t i = 0; i < sizeof(events_names) / sizeof(*events_names); i++) {
		if (!(events & events_names[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", sep, events_names[i].name);
		events &= ~events_names[i].bit;
		sep = "|";
	}
	if (events)
		strbuf__addf(sb, "%s0x%" PRIx32, sep, events);
}

void message_name__add(struct strbuf *sb, const struct message_name *name, bool call)
{
	if (name->symbol && *name->symbol) {
		function__add_short(sb, name->symbol, "<…>", false);
		strbuf__adds(sb, call ? "()" : "");
	} else if (name->module) {
		strbuf__addf(sb, "%s+0x%" PRIx64, module__base(name->module), name->offset);
	}
}

/* A bare number needs a prefix: Android's own traces write "#12". */
static void add_number_or_name(struct strbuf *sb, const char *what)
{
	const char *digits = what + (*what == '-');

	if (*digits && !digits[strspn(digits, "0123456789")])
		strbuf__addc(sb, '#');
	strbuf__adds(sb, what);
}

static void add_fd(struct strbuf *sb, const struct message_fd *fd)
{
	if (fd->target && strcmp(fd->target, MESSAGE_FD_CLOSED))
		strbuf__adds(sb, fd->target);
	else if (fd->target)
		strbuf__addf(sb, "fd %" PRId32 " (%s)", fd->fd, fd->target);
	else
		strbuf__addf(sb, "fd %" PRId32, fd->fd);
}

static void add_separator(struct strbuf *sb, size_t begin)
{
	if (sb->len > begin)
		strbuf__adds(sb, ", ");
}

/* A callback that is no function is a value that the catalogue's row has formatted. */
static void add_names(struct strbuf *sb, const struct message *message, size_t begin)
{
	if (message_name__is_known(&message->callback)) {
		add_separator(sb, begin);
		message_name__add(sb, &message->callback,
				  message->callback.symbol && message->callback.module);
	}
	if (message_name__is_known(&message->source)) {
		strbuf__adds(sb, sb->len > begin ? " of " : "source ");
		message_name__add(sb, &message->source, false);
	}
}

/* With several ready descriptors, do not present the first as the only cause. */
static void add_ready(struct strbuf *sb, const struct message *message, size_t begin)
{
	bool fd_known = message->fd.fd >= 0 || message->fd.target;

	if (message->ready_cnt > 1) {
		add_separator(sb, begin);
		strbuf__addf(sb, "%" PRIu32 " ready", message->ready_cnt);
	}
	if (!fd_known)
		return;
	add_separator(sb, begin);
	strbuf__adds(sb, message->ready_cnt > 1 ? "first " : "");
	add_fd(sb, &message->fd);
}

void message__add_phrase(struct strbuf *sb, const struct message *message)
{
	size_t begin = sb->len;

	if (!message)
		return;
	if (message->what && *message->what)
		add_number_or_name(sb, message->what);
	if (message_name__is_known(&message->handler)) {
		strbuf__adds(sb, sb->len > begin ? " to " : "to ");
		message_name__add(sb, &message->handler, false);
	}
	add_names(sb, message, begin);
	add_ready(sb, message, begin);
}

/* --- waits: the system call decides what an argument means; its name is known here */

static bool has(const struct wait_object *waited, uint16_t flag)
{
	return waited && waited->raw.hdr.flags & flag;
}

int32_t wait__fd(const struct wait_object *waited)
{
	if (!has(waited, JANK_WAITED_FILE) || waited->raw.fd < 0)
		return -1;
	return waited->raw.fd;
}

bool wait__timeout(const struct wait_object *waited, uint64_t *ret_ns)
{
	if (!has(waited, JANK_WAITED_TIMEOUT) || waited->raw.timeout_ns == UINT64_MAX)
		return false;
	*ret_ns = waited->raw.timeout_ns;
	return true;
}

/* System calls that take a number of bytes, with the index of that argument. */
static const struct {
	const char *name;
	unsigned arg;
} counted[] = {
	{ "read", 2 },	   { "write", 2 },  { "pread64", 2 },	{ "pwrite64", 2 },
	{ "recvfrom", 2 }, { "sendto", 2 }, { "readahead", 2 }, { "sendfile", 3 },
};

bool wait__bytes(const struct wait_object *waited, const char *syscall_name, uint64_t *ret)
{
	if (!has(waited, JANK_WAITED_ARGS) || !syscall_name)
		return false;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		if (strcmp(counted[i].name, syscall_name))
			continue;
		*ret = waited->raw.args[counted[i].arg];
		return true;
	}
	return false;
}

static void add_owner(struct strbuf *sb, const struct other_task *owner)
{
	strbuf__addf(sb, "%sheld by %s (its tid %" PRIu32 ")", sb->len ? ", " : "",
		     *owner->comm ? owner->comm : "a thread", owner->tid);
}

/* Adds the object, and the process at its other end. */
static void add_object(struct strbuf *sb, const struct wait_object *waited)
{
	const char *object = waited->path ? waited->path : waited->peer;
	const struct other_task *there = &waited->peer_task;

	if (!object)
		object = waited->target;
	if (object)
		strbuf__addf(sb, "for %s", object);
	if (waited->path && waited->device)
		strbuf__addf(sb, " on %s", waited->device);
	if (there->pid)
		strbuf__addf(sb, object ? " (%s, pid %" PRIu32 ")" : "for %s, pid %" PRIu32,
			     there->comm, there->pid);
}

static bool is_sleep(const char *syscall_name)
{
	return syscall_name && strstr(syscall_name, "nanosleep");
}

void wait__add_phrase(struct strbuf *sb, const struct wait_object *waited, uint32_t said,
		      const char *syscall_name, bool all)
{
	uint64_t timeout_ns, bytes;

	if (!waited)
		return;
	add_object(sb, waited);
	if (waited->owner.tid && waited->owner.tid != said)
		add_owner(sb, &waited->owner);
	if (all && wait__fd(waited) >= 0)
		strbuf__addf(sb, "%sfd %" PRId32, sb->len ? ", " : "", wait__fd(waited));
	if (wait__timeout(waited, &timeout_ns)) {
		strbuf__adds(sb, sb->len ? ", " : "");
		clock__add_duration(sb, timeout_ns);
		strbuf__adds(sb, is_sleep(syscall_name) ? " asked for" : " at most");
	}
	if (all && wait__bytes(waited, syscall_name, &bytes))
		strbuf__addf(sb, "%s%" PRIu64 " bytes", sb->len ? ", " : "", bytes);
}

/* --- priorities: the kernel's scale in the terms of chrt(1) and nice(1) */

#define DEADLINE (JANK_PRIO_OFFSET - 1)
#define REAL_TIME_MAX                                                                              \
	(JANK_PRIO_OFFSET + 99) /* the kernel counts down from 99, the lowest priority */
#define NICE_0	 (JANK_PRIO_OFFSET + 120)
#define NICE_MAX (NICE_0 + 19)

void priority__add(struct strbuf *sb, uint16_t prio)
{
	if (prio < DEADLINE || prio > NICE_MAX)
		return;
	if (prio == DEADLINE)
		strbuf__adds(sb, "deadline");
	else if (prio <= REAL_TIME_MAX)
		strbuf__addf(sb, "real-time %d", REAL_TIME_MAX - prio);
	else
		strbuf__addf(sb, "nice %d", prio - NICE_0);
}

bool priority__is_usual(uint16_t prio)
{
	return prio < DEADLINE || prio > NICE_MAX || prio == NICE_0;
}

const char *policy__name(uint16_t policy)
{
	static const char *const names[] = { "normal", "fifo", "rr",	   "batch",
					     NULL,     "idle", "deadline", "ext" };

	return policy < sizeof(names) / sizeof(*names) ? names[policy] : NULL;
}

/* --- why stacks end early: the same words in every export */

static const struct {
	unsigned bit;
	const char *words;
} reasons[] = {
	{ QUALITY_CUT, "cut at the depth limit" },
	{ QUALITY_NO_USER, "user part unreadable" },
	{ QUALITY_FP, "frame pointers may be missing" },
	{ QUALITY_NO_SAMPLES, "no samples" },
	{ QUALITY_COPY, "truncated copy" },
	{ QUALITY_HOLE, "a page of the stack unreadable" },
	{ QUALITY_NO_TABLE, "no unwind table" },
	{ QUALITY_ASTRAY, "unwind table that leads astray" },
	{ QUALITY_DEEP, "cut at the depth limit" },
};

#define OF_MODULE (QUALITY_NO_TABLE | QUALITY_ASTRAY)

void quality__add(struct strbuf *sb, const struct block *block)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!(block->stack_quality & reasons[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", comma, reasons[i].words);
		if (reasons[i].bit & OF_MODULE && block->quality_module)
			strbuf__addf(sb, " in %s", block->quality_module);
		comma = ", ";
	}
	if (!*comma)
		strbuf__adds(sb, "complete");
}
