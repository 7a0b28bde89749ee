/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the journal's messages. Messages are kept as read; results point into them. */
#include "journal/answers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "journal/journal.h"
#include "model/loop.h"
#include "model/loss.h"
#include "model/sample.h"

#define IDLE_PLACE_MAX 512 /* addresses; no stack has more */

struct key {
	uint64_t a, b, kind;
};

/*
 * An entry of a process (key: pid), of an address (pid and key), or of a block or hang (thread and
 * start).
 */
struct entry {
	struct key key;
	ProtobufCMessage *message;
	UT_hash_handle hh;
};

struct answers {
	struct answers_session session;
	struct entry *entries;
	Jankbpf__JournalSession *session_message;
	Jankbpf__JournalEnd *end;
};

struct answers *answers__new(void)
{
	struct answers *a = calloc(1, sizeof(*a));

	if (a)
		a->session.fps = 60;
	return a;
}

void answers__free(struct answers *a)
{
	struct entry *entry, *next;

	if (!a)
		return;
	HASH_ITER (hh, a->entries, entry, next) {
		HASH_DEL(a->entries, entry);
		protobuf_c_message_free_unpacked(entry->message, NULL);
		free(entry);
	}
	jankbpf__journal_session__free_unpacked(a->session_message, NULL);
	jankbpf__journal_end__free_unpacked(a->end, NULL);
	free(a);
}

static const struct entry *find(const struct answers *a, struct key key)
{
	struct entry *entry;

	HASH_FIND(hh, a->entries, &key, sizeof(key), entry);
	return entry;
}

/* Stores the message; the last one of a key counts. Takes the message. */
static int put(struct answers *a, struct key key, ProtobufCMessage *message)
{
	struct entry *entry;

	HASH_FIND(hh, a->entries, &key, sizeof(key), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (entry) {
			entry->key = key;
			HASH_ADD(hh, a->entries, key, sizeof(key), entry);
		}
		if (!entry) {
			protobuf_c_message_free_unpacked(message, NULL);
			return -ENOMEM;
		}
	}
	protobuf_c_message_free_unpacked(entry->message, NULL);
	entry->message = message;
	return 0;
}

static int add_session(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__JournalSession *m = (Jankbpf__JournalSession *)message;

	jankbpf__journal_session__free_unpacked(a->session_message, NULL);
	a->session_message = m;
	a->session.known = true;
	a->session.threshold_ns = m->threshold_ns;
	a->session.hang_ns = m->hang_ns;
	a->session.startup_ns = m->startup_ns;
	a->session.fps = m->fps;
	a->session.real_offset_ns = m->real_offset_ns;
	a->session.host = (struct host_info){ .boot_id = m->boot_id };
	if (m->host) {
		a->session.host.name = m->host->name;
		a->session.host.kernel = m->host->kernel;
		a->session.host.arch = m->host->arch;
		a->session.host.cpus = m->host->cpus;
	}
	return 0;
}

/* Journals of earlier versions have 0 and UID_UNKNOWN for what is not known. */
static int add_process(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__Identity *m = (Jankbpf__Identity *)message;

	m->has_uid = m->has_uid && m->uid != UID_UNKNOWN;
	m->has_ns_pid = !!m->ns_pid;
	m->has_names_uid = !!m->names_uid;
	m->has_package_code = !!m->package_code;
	return put(a, (struct key){ m->pid, 0, JOURNAL_PROCESS }, message);
}

static int add_frames(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__JournalFrames *m = (Jankbpf__JournalFrames *)message;

	return put(a, (struct key){ m->pid, m->key, JOURNAL_FRAMES }, message);
}

/*
 * A hang and its later block have different keys; so do several hangs of one dispatch, at its
 * limits (hang__number).
 */
static struct key key_of(uint32_t tid, uint64_t start_ns, uint32_t hang, enum journal_kind kind)
{
	return (struct key){ (uint64_t)tid << 8 | (uint8_t)hang, start_ns, kind };
}

static int add_callers(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__JournalCallers *m = (Jankbpf__JournalCallers *)message;

	return put(a, key_of(m->tid, m->start_ns, m->hang, JOURNAL_CALLERS), message);
}

static int add_answers(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__JournalAnswers *m = (Jankbpf__JournalAnswers *)message;

	return put(a, key_of(m->tid, m->start_ns, m->hang, JOURNAL_ANSWERS), message);
}

static int add_losses(struct answers *a, ProtobufCMessage *message)
{
	Jankbpf__JournalLosses *m = (Jankbpf__JournalLosses *)message;

	return put(a, key_of(m->tid, m->start_ns, m->hang, JOURNAL_LOSSES), message);
}

