/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF's expressions, as far as unwind tables use them. */
#ifndef JANK_SYMBOL_UNWIND_CFI_EXPR_H
#define JANK_SYMBOL_UNWIND_CFI_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an expression may ask for. Each returns false when it can't be had. */
struct cfi_world {
	bool (*reg)(void *ctx, uint64_t reg, uint64_t *ret);
	bool (*memory)(void *ctx, uint64_t addr, unsigned size, uint64_t *ret);
	void *ctx;
	unsigned word; /* bytes of an address */
};

/*
 * Runs it; `first` (or NULL: nothing) is pushed before. False: it asks for what isn't there or what
 * tables don't do.
 */
bool cfi_expr__run(const uint8_t *expr, size_t len, const uint64_t *first,
		   const struct cfi_world *world, uint64_t *ret);

#endif
