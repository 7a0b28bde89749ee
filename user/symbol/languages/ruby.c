/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby: its file, its threads, and their waits. See ruby.h.
 *
 * Offsets for 64-bit x86, where pthread_mutex_t has 40 bytes, from vm_core.h, ractor_core.h and
 * thread_pthread.h of 3.1.2, 3.2.4, 3.3.5 and 3.4.5. All releases of these minor versions have the
 * same offsets. A wrong offset is detected: no state would point to the virtual machine.
 */
#include "symbol/languages/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define VERSION_MAX    16
#define NEAR_MAX       8192 /* bytes before rb_mutex_lock where its jump may lead */
#define THREADS_MAX    4096
#define MINOR(version) ((version) >> 16)

#ifdef __x86_64__
static const struct ruby_offsets known[] = {
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

const struct ruby_offsets *ruby_offsets__of(uint32_t version)
{
#ifdef __x86_64__
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (MINOR(known[i].version) == MINOR(version))
			return &known[i];
#endif
	return NULL;
}

/* --- the file */

/* Parses "3.1.2" to 0x03010200. */
static int read_version(const struct elf *elf, uint64_t vaddr, uint32_t *ret)
{
	char text[VERSION_MAX] = {};
	unsigned major, minor, patch;
	int res = elf__read(elf, vaddr, text, sizeof(text) - 1);

	if (res)
		return res;
	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
		return -ENOENT;
	*ret = (major & 0xff) << 24 | (minor & 0xff) << 16 | (patch & 0xff) << 8;
	return 0;
}

/*
 * Returns the begin of the code behind rb_mutex_lock. rb_mutex_lock may only jump to an unnamed
 * function shortly before it. Then rb_mutex_lock is not in the stacks of the threads that wait.
 * Returns the target of the jump, or the function itself.
 */
static uint64_t lock_begin(const struct elf *elf, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16];
	size_t at = 0;
	int32_t disp;
	uint64_t to;

	if (elf__read(elf, vaddr, code, sizeof(code)))
		return vaddr;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (code[at] == 0xbe) /* mov $1,%esi */
		at += 5;
	memcpy(&disp, code + at + 1, sizeof(disp));
	to = vaddr + at + 5 + disp;
	return code[at] == 0xe9 && to < vaddr && vaddr - to < NEAR_MAX ? to : vaddr;
}

static int open_file(const struct elf *elf, void **ret)
{
	struct language_symbol symbols[] = { { .name = "ruby_current_vm_ptr" },
					     { .name = "ruby_version" },
					     { .name = "rb_mutex_lock" } };
	struct language_symbol run = { .name = "rb_vm_exec" };
	const Elf64_Sym *lock = &symbols[2].sym;
	const struct ruby_offsets *offsets;
	struct ruby *file;
	uint32_t version;
	int res = language__symbols(elf, symbols, 3);

	res = res ?: read_version(elf, symbols[1].sym.st_value, &version);
	if (res)
		return res;
	offsets = ruby_offsets__of(version);
	if (!offsets)
		return -ENOTSUP;
	file = malloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	res = language__symbols(elf, &run, 1);
	*file = (struct ruby){
		.is_named = !res,
		.offsets = offsets,
		.vm_ptr = symbols[0].sym.st_value,
		.lock_begin = lock_begin(elf, lock->st_value),
		.lock_end = lock->st_value + lock->st_size,
	};
	*ret = file;
	return 0;
}

static int start(const void *file, uint64_t bias, const struct heap_memory *mem, void **ret)
{
	struct ruby *ruby = malloc(sizeof(*ruby));

	if (!ruby)
		return -ENOMEM;
	*ruby = *(const struct ruby *)file;
	ruby->vm_ptr += bias;
	ruby->lock_begin += bias;
	ruby->lock_end += bias;
	*ret = ruby;
	return 0;
}

static size_t bytes(const void *state)
{
	return sizeof(struct ruby) + frame_places__bytes(&((const struct ruby *)state)->places);
}