static int add_end(struct answers *a, ProtobufCMessage *message)
{
	jankbpf__journal_end__free_unpacked(a->end, NULL);
	a->end = (Jankbpf__JournalEnd *)message;
	a->session.elapsed_ns = a->end->elapsed_ns;
	return 0;
}

int answers__add(struct answers *a, const struct jank_rec *rec)
{
	static const struct {
		uint16_t kind;
		const ProtobufCMessageDescriptor *descriptor;
		int (*add)(struct answers *a, ProtobufCMessage *message);
	} rows[] = {
		{ JOURNAL_SESSION, &jankbpf__journal_session__descriptor, add_session },
		{ JOURNAL_PROCESS, &jankbpf__identity__descriptor, add_process },
		{ JOURNAL_FRAMES, &jankbpf__journal_frames__descriptor, add_frames },
		{ JOURNAL_CALLERS, &jankbpf__journal_callers__descriptor, add_callers },
		{ JOURNAL_ANSWERS, &jankbpf__journal_answers__descriptor, add_answers },
		{ JOURNAL_LOSSES, &jankbpf__journal_losses__descriptor, add_losses },
		{ JOURNAL_END, &jankbpf__journal_end__descriptor, add_end },
	};
	ProtobufCMessage *message;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].kind != rec->kind)
			continue;
		message = journal__message(rec, rows[i].descriptor);
		return message ? rows[i].add(a, message) : -EBADMSG;
	}
	return 0;
}

const struct answers_session *answers__session(const struct answers *a)
{
	return &a->session;
}

const Jankbpf__Identity *answers__process(const struct answers *a, uint32_t pid)
{
	const struct entry *entry = find(a, (struct key){ pid, 0, JOURNAL_PROCESS });

	return entry ? (const Jankbpf__Identity *)entry->message : NULL;
}

static const Jankbpf__JournalAnswers *of_record(const struct answers *a,
						const struct jank_rec_block *rec)
{
	enum block_type type = rec->hdr.kind == JANK_REC_HANG ? BLOCK_HANG : BLOCK_JANK;
	uint32_t hang = rec->ready_cnt == JANK_READY_STARTUP
				? startup__number(type, rec->hdr.flags, dispatch__delay(rec))
				: hang__number(type, dispatch__delay(rec));
	const struct entry *entry =
		find(a, key_of(rec->hdr.tid, rec->start_ns, hang, JOURNAL_ANSWERS));

	return entry ? (const Jankbpf__JournalAnswers *)entry->message : NULL;
}

bool answers__left_out(const struct answers *a, const struct jank_rec_block *rec,
		       enum not_shown_reason *ret_reason)
{
	const Jankbpf__JournalAnswers *answers = of_record(a, rec);

	*ret_reason = not_shown__reason(answers ? answers->not_shown : NULL);
	/* A block that was on probation when the recording was torn was never confirmed. */
	return answers ? answers->left_out : rec->hdr.flags != 0;
}

const char *answers__loop(const struct answers *a, const struct jank_rec_block *rec)
{
	const Jankbpf__JournalAnswers *answers = of_record(a, rec);
	const char *name = answers && answers->block ? answers->block->loop : NULL;

	return name && strcmp(name, loop__name(rec->loop)) ? name : NULL;
}

bool answers__time(const struct answers *a, const struct jank_rec_block *rec,
		   struct host_info *memory, int64_t *real_offset_ns)
{
	const Jankbpf__JournalAnswers *answers = of_record(a, rec);

	if (!answers)
		return false;
	*real_offset_ns = answers->real_offset_ns;
	if (answers->block && answers->block->host) {
		memory->mem_total_kb = answers->block->host->mem_total_kb;
		memory->mem_free_kb = answers->block->host->mem_free_kb;
		memory->mem_available_kb = answers->block->host->mem_available_kb;
	}
	return true;
}

static const ProtobufCMessage *of_block(const struct answers *a, const struct block *block,
					enum journal_kind kind)
{
	const struct entry *entry =
		find(a, key_of(block->tid, block->start_ns, block__hang(block), kind));

	return entry ? entry->message : NULL;
}

static int take_idle_place(struct block *block, const Jankbpf__JournalAnswers *message)
{
	if (block->idle_place.user_cnt || !message->n_idle_place ||
	    message->n_idle_place > IDLE_PLACE_MAX)
		return 0;
	block->idle_place.user_cnt = message->n_idle_place;
	return stack__set_addresses(&block->idle_place, message->idle_place);
}

