/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of HotSpot's code on x86-64 that leaves a frame. See java_code.h. */
#include "symbol/unwind/java_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "symbol/unwind/tables.h"

bool java_code__is_dispatch(const uint8_t *code)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x24, 0xda };

	return !memcmp(code, jump, sizeof(jump));
}

bool java_code__is_tail_jump(const uint8_t *code)
{
	code += *code == 0x41;
	return code[0] == 0xff && ((code[1] & 0xf8) == 0xe0 || code[1] == 0x63 || code[1] == 0xa3);
}

/* mov %r13, -16(%rbp); from JDK 22 on mov %rcx, -16(%rbp) */
bool java_code__is_invocation(const uint8_t *code)
{
	static const uint8_t keep[] = { 0x4c, 0x89, 0x6d, 0xf0 };
	static const uint8_t keep_index[] = { 0x48, 0x89, 0x4d, 0xf0 };

	return !memcmp(code, keep, sizeof(keep)) || !memcmp(code, keep_index, sizeof(keep_index));
}

static const uint8_t set_up[] = { 0x55, 0x48, 0x8b, 0xec };

bool java_code__sets_up_frame(const uint8_t *code)
{
	return !memcmp(code, set_up, sizeof(set_up));
}

bool java_code__restores_fp(const uint8_t *code)
{
	return code[0] == 0x48 && code[1] == 0x8b && (code[2] == 0x6c || code[2] == 0xac) &&
	       code[3] == 0x24;
}

/*
 * mov -16(%rbp), %rsp; from JDK 22 on mov -16(%rbp), %rcx and lea (%rbp,%rcx,8), %rsp; then movq
 * $0, -16(%rbp)
 */
bool java_code__enters_interpreter(const uint8_t *code)
{
	static const uint8_t by_address[] = { 0x48, 0x8b, 0x65, 0xf0 };
	static const uint8_t by_index[] = { 0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0x00 };
	static const uint8_t clear[] = { 0x48, 0xc7, 0x45, 0xf0, 0, 0, 0, 0 };

	if (!memcmp(code, by_address, sizeof(by_address)))
		code += sizeof(by_address);
	else if (!memcmp(code, by_index, sizeof(by_index)))
		code += sizeof(by_index);
	else
		return false;
	return !memcmp(code, clear, sizeof(clear));
}

/* test %eax, (%reg) */
static bool is_poll(const uint8_t *code)
{
	code += *code == 0x41;
	return code[0] == 0x85 && !(code[1] & 0xf8) && code[1] != 4 && code[1] != 5;
}

bool java_code__is_return(const uint8_t *code)
{
	return java_code__enters_interpreter(code) || is_poll(code);
}

bool java_code__keeps_frame(const uint8_t *code, size_t *ret_at)
{
	const uint8_t *at = memmem(code, JAVA_PROLOGUE_BYTES, set_up, sizeof(set_up));

	if (at)
		*ret_at = at - code + sizeof(set_up);
	return at;
}

struct jvm_exits *java_code__exits(struct process *process)
{
	if (!process->java_ways)
		process->java_ways = must__calloc(1, sizeof(*process->java_ways));
	return process->java_ways;
}

bool java_code__returns_to(struct process_env *env, struct process *process, uint16_t machine,
			   const struct region *region, uint64_t pc)
{
	bool (*is_return)(const uint8_t *code) =
		machine == EM_AARCH64 ? java_arm64__is_return : java_code__is_return;
	struct jvm_exits *exits = java_code__exits(process);
	uint64_t *known = exits ? &exits->returns[pc % JAVA_WAYS] : NULL;
	uint8_t code[JAVA_RETURN_BYTES];
	int res;

	if (known && *known == pc)
		return true;
	res = tables__behind_call(env, process, machine, region, pc);
	if (res)
		return res > 0;
	if (tables__code(env, process, region, pc, code, sizeof(code)) || !is_return(code))
		return false;
	if (known)
		*known = pc;
	return true;
}