static void end(void *state)
{
	frame_places__free(&((struct ruby *)state)->places);
	free(state);
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

static int read_path(const struct ruby_offsets *offsets, const struct heap_memory *mem,
		     uint64_t path, char ret[sizeof(INTERNAL) - 1])
{
	uint64_t flags, text;
	int res = heap_memory__word(mem, path, &flags);

	if (!res && TYPE(flags) == TYPE_ARRAY) {
		res = heap_memory__word(mem, path + ELEMENTS_AT, &path)
			      ?: heap_memory__word(mem, path, &flags);
	}
	text = path + offsets->text;
	if (!res && flags & STRING_LONG)
		res = heap_memory__word(mem, path + POINTER_AT, &text);
	return res ?: heap_memory__read(mem, text, ret, sizeof(INTERNAL) - 1);
}

/* Code of a method, or of a block in a method. */
struct code {
	uint64_t parent;  /* for a block: the code that contains it, else 0 */
	bool is_internal; /* Ruby's own: "<internal:thread_sync>" */
};

/* 0 or -errno. */
static int read_code(const struct ruby_offsets *offsets, const struct heap_memory *mem,
		     uint64_t iseq, struct code *ret)
{
	char path_begin[sizeof(INTERNAL) - 1];
	uint64_t body, path;
	int res = heap_memory__word(mem, iseq + BODY_AT, &body);

	res = res ?: heap_memory__word(mem, body + offsets->parent, &ret->parent);
	res = res ?: heap_memory__word(mem, body + PATH_AT, &path);
	res = res ?: read_path(offsets, mem, path, path_begin);
	ret->is_internal = !res && !memcmp(path_begin, INTERNAL, sizeof(path_begin));
	return res;
}

/* --- threads */

struct thread {
	uint64_t address, native;
	uint64_t root_fiber; /* or its execution context, when the thread has no other fiber yet */
	uint32_t tid;	     /* thread id in the process's PID namespace */
};

/*
 * Reads the state that begins with this node of the list. Returns non-zero when it is not a state.
 */
static int read_thread(const struct ruby_offsets *offsets, const struct heap_memory *mem,
		       uint64_t vm, uint64_t address, struct thread *ret)
{
	uint64_t owner;

	*ret = (struct thread){ .address = address };
	if (heap_memory__word(mem, address + offsets->thread.vm, &owner) || owner != vm ||
	    heap_memory__word(mem, address + offsets->thread.native, &ret->native) ||
	    heap_memory__word(mem, address + offsets->thread.root_fiber, &ret->root_fiber) ||
	    (!ret->root_fiber &&
	     heap_memory__word(mem, address + offsets->thread.ec, &ret->root_fiber)))
		return -1;
	return heap_memory__read(mem, (offsets->is_native ? ret->native : address) + offsets->tid,
				 &ret->tid, sizeof(ret->tid));
}

/* Returns the thread list of the main Ractor. 0: not readable. */
static uint64_t list_of(const struct ruby_offsets *offsets, const struct heap_memory *mem,
			uint64_t vm_ptr, uint64_t *ret_vm)
{
	uint64_t ractor;

	if (heap_memory__word(mem, vm_ptr, ret_vm) || !*ret_vm ||
	    heap_memory__word(mem, *ret_vm + offsets->main_ractor, &ractor) || !ractor)
		return 0;
	return ractor + offsets->threads;
}

static bool nameless(const void *file)
{
	return !((const struct ruby *)file)->is_named;
}

/* Offset of the frame pointer in the execution context, after the stack's address and size. */
#define CFP_AT 16

static struct jank_script_where where_of(const struct ruby *ruby, const struct thread *thread)
{
	const struct ruby_offsets *offsets = ruby->offsets;

	return (struct jank_script_where){
		.tstate = thread->address,
		.native_id = thread->native,
		.native_at = offsets->thread.native,
		.frame_at = offsets->thread.ec,
		.cframe_at = CFP_AT,
		.frame_sz = offsets->frame_sz,
		.places_only = !ruby->is_named,
		.root = thread->root_fiber,
	};
}

static void threads(const void *state, const struct heap_memory *mem, heap_thread_fn fn, void *ctx)
{
	const struct ruby *ruby = state;
	uint64_t vm, list = list_of(ruby->offsets, mem, ruby->vm_ptr, &vm), at = list;
	struct jank_script_where where;
	struct thread thread;

	for (unsigned i = 0; list && i < THREADS_MAX; i++) {
		if (heap_memory__word(mem, at, &at) || at == list ||
		    read_thread(ruby->offsets, mem, vm, at, &thread))
			return;
		where = where_of(ruby, &thread);
		if (thread.tid && !fn(ctx, thread.tid, &where))
			return;
	}
}

/* A new thread's state is added at the end of the list. Its thread id is written when it runs. */
static uint64_t newest(const void *state, const struct heap_memory *mem)
{
	const struct ruby *ruby = state;
	struct thread last;
	uint64_t vm, list = list_of(ruby->offsets, mem, ruby->vm_ptr, &vm), ends[2];

	if (!list || heap_memory__read(mem, list, ends, sizeof(ends)) ||
	    read_thread(ruby->offsets, mem, vm, ends[1], &last))
		return 0;
	return XXH64(&last, sizeof(last), ends[0]) ?: 1;
}

/* --- waits */

/*
 * Number of outer Ruby frames to search: a method that calls a block may lie between the block and
 * the method that contains it.
 */
#define PARENTS 2

static bool stands_in(const struct jank_script_frame *frames, uint32_t cnt, uint64_t parent)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < cnt && seen < PARENTS; i++) {
		if (frames[i].code == parent)
			return true;
		seen += frames[i].code != 0;
	}
	return false;
}

/*
 * Ruby's blocks belong to the method that contains them, and functions in C to their callers. So
 * mutex.synchronize { condition.wait(mutex) } in a thread's loop is as far out as queue.pop. It is
 * further out than any method that the loop calls.
 */
static bool describe_wait(void *state, const struct heap_memory *mem,
			  const struct jank_script_frame *frames, uint32_t cnt,
			  struct script_wait *ret)
{
	const struct ruby *ruby = state;

	*ret = (struct script_wait){
		.one_call = true,
		.lock_begin = ruby->lock_begin,
		.lock_end = ruby->lock_end,
	};
	for (uint32_t i = 0; i < cnt; i++) {
		struct code code;

		if (!frames[i].code)
			continue;
		if (read_code(ruby->offsets, mem, frames[i].code, &code))
			return false;
		ret->depth += !code.is_internal &&
			      !(code.parent && stands_in(frames + i + 1, cnt - i - 1, code.parent));
	}
	return true;
}

/* A sleep has fewer callers in C than a queue in the same code. */
static const struct heap_language heap = {
	.alike = 1u << JANK_CLASS_FUTEX | 1u << JANK_CLASS_POLL_FDS,
	.sleep = "rb_thread_wait_for",
	.start = start,
	.nameless = nameless,
	.threads = threads,
	.newest = newest,
	.wait = describe_wait,
	.name = ruby__name,
};

const struct language language_ruby = {
	.name = "ruby",
	.file = "ruby",
	.open = open_file,
	.bytes = bytes,
	.end = end,
	.heap = &heap,
};
