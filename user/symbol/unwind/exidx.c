/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of 32-bit arm (.ARM.exidx, .ARM.extab), by "Exception Handling ABI for the Arm
 * Architecture" (ARM-software/abi-aa). A function has one list of operations, which restore the
 * caller's registers from its body: they say nothing of its prologue and epilogue.
 */
#include <errno.h>

#include "symbol/unwind/cfi_parts.h"

#define CANT_UNWIND 1
#define INLINE	    0x80000000u /* operations in the word itself; else an offset */
#define WORDS_MAX   32		/* of a function; compilers need three at most */
#define SP	    13
#define LR	    14
#define PC	    15

struct ops {
	uint8_t bytes[4 * WORDS_MAX];
	unsigned len, at;
	bool bad;
};

/* The virtual stack pointer of the operations is register base + off. */
struct unwinding {
	uint8_t base;
	int32_t off;
	uint16_t popped;   /* bit mask of registers */
	int32_t slots[16]; /* of popped registers, from base */
};

static int32_t prel31(uint32_t word)
{
	return (int32_t)(word << 1) >> 1;
}

static void add_ops(struct ops *ops, uint32_t word, unsigned cnt)
{
	while (cnt--)
		ops->bytes[ops->len++] = word >> 8 * cnt;
}

/* The operations at an address: in a compact form, or behind a personality routine's address. */
static bool read_table(struct cfi *cfi, uint64_t addr, struct ops *ret)
{
	uint64_t off, left;
	uint32_t words[WORDS_MAX], more, i = 0;
	bool wide;

	if (!cfi__offset_of(cfi, addr, &off, &left))
		return false;
	if (left > sizeof(words))
		left = sizeof(words);
	left /= sizeof(*words);
	if (!left || image__read(&cfi->img, off, words, left * sizeof(*words)))
		return false;
	if (!(words[0] & INLINE) && ++i == left)
		return false;
	wide = !i && (words[0] >> 24 & 0xf);
	if (!i && (words[0] >> 24 & 0xf) > 2)
		return false;
	more = i ? words[1] >> 24 : wide ? words[0] >> 16 & 0xff : 0;
	if (more >= left - i)
		return false;
	add_ops(ret, words[i], wide ? 2 : 3);
	while (more--)
		add_ops(ret, words[++i], 4);
	return true;
}

static uint8_t next(struct ops *ops)
{
	ops->bad |= ops->at == ops->len;
	return ops->bad ? 0 : ops->bytes[ops->at++];
}

static void pop(struct unwinding *u, uint32_t mask)
{
	for (unsigned reg = 0; reg < 16; reg++) {
		if (!(mask >> reg & 1))
			continue;
		u->slots[reg] = u->off;
		u->popped |= 1u << reg;
		u->off += 4;
	}
}

/* An addition of any size, in a number of up to 32 bits. */
static void add_far(struct unwinding *u, struct ops *ops)
{
	uint32_t value = 0, shift = 0;
	uint8_t byte;

	do {
		byte = next(ops);
		ops->bad |= shift > 21;
		value |= (uint32_t)(byte & 0x7f) << (ops->bad ? 0 : shift);
		shift += 7;
	} while (byte & 0x80 && !ops->bad);
	u->off += 0x204 + ((value & 0xffffff) << 2);
}

/* Operations from 0xb0 on: with a second byte, or of the floating-point unit. */
static void run_long(struct unwinding *u, struct ops *ops, uint8_t op)
{
	uint8_t arg;

	if (op == 0xb1) {
		arg = next(ops);
		ops->bad |= !arg || arg > 0xf;
		pop(u, arg);
	} else if (op == 0xb2) {
		add_far(u, ops);
	} else if (op == 0xb3) { /* FSTMFDX: a word more */
		u->off += 8 * ((next(ops) & 0xf) + 1) + 4;
	} else if (op == 0xb4) { /* a signature of the return address */
		u->off += 4;
	} else if (op >= 0xb8 && op <= 0xbf) {
		u->off += 8 * ((op & 7) + 1) + 4;
	} else if (op == 0xc8 || op == 0xc9) {
		u->off += 8 * ((next(ops) & 0xf) + 1);
	} else if (op >= 0xd0 && op <= 0xd7) {
		u->off += 8 * ((op & 7) + 1);
	} else {
		ops->bad = true;
	}
}

