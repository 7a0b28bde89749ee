/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames as every export reads them. A stack may come without the symbolizer's frames (out of
 * memory, a replay without the files): its raw addresses are frames too.
 */
#include "export/frame.h"

#include <string.h>

size_t stack__frame_cnt(const struct stack *stack)
{
	if (stack->frames)
		return stack->frame_cnt;
	return stack->addresses ? (size_t)stack->kernel_cnt + stack->user_cnt : 0;
}

struct frame stack__frame(const struct stack *stack, size_t i)
{
	if (stack->frames)
		return stack->frames[i];
	return (struct frame){
		.address = stack->addresses[i],
		.kernel = i < stack->kernel_cnt,
	};
}

static bool str__same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool frame__same(const struct frame *a, const struct frame *b)
{
	if (a->kernel != b->kernel || !str__same(a->module, b->module))
		return false;
	if (a->function || b->function)
		return str__same(a->function, b->function);
	return a->module ? a->offset == b->offset : a->address == b->address;
}

const char *module__base(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	if (!module)
		return "";
	return slash && slash[1] ? slash + 1 : module;
}

double share__bounded(double share)
{
	if (!(share > 0))
		return 0;
	return share < 1 ? share : 1;
}
