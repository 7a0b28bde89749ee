/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets for 64-bit x86, where pthread_mutex_t has 40 bytes, from vm_core.h, ractor_core.h and
 * thread_pthread.h of 3.1.2, 3.2.4, 3.3.5 and 3.4.5. All releases of these minor versions have the
 * same offsets. A wrong offset is detected: no state would point to the virtual machine.
 */
#include "symbol/languages/interp.h"

#include <string.h>
#include <xxhash.h>

#define THREADS_MAX    4096
#define MINOR(version) ((version) >> 16)

#ifdef __x86_64__
static const struct script_ruby_offsets known[] = {
	{
		.version = 0x03010000,
		.main_ractor = 32,
		.threads = 304,
		.thread = { .vm = 32, .ec = 40, .native = 80, .root_fiber = 328 },
		.tid = 88,
		.frame_sz = 64,
		.parent = 168,
		.text = 16,
	},
	{
		.version = 0x03020000,
		.main_ractor = 32,
		.threads = 304,
		.thread = { .vm = 32, .ec = 48, .native = 40, .root_fiber = 280 },
		.tid = 16,
		.is_native = true,
		.frame_sz = 64,
		.parent = 160,
		.text = 24,
	},
	{
		.version = 0x03030000,
		.main_ractor = 32,
		.threads = 256,
		.thread = { .vm = 32, .ec = 48, .native = 40, .root_fiber = 408 },
		.tid = 24,
		.is_native = true,
		.frame_sz = 56,
		.parent = 160,
		.text = 24,
	},
	{
		.version = 0x03040000,
		.main_ractor = 32,
		.threads = 256,
		.thread = { .vm = 32, .ec = 48, .native = 40, .root_fiber = 424 },
		.tid = 24,
		.is_native = true,
		.frame_sz = 56,
		.parent = 160,
		.text = 24,
	},
};
#endif

const struct script_ruby_offsets *script_ruby__offsets(uint32_t version)
{
#ifdef __x86_64__
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (MINOR(known[i].version) == MINOR(version))
			return &known[i];
#endif
	return NULL;
}

/* --- code */

#define BODY_AT	    16 /* in rb_iseq_t */
#define PATH_AT	    64 /* in rb_iseq_constant_body: a String, or an Array with the String first */
#define ELEMENTS_AT 16 /* of a short Array */
#define POINTER_AT  24 /* of a long String's text */
#define TYPE(flags) ((flags)&0x1f)
#define TYPE_ARRAY  7
#define STRING_LONG (1u << 13)
#define INTERNAL    "<internal:"

static int read_path(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		     uint64_t path, char ret[sizeof(INTERNAL) - 1])
{
	uint64_t flags, text;
	int res = interp_memory__word(mem, path, &flags);

	if (!res && TYPE(flags) == TYPE_ARRAY) {
		res = interp_memory__word(mem, path + ELEMENTS_AT, &path)
			      ?: interp_memory__word(mem, path, &flags);
	}
	text = path + offsets->text;
	if (!res && flags & STRING_LONG)
		res = interp_memory__word(mem, path + POINTER_AT, &text);
	return res ?: interp_memory__read(mem, text, ret, sizeof(INTERNAL) - 1);
}

int script_ruby__code(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		      uint64_t iseq, struct script_ruby_code *ret)
{
	char path_begin[sizeof(INTERNAL) - 1];
	uint64_t body, path;
	int res = interp_memory__word(mem, iseq + BODY_AT, &body);

	res = res ?: interp_memory__word(mem, body + offsets->parent, &ret->parent);
	res = res ?: interp_memory__word(mem, body + PATH_AT, &path);
	res = res ?: read_path(offsets, mem, path, path_begin);
	ret->is_internal = !res && !memcmp(path_begin, INTERNAL, sizeof(path_begin));
	return res;
}

/* --- threads */

/*
 * Reads the state that begins with this node of the list. Returns non-zero when it is not a state.
 */
static int read_thread(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		       uint64_t vm, uint64_t address, struct script_ruby_thread *ret)
{
	uint64_t owner;

	*ret = (struct script_ruby_thread){ .address = address };
	if (interp_memory__word(mem, address + offsets->thread.vm, &owner) || owner != vm ||
	    interp_memory__word(mem, address + offsets->thread.native, &ret->native) ||
	    interp_memory__word(mem, address + offsets->thread.root_fiber, &ret->root_fiber) ||
	    (!ret->root_fiber &&
	     interp_memory__word(mem, address + offsets->thread.ec, &ret->root_fiber)))
		return -1;
	return interp_memory__read(mem, (offsets->is_native ? ret->native : address) + offsets->tid,
				   &ret->tid, sizeof(ret->tid));
}

/* Returns the thread list of the main Ractor. 0: not readable. */
static uint64_t list_of(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
			uint64_t vm_ptr, uint64_t *ret_vm)
{
	uint64_t ractor;

	if (interp_memory__word(mem, vm_ptr, ret_vm) || !*ret_vm ||
	    interp_memory__word(mem, *ret_vm + offsets->main_ractor, &ractor) || !ractor)
		return 0;
	return ractor + offsets->threads;
}

void script_ruby__each(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		       uint64_t vm_ptr,
		       bool (*fn)(void *ctx, const struct script_ruby_thread *thread), void *ctx)
{
	struct script_ruby_thread thread;
	uint64_t vm, list = list_of(offsets, mem, vm_ptr, &vm), at = list;

	for (unsigned i = 0; list && i < THREADS_MAX; i++) {
		if (interp_memory__word(mem, at, &at) || at == list ||
		    read_thread(offsets, mem, vm, at, &thread))
			return;
		if (thread.tid && !fn(ctx, &thread))
			return;
	}
}

/* A new thread's state is added at the end of the list. Its thread id is written when it runs. */
uint64_t script_ruby__newest(const struct script_ruby_offsets *offsets,
			     const struct interp_memory *mem, uint64_t vm_ptr)
{
	struct script_ruby_thread last;
	uint64_t vm, list = list_of(offsets, mem, vm_ptr, &vm), ends[2];

	if (!list || interp_memory__read(mem, list, ends, sizeof(ends)) ||
	    read_thread(offsets, mem, vm, ends[1], &last))
		return 0;
	return XXH64(&last, sizeof(last), ends[0]) ?: 1;
}