int answers__waited(void *answers, struct block *block)
{
	const Jankbpf__JournalAnswers *message =
		(const Jankbpf__JournalAnswers *)of_block(answers, block, JOURNAL_ANSWERS);
	const Jankbpf__JournalLosses *losses =
		(const Jankbpf__JournalLosses *)of_block(answers, block, JOURNAL_LOSSES);
	int res = message && message->block ? answers__take_waited(block, message->block) : 0;

	if (!res && message && message->block && (message->deadlock || message->seen_chain))
		res = answers__take_chain(block, message);
	if (!res && message)
		res = take_idle_place(block, message);
	return res || !losses || !losses->lost ? res : answers__take_losses(block, losses->lost);
}

int answers__callers(void *answers, struct block *block)
{
	const ProtobufCMessage *message = of_block(answers, block, JOURNAL_CALLERS);

	return message ? answers__take_callers(block, (const Jankbpf__JournalCallers *)message) : 0;
}

uint64_t answers__script_key(const struct jank_script_frame *frame)
{
	return frame->instr ^ (uint64_t)frame->check << 32;
}

uint64_t answers__native_key(uint64_t address, bool exact)
{
	return address ^ (uint64_t)exact << 62;
}

static const Jankbpf__JournalFrames *frames_of(const struct answers *a, uint32_t pid, uint64_t key)
{
	const struct entry *entry = find(a, (struct key){ pid, key, JOURNAL_FRAMES });

	return entry ? (const Jankbpf__JournalFrames *)entry->message : NULL;
}

/* Adds the interpreter's frames, one each, as symbolizer__stack does. */
static int add_script(const struct answers *a, uint32_t pid, struct stack *stack)
{
	for (uint32_t i = 0; i < stack->script_cnt; i++) {
		const struct jank_script_frame *from = &stack->script[i];
		size_t before = stack->frame_cnt;
		int res = answers__add_frames(
			stack, from->code ? frames_of(a, pid, answers__script_key(from)) : NULL,
			from->instr, false);

		if (res) {
			stack->script_cnt = i;
			return res;
		}
		stack->frame_cnt = before + 1;
	}
	return 0;
}

/*
 * An address may have two names, exact and not. If only the other one was written, use it for both.
 */
static const Jankbpf__JournalFrames *find_native(const struct answers *a, uint32_t pid,
						 uint64_t address, bool exact)
{
	const Jankbpf__JournalFrames *frames =
		frames_of(a, pid, answers__native_key(address, exact));

	return frames || !exact ? frames : frames_of(a, pid, answers__native_key(address, false));
}

int answers__name(void *answers, uint32_t pid, struct stack *stack)
{
	for (uint32_t i = 0; i < stack->kernel_cnt + stack->user_cnt; i++) {
		bool kernel = i < stack->kernel_cnt, exact = !i || i == stack->kernel_cnt;
		uint64_t address = stack->addresses[i];
		int res = answers__add_frames(
			stack, find_native(answers, kernel ? 0 : pid, address, exact), address,
			kernel);

		if (res) {
			stack->script_cnt = 0;
			return res;
		}
	}
	return add_script(answers, pid, stack);
}

const char *answers__loop_of(const struct answers *a, uint32_t pid, uint32_t loop)
{
	for (size_t i = 0; a->end && i < a->end->n_loops; i++)
		if (a->end->loops[i]->pid == pid && a->end->loops[i]->loop == loop)
			return a->end->loops[i]->name;
	return NULL;
}

/* A journal is untrusted input: entries that no recording writes are left out. */
int answers__unwatched(const struct answers *a, struct unwatched_list *ret)
{
	for (size_t i = 0; a->end && i < a->end->n_not_watched; i++)
		if (unwatched__add_record(ret, a->end->not_watched[i]) == -ENOMEM)
			return -ENOMEM;
	if (a->end)
		ret->more_cnt += a->end->not_watched_more;
	return 0;
}

void answers__over_share(const struct answers *a, struct over_shares *ret)
{
	for (size_t i = 0; a->end && i < a->end->n_over_share; i++) {
		const Jankbpf__OverShare *user = a->end->over_share[i];
		uint32_t uid = user->has_uid ? user->uid : UID_UNKNOWN;

#define ADD_SHARE(nr, NAME, field) over_shares__add(ret, uid, nr, user->field);
		JANK_SHARES(ADD_SHARE)
#undef ADD_SHARE
	}
}

int answers__losses(const struct answers *a, struct block_loss **ret, size_t *ret_cnt)
{
	const Jankbpf__Lost *lost = a->end ? a->end->lost : NULL;
	struct block_loss *list = lost ? calloc(LOSS_CNT, sizeof(*list)) : NULL;
	size_t cnt = 0;

	if (lost && !list)
		return -ENOMEM;
	for (int reason = 0; list && reason < LOSS_CNT; reason++) {
		uint64_t value = answers__loss(lost, reason);

		if (value)
			list[cnt++] = (struct block_loss){ loss__key(reason), value };
	}
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}
