/* SPDX-License-Identifier: GPL-2.0 */
#include "symbol/unwind.h"
int symbolizer__unwind(struct symbolizer *sym, uint32_t pid, const struct copy_event *copy,
		       struct unwound *ret)
{
	(void)sym;
	(void)pid;
	ret->addresses[0] = copy->rec.regs[16];
	ret->cnt = 1;
	ret->end = STACK_END_NO_TABLE;
	ret->module = NULL;
	ret->used_sz = 0;
	return 0;
}
