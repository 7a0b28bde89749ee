/* SPDX-License-Identifier: GPL-2.0 */
/* The top of a waiting thread's stack. */
#include "catalogue/wait_note.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"

#define STACK_READ (16 * 1024) /* libuv's wait alone has 12 KiB of events there */
#define WORD_CNT   (STACK_READ / sizeof(uint64_t))
#define WORD_MAX   512
#define LOWEST	   0x10000	  /* nothing is mapped below */
#define ADDR_MASK  0xffffffffffff /* arm64 signs return addresses above these bits */
#define NEAR_STACK (1 << 20)	  /* pointers into the stack itself are most of what looks alike */

uint64_t wait_note__address(uint64_t word)
{
#ifdef __aarch64__
	return word & ADDR_MASK;
#else
	return word <= ADDR_MASK ? word : 0;
#endif
}

static bool may_be_code(uint64_t address, uint64_t sp)
{
	return address >= LOWEST && (address < sp - NEAR_STACK || address > sp + NEAR_STACK);
}

/* stack: len bytes from the record's stack pointer on. */
static struct wait_note *note_of(const struct jank_rec_wait *rec, const char *exe,
				 const uint8_t *stack, size_t len)
{
	uint64_t words[WORD_MAX];
	uint16_t offsets[WORD_MAX];
	struct wait_note *note;
	size_t kept = 0;

	for (size_t at = 0; at + sizeof(*words) <= len && kept < WORD_MAX; at += sizeof(*words)) {
		uint64_t word;

		memcpy(&word, stack + at, sizeof(word));
		word = wait_note__address(word);
		if (!may_be_code(word, rec->sp))
			continue;
		offsets[kept] = at;
		words[kept++] = word;
	}
	note = calloc(1, sizeof(*note) + kept * (sizeof(*words) + sizeof(*offsets)));
	if (!note)
		return NULL;
	note->offsets = (uint16_t *)(note->words + kept);
	memcpy(note->offsets, offsets, kept * sizeof(*offsets));
	note->rec = *rec;
	note->cnt = kept;
	memcpy(note->words, words, kept * sizeof(*words));
	note->exe = exe ? strdup(exe) : NULL;
	return note;
}

/* What was in the register when the system call began; in a 32-bit program of x86 in ebx. */
static uint64_t first_argument(const struct jank_rec_copy *copy)
{
#ifdef __aarch64__
	return copy->regs[0];
#else
	return copy->hdr.flags & JANK_COPY_32BIT ? copy->regs[3] : copy->regs[5];
#endif
}

struct wait_note *wait_note__new(const struct jank_rec_wait *rec, const char *exe,
				 struct jank_rec_copy *copy)
{
	const uint8_t *stack = (const uint8_t *)(copy + 1);
	size_t len = copy ? copy->copy_sz : 0;
	struct wait_note *note;

	note = note_of(rec, exe, copy ? stack : NULL, len < STACK_READ ? len : STACK_READ);
	if (note && copy)
		note->arg0 = first_argument(copy);
	if (note)
		note->copy = copy;
	else
		free(copy);
	return note;
}

struct wait_note *wait_note__of_memory(const struct jank_rec_wait *rec, const char *exe)
{
	uint64_t stack[WORD_CNT];
	ssize_t len = 0;

	/* Near the stack's end: what is left of its page, and then of as many as there are. */
	for (size_t want = STACK_READ; len <= 0 && len != -ETIMEDOUT && want > 64; want /= 2)
		len = apart__memory(rec->hdr.tgid, rec->sp, stack, want);
	return note_of(rec, exe, (const uint8_t *)stack, len > 0 ? len : 0);
}

void wait_note__free(struct wait_note *note)
{
	if (!note)
		return;
	free(note->copy);
	free(note->script);
	free(note->exe);
	free(note);
}

size_t wait_note__bytes(const struct wait_note *note)
{
	size_t copy_sz = note->copy ? sizeof(*note->copy) + note->copy->copy_sz : 0;
	size_t script_sz = note->script ? note->script->hdr.size : 0;

	return sizeof(*note) + copy_sz + script_sz +
	       note->cnt * (sizeof(*note->words) + sizeof(*note->offsets));
}

/* --- copies and frames on their way */

/* How long the record says that it is; 0: it is none of a wait. -EBADMSG: it is shorter than that. */
static ssize_t size_of(const void *data, size_t len)
{
	const struct jank_rec_script *script = data;
	const struct jank_rec_copy *copy = data;
	size_t size = 0;

	if (copy->hdr.kind == JANK_REC_COPY && copy->hdr.flags & JANK_COPY_WAIT) {
		size = sizeof(*copy);
		size += len < size ? 0 : copy->copy_sz;
	} else if (script->hdr.kind == JANK_REC_SCRIPT && script->hdr.flags & JANK_SCRIPT_WAIT) {
		size = sizeof(*script);
		size += len < size ? 0 : script->frame_cnt * sizeof(struct jank_script_frame);
	}
	return size > len ? -EBADMSG : (ssize_t)size;
}

int wait_copies__put(struct wait_copies *copies, const void *data, size_t len)
{
	struct jank_rec **slot = &copies->recs[copies->next % WAIT_COPY_MAX];
	ssize_t size = size_of(data, len);

	if (size <= 0)
		return size;
	copies->next++;
	free(*slot);
	*slot = malloc(len);
	if (!*slot)
		return -ENOMEM;
	memcpy(*slot, data, len);
	return 1;
}

_Static_assert(offsetof(struct jank_rec_copy, t_ns) == offsetof(struct jank_rec_script, t_ns),
	       "one place of t_ns");

static void *take(struct wait_copies *copies, const struct jank_rec_wait *rec, uint16_t kind)
{
	for (int i = 0; i < WAIT_COPY_MAX; i++) {
		struct jank_rec *hdr = copies->recs[i];

		if (!hdr || hdr->kind != kind || hdr->tid != rec->hdr.tid ||
		    ((struct jank_rec_copy *)hdr)->t_ns != rec->hdr.ts_ns)
			continue;
		copies->recs[i] = NULL;
		return hdr;
	}
	return NULL;
}

struct jank_rec_copy *wait_copies__take(struct wait_copies *copies, const struct jank_rec_wait *rec)
{
	return take(copies, rec, JANK_REC_COPY);
}

struct jank_rec_script *wait_copies__take_script(struct wait_copies *copies,
						 const struct jank_rec_wait *rec)
{
	return take(copies, rec, JANK_REC_SCRIPT);
}

void wait_copies__free(struct wait_copies *copies)
{
	for (int i = 0; i < WAIT_COPY_MAX; i++) {
		free(copies->recs[i]);
		copies->recs[i] = NULL;
	}
}
