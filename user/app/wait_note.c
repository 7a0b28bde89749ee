/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the top of a waiting thread's stack. */
#include "app/wait_note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/file.h"

#define STACK_READ (16 * 1024) /* libuv's wait alone has 12 KiB of events there */
#define WORD_CNT   (STACK_READ / sizeof(uint64_t))
#define WORD_MAX   512
#define TEXT_MAX   512
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
	uint16_t offsets[WORD_MAX];
	uint64_t words[WORD_CNT];
	size_t cnt = read_stack(rec, words), kept = 0;
	struct wait_note *note;

	for (size_t i = 0; i < cnt && kept < WORD_MAX; i++) {
		uint64_t address = address_in(words[i]);

		if (!may_be_code(address, rec->sp))
			continue;
		offsets[kept] = i * sizeof(*words);
		words[kept++] = address;
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

static bool sleeps_there(const struct jank_rec_wait *rec, uint64_t *ret_arg0)
{
	struct strbuf text = STRBUF_INIT;
	unsigned long long arg0, sp;
	char path[64];
	bool there;
	long nr;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", rec->hdr.tgid, rec->hdr.tid);
	there = !file__read(path, TEXT_MAX, &text) &&
		sscanf(strbuf__str(&text), "%ld %llx %*x %*x %*x %*x %*x %llx", &nr, &arg0, &sp) ==
			3 &&
		nr == rec->syscall % JANK_SYSCALL_32 && sp == rec->sp;
	strbuf__free(&text);
	if (there)
		*ret_arg0 = arg0;
	return there;
}

/* Most sleep too shortly: the first look is the cheaper one. */
struct wait_note *wait_note__of_sleeper(const struct jank_rec_wait *rec, const char *exe)
{
	struct wait_note *note;
	uint64_t arg0, again;

	if (!sleeps_there(rec, &arg0))
		return NULL;
	note = wait_note__new(rec, exe);
	if (note && (!sleeps_there(rec, &again) || again != arg0)) {
		wait_note__free(note);
		return NULL;
	}
	if (note)
		note->arg0 = arg0;
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
	return sizeof(*note) + note->cnt * (sizeof(*note->words) + sizeof(*note->offsets));
}