static void run_one(struct unwinding *u, struct ops *ops, uint8_t op)
{
	uint32_t mask;

	if (op < 0x40) {
		u->off += (op << 2) + 4;
	} else if (op < 0x80) {
		u->off -= ((op & 0x3f) << 2) + 4;
	} else if (op < 0x90) {
		mask = (op & 0xf) << 12 | next(ops) << 4;
		ops->bad |= !mask || mask >> SP & 1; /* 0: refuses to be unwound */
		pop(u, mask);
	} else if (op < 0xa0) {
		/* Slots before would have another base; no compiler does that. */
		ops->bad |= (op & 0xf) == SP || (op & 0xf) == PC || u->popped;
		u->base = op & 0xf;
		u->off = 0;
	} else if (op < 0xb0) {
		mask = ((1u << ((op & 7) + 1)) - 1) << 4;
		pop(u, mask | (op & 8 ? 1u << LR : 0));
	} else {
		run_long(u, ops, op);
	}
	ops->bad |= u->off < -(1 << 26) || u->off > 1 << 26;
}

static bool run_ops(struct ops *ops, struct unwinding *u)
{
	while (ops->at < ops->len && !ops->bad) {
		uint8_t op = next(ops);

		if (op == 0xb0)
			break;
		run_one(u, ops, op);
	}
	return !ops->bad;
}

static int fill(struct cfi *cfi, const struct unwinding *u, struct cfi_row *row)
{
	struct cfi_rule rules[16];
	size_t cnt = 0;

	for (unsigned reg = 0; reg < PC; reg++) {
		unsigned from = reg == LR && u->popped >> PC & 1 ? PC : reg;

		if (u->popped >> from & 1)
			rules[cnt++] = (struct cfi_rule){ .reg = reg,
							  .how = CFI_OFFSET,
							  .value = u->slots[from] - u->off };
	}
	row->cfa = (struct cfi_rule){ .reg = u->base, .how = CFI_VAL_OFFSET, .value = u->off };
	row->ra = LR;
	return cfi_rules__add(cfi, rules, cnt, row);
}

void exidx__open(struct cfi *cfi, const struct elf *elf)
{
	const struct elf_segment *seg = &elf->exidx;

	if (cfi->machine == EM_ARM && seg->file_size / CFI_PAIR <= CFI_INDEX_MAX)
		cfi->exidx = (struct cfi_search){ .is_prel31 = true,
						  .addr = seg->vaddr,
						  .off = seg->offset,
						  .cnt = seg->file_size / CFI_PAIR };
}

bool exidx__find(struct cfi *cfi, uint64_t vaddr, bool exact, struct cfi_row *row)
{
	struct unwinding u = { .base = SP };
	struct ops ops = {};
	struct cfi_pair pair;

	if (!cfi->exidx.cnt || !cfi_search__pair(cfi, &cfi->exidx, vaddr, &pair) ||
	    pair.value == CANT_UNWIND)
		return false;
	if (!(pair.value & INLINE)) {
		if (!read_table(cfi, (uint32_t)(pair.addr + 4 + prel31(pair.value)), &ops))
			return false;
	} else if (pair.value >> 24 == 0x80) {
		add_ops(&ops, pair.value, 3);
	} else {
		return false;
	}
	if (exact && vaddr == pair.start) /* no instruction has run */
		ops.len = 0;
	row->since_start = vaddr - pair.start;
	row->has_table = run_ops(&ops, &u) && !fill(cfi, &u, row);
	return row->has_table;
}
