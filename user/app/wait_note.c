/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the top of a waiting thread's stack. */
#include "app/wait_note.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define STACK_READ (16 * 1024) /* libuv's wait alone has 12 KiB of events there */
#define WORD_CNT   (STACK_READ / sizeof(uint64_t))
#define WORD_MAX   512
#define LOWEST	   0x10000	  /* nothing is mapped below */
#define ADDR_MASK  0xffffffffffff /* arm64 signs return addresses above these bits */
#define NEAR_STACK (1 << 20)	  /* pointers into the stack itself are most of what looks alike */

static size_t read_stack(const struct jank_rec_wait *rec, uint64_t *words)
{
	struct iovec local = { words, STACK_READ };
	struct iovec remote = { (void *)(uintptr_t)(rec->sp & ~7ull), STACK_READ };
	ssize_t n = rec->sp ? process_vm_readv(rec->hdr.tgid, &local, 1, &remote, 1, 0) : 0;

	/* Near the stack's end: what is left of its page, and then of as many as there are. */
	for (size_t len = STACK_READ; n < 0 && len > 64; len /= 2) {
		local.iov_len = remote.iov_len = len / 2;
		n = process_vm_readv(rec->hdr.tgid, &local, 1, &remote, 1, 0);
	}
	return n > 0 ? (size_t)n / sizeof(*words) : 0;
}

static uint64_t address_in(uint64_t word)
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

struct wait_note *wait_note__new(const struct jank_rec_wait *rec, const char *exe)
{
	uint64_t words[WORD_CNT];
	size_t cnt = read_stack(rec, words), kept = 0;
	struct wait_note *note;

	for (size_t i = 0; i < cnt && kept < WORD_MAX; i++) {
		uint64_t address = address_in(words[i]);

		if (may_be_code(address, rec->sp))
			words[kept++] = address;
	}
	note = calloc(1, sizeof(*note) + kept * sizeof(*words));
	if (!note)
		return NULL;
	note->rec = *rec;
	note->cnt = kept;
	memcpy(note->words, words, kept * sizeof(*words));
	note->exe = exe ? strdup(exe) : NULL;
	return note;
}

void wait_note__free(struct wait_note *note)
{
	if (!note)
		return;
	free(note->exe);
	free(note);
}

size_t wait_note__bytes(const struct wait_note *note)
{
	return sizeof(*note) + note->cnt * sizeof(*note->words);
}
