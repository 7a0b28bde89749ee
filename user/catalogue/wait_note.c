/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the top of a waiting thread's stack. */
#include "catalogue/wait_note.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "files/apart.h"

#define STACK_READ (16 * 1024) /* libuv's wait alone has 12 KiB of events on the stack */
#define WORD_CNT   (STACK_READ / sizeof(uint64_t))
#define WORD_MAX   512
#define LOWEST	   0x10000	  /* nothing is mapped below */
#define ADDR_MAX   0xffffffffffff /* of x86-64 */
#define NEAR_STACK (1 << 20)	  /* most words that resemble code are pointers into the stack */

uint64_t wait_note__address(uint64_t word)
{
#ifdef __aarch64__
	return word & code_address__mask();
#else
	return word <= ADDR_MAX ? word : 0;
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

/* The register at the start of the system call; ebx in a 32-bit x86 program. */
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

	/* Near the stack's end, the read is shortened until it fits. */
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

/* --- stack copies and frames that wait for their record */

/*
 * Size that the record states; 0: not a record of a wait. -EBADMSG: the data is shorter than that.
 */
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

/* --- return addresses: checks the code before each address */

static bool read_code(const struct code_of *of, uint64_t address, void *ret, size_t size)
{
	return !symbolizer__code_bytes(of->sym, of->pid, address, ret, size);
}

/* Reads a pointer of the dynamic linker from memory: it is data, so no file has it. */
static uint64_t pointer_at(const struct code_of *of, uint64_t address)
{
	uint64_t ret;

	return apart__memory(of->pid, address, &ret, sizeof(ret)) == sizeof(ret) ? ret : 0;
}

#ifdef __aarch64__
/* A signed number of `bits` bits. */
static int64_t field(uint32_t insn, unsigned shift, unsigned bits)
{
	return (int64_t)((uint64_t)(insn >> shift) << (64 - bits)) >> (64 - bits);
}

/* adrp x16, PAGE; ldr x17, [x16, #LOW]; …, after bti c if present */
static uint64_t through_plt(const struct code_of *of, uint64_t address)
{
	uint32_t code[3];
	const uint32_t *insn = code;
	uint64_t page;

	if (!read_code(of, address, code, sizeof(code)))
		return 0;
	if (*insn == 0xd503245f) {
		insn++;
		address += sizeof(*insn);
	}
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return address;
	page = (address & ~0xfffull) + ((field(insn[0], 5, 19) * 4 + (insn[0] >> 29 & 3)) << 12);
	return pointer_at(of, page + (insn[1] >> 10 & 0xfff) * 8);
}

uint64_t return_addresses__callee(const struct code_of *of, uint64_t address)
{
	uint32_t insn;

	if (!read_code(of, address - sizeof(insn), &insn, sizeof(insn)) ||
	    (insn & 0xfc000000) != 0x94000000)
		return 0;
	return through_plt(of, address - sizeof(insn) + field(insn, 0, 26) * 4);
}
#else
static int64_t displacement(const uint8_t *bytes)
{
	int32_t ret;

	memcpy(&ret, bytes, sizeof(ret));
	return ret;
}

/* jmp *DISPLACEMENT(%rip), after endbr64 and with a bnd prefix if present */
static uint64_t through_plt(const struct code_of *of, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11];
	size_t at = 0;

	if (!read_code(of, address, code, sizeof(code)))
		return address;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return address;
	return pointer_at(of, address + at + 6 + displacement(code + at + 2));
}

uint64_t return_addresses__callee(const struct code_of *of, uint64_t address)
{
	uint8_t code[CALL_BYTES];
	const uint8_t *disp = code + sizeof(code) - 4;

	if (!read_code(of, address - sizeof(code), code, sizeof(code)))
		return 0;
	if (disp[-1] == 0xe8)
		return through_plt(of, address + displacement(disp));
	if (disp[-2] == 0xff && disp[-1] == 0x15)
		return pointer_at(of, address + displacement(disp));
	return 0;
}
#endif

size_t return_addresses__keep(const struct code_of *of, uint64_t *addresses, size_t cnt)
{
	uint8_t code[CALL_BYTES];
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (read_code(of, addresses[i] - CALL_BYTES, code, sizeof(code)) &&
		    is_behind_call(OWN_MACHINE, code))
			addresses[kept++] = addresses[i];
	return kept;
}
