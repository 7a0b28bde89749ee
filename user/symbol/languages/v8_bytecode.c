/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BytecodeArrays and their functions. A function leads to its array, not the other way; so the
 * owners of arrays are learned from frames that have both. The collector moves young functions
 * before they are read, but not their arrays.
 */
#include "symbol/languages/v8.h"

#define INTERPRETED 8 /* of InterpreterData: the bytecode */

bool v8__is_scripted(struct v8 *v8, uint64_t shared)
{
	return v8__is_a(v8, shared, V8_TYPE_SHARED) &&
	       v8__is_a(v8, v8__member(v8, shared, V8_SHARED_SCRIPT), V8_TYPE_SCRIPT);
}

uint64_t v8__bytecode_in(struct v8 *v8, uint64_t data)
{
	if (v8__is_a(v8, data,
		     V8_TYPE_CODE)) /* of the baseline: the bytecode is in place of other data */
		data = v8__member(v8, data, V8_CODE_DEOPT);
	else if (v8__is_a(v8, data, V8_TYPE_BASELINE_DATA))
		data = v8__word(v8, data - 1 + V8_BASELINE_CODE + 8);
	if (v8__is_a(v8, data, V8_TYPE_INTERPRETER_DATA))
		data = v8__word(v8, data - 1 + INTERPRETED);
	return data;
}

uint64_t v8__bytecode_of(struct v8 *v8, uint64_t shared)
{
	return v8__bytecode_in(v8, v8__member(v8, shared, V8_SHARED_DATA));
}

static struct v8_owner *slot_of(struct v8 *v8, uint64_t bytecode)
{
	return &v8->owners[bytecode * 0x9e3779b97f4a7c15 >> 32 & (V8_OWNERS - 1)];
}

void v8_bytecode__learn(struct v8 *v8, uint64_t bytecode, uint64_t shared)
{
	if (!v8->reader->later)
		*slot_of(v8, bytecode) = (struct v8_owner){ bytecode, shared };
}

uint64_t v8_bytecode__owner(struct v8 *v8, uint64_t bytecode)
{
	const struct v8_owner *owner = slot_of(v8, bytecode);

	if (owner->bytecode != bytecode || !v8__is_scripted(v8, owner->shared) ||
	    v8__bytecode_of(v8, owner->shared) != bytecode)
		return 0;
	return owner->shared;
}
