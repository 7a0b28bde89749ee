/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluator of DWARF expressions, for the operations that unwind tables use. */
#ifndef JANK_SYMBOL_UNWIND_CFI_EXPR_H
#define JANK_SYMBOL_UNWIND_CFI_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Callbacks for what an expression reads. Each returns false when the value is not available. */
struct cfi_world {
	bool (*reg)(void *ctx, uint64_t reg, uint64_t *ret);
	bool (*memory)(void *ctx, uint64_t addr, unsigned size, uint64_t *ret);
	void *ctx;
	unsigned word; /* bytes of an address */
};

/*
 * Runs the expression. `first` is pushed before, unless NULL. Returns false when a value is not
 * available, or when an operation is not one that unwind tables use.
 */
bool cfi_expr__run(const uint8_t *expr, size_t len, const uint64_t *first,
		   const struct cfi_world *world, uint64_t *ret);

#endif
