/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of the record that sinks compare, sums over its fields, and phrases made of them. */
#include "export/values.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/json/json.h"
#include "model/pid.h"

#define X_WORD(nr, NAME, word) [nr] = word,
static const char *const state_words[JANK_STATE_CNT] = { JANK_STATES(X_WORD) };
#undef X_WORD

uint32_t value__state(const char *word)
{
	for (uint32_t i = 0; word && i < JANK_STATE_CNT; i++)
		if (!strcmp(state_words[i], word))
			return i;
	return JANK_STATE_OTHER;
}

const char *value__state_word(uint32_t state)
{
	return state_words[state < JANK_STATE_CNT ? state : JANK_STATE_OTHER];
}

const char *value__kind_word(size_t nr)
{
	static const char *const running[] = { "cpu", "kernel" };
	static const char *const derived[] = { "filesystem", "terminal", "child" };
	const size_t states = JANK_STATE_CNT - JANK_STATE_RUNNABLE;

	if (nr < 2)
		return running[nr];
	nr -= 2;
	if (nr < states)
		return state_words[JANK_STATE_RUNNABLE + nr];
	nr -= states;
	return nr < sizeof(derived) / sizeof(*derived) ? derived[nr] : NULL;
}

#define BLOCKED(NAME, field) [JANK_STATE_##NAME] = offsetof(Jankbpf__Blocked, field)
static const size_t blocked_fields[JANK_STATE_CNT] = {
	BLOCKED(FUTEX, futex),	   BLOCKED(DISK, disk),
	BLOCKED(SLEEP, sleep),	   BLOCKED(POLL, poll),
	BLOCKED(SOCKET, socket),   BLOCKED(PIPE, pipe),
	BLOCKED(BINDER, binder),   BLOCKED(PAGE_FAULT, page_fault),
	BLOCKED(STOPPED, stopped), BLOCKED(OTHER, other),
};
#undef BLOCKED

_Static_assert(JANK_STATE_CNT == 12, "blocked_fields: each kind of wait has a field");

uint64_t value__in_state(const Jankbpf__Time *time, uint32_t state)
{
	if (!time || state >= JANK_STATE_CNT)
		return 0;
	if (state == JANK_STATE_RUNNING)
		return time->running_ns;
	if (state == JANK_STATE_RUNNABLE)
		return time->runnable_ns;
	if (!time->blocked_ns)
		return 0;
	return *(const uint64_t *)((const char *)time->blocked_ns + blocked_fields[state]);
}

const char *value__signature(const Jankbpf__Block *block)
{
	return block->cause && block->cause->signature ? block->cause->signature : "";
}

uint64_t value__delay(const Jankbpf__Block *block)
{
	return block->has_delay_ns ? block->delay_ns : block->start_delay_ns + block->duration_ns;
}

uint64_t value__due(const Jankbpf__Block *block)
{
	return block->start_ns - block->start_delay_ns;
}

uint64_t value__real_ns(const Jankbpf__Block *block, uint64_t mono_ns)
{
	uint64_t start_ns;

	if (!block->start || !clock__read_rfc3339(block->start, &start_ns))
		return mono_ns;
	return mono_ns - block->start_ns + start_ns;
}

uint64_t value__upper_ns(const Jankbpf__Bucket *bucket, uint64_t max_ns)
{
	return bucket->has_upper_ns ? bucket->upper_ns : max_ns;
}

/* The upper end of the highest bucket is up to 4 % longer than the longest in it. */
void value__add_buckets(struct durations *durations, Jankbpf__Bucket *const *buckets, size_t cnt,
			uint64_t max_ns)
{
	uint64_t before_ns = durations->max_ns;

	for (size_t i = 0; i < cnt; i++)
		durations__add_many(durations, value__upper_ns(buckets[i], max_ns),
				    buckets[i]->count);
	if (max_ns)
		durations->max_ns = before_ns > max_ns ? before_ns : max_ns;
}

void value__add_end(struct strbuf *sb, const Jankbpf__Interval *interval)
{
	uint64_t real_ns;

	if (interval->start && clock__read_rfc3339(interval->start, &real_ns))
		clock__add_local(sb, "%H:%M:%S", real_ns + interval->elapsed_ns);
	else
		strbuf__addc(sb, '?');
}

bool value__is_tick(const Jankbpf__Sample *sample)
{
	return !sample->ns && value__state(sample->state) == JANK_STATE_RUNNING;
}

bool value__is_hang(const Jankbpf__Block *block)
{
	return block->severity && !strcmp(block->severity, "hang");
}

enum loss_takes value__loss_takes(const char *reason)
{
	const ProtobufCMessageDescriptor *descriptor = &jankbpf__lost__descriptor;

	for (unsigned nr = 0; nr < descriptor->n_fields; nr++)
		if (!strcmp(descriptor->fields[nr].name, reason))
			return fields__of_losses[nr].takes;
	return LOSS_TAKES_BLOCKS;
}

bool value__next_loss(const Jankbpf__Lost *lost, unsigned *pos, struct loss_count *ret)
{
	const ProtobufCMessageDescriptor *descriptor = &jankbpf__lost__descriptor;

	while (lost && *pos < descriptor->n_fields) {
		unsigned nr = (*pos)++;
		const ProtobufCFieldDescriptor *field = &descriptor->fields[nr];
		const char *message = (const char *)lost;

		if (!*(const protobuf_c_boolean *)(message + field->quantifier_offset))
			continue;
		*ret = (struct loss_count){ field->name, fields__of_losses[nr].text,
					    fields__of_losses[nr].takes,
					    *(const uint64_t *)(message + field->offset) };
		return true;
	}
	return false;
}

double value__share(double share)
{
	if (!(share > 0))
		return 0;
	return share < 1 ? share : 1;
}

const char *value__name(const char *name)
{
	return name ? name : "?";
}

const char *module__base(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (!module)
		return "";
	return slash && slash[1] ? slash + 1 : module;
}

void frame__add_place(struct strbuf *sb, const Jankbpf__Frame *frame, bool shorten)
{
	if (frame->function && *frame->function && shorten)
		function__add_short(sb, frame->function, "<…>", false);
	else if (frame->function && *frame->function)
		strbuf__adds(sb, frame->function);
	else if (frame->module && *frame->module)
		strbuf__addf(sb, "%s+0x%" PRIx64, module__base(frame->module), frame->offset);
	else
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
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
		object = waited->target ? waited->target : waited->lock;
	if (object)
		strbuf__addf(sb, "for %s", object);
	if (waited->path && waited->device)
		strbuf__addf(sb, " on %s", waited->device);
	if (!there)
		return;
	strbuf__addf(sb, object ? " (%s, " : "for %s, ", value__name(there->comm));
	pid__add(sb, there->pid);
	if (waited->has_binder_code)
		strbuf__addf(sb, ", binder call %" PRIu32, waited->binder_code);
	if (object)
		strbuf__adds(sb, ")");
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
