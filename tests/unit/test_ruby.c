/* SPDX-License-Identifier: GPL-2.0 */
/* Threads and code of Ruby 3.1 to 3.4 in memory: this process's own. */
#include <unistd.h>

#include "symbol/languages/ruby.h"
#include "tests/unit/python_image.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static struct process_env env = { .proc = "/proc" };
static const uint32_t versions[] = { 0x03010200, 0x03020400, 0x03030500, 0x03040500 };

struct world {
	struct image_mem image;
	struct ruby *ruby;
	struct heap_process *heap;
	struct process process;
	uint64_t vm, list;
};

static uint64_t add_thread(struct world *w, uint32_t tid)
{
	const struct ruby_offsets *offsets = w->ruby->offsets;
	uint64_t ret = image__room(&w->image, 512), native = image__room(&w->image, 64), last;

	image__put(ret, offsets->thread.vm, w->vm, 8);
	image__put(ret, offsets->thread.native, native, 8);
	image__put(ret, offsets->thread.ec, native + 32, 8);
	image__put(offsets->is_native ? native : ret, offsets->tid, tid, 4);
	memcpy(&last, (void *)(w->list + 8), sizeof(last));
	image__put(last, 0, ret, 8);
	image__put(w->list, 8, ret, 8);
	image__put(ret, 0, w->list, 8);
	return ret;
}

static void begin(struct world *w, uint32_t version)
{
	uint64_t ractor;

	*w = (struct world){ .image = image__new(0x030b02f0) };
	w->ruby = calloc(1, sizeof(*w->ruby));
	w->heap = calloc(1, sizeof(*w->heap));
	*w->heap = (struct heap_process){ .language = &language_ruby, .state = w->ruby };
	w->ruby->offsets = ruby_offsets__of(version);
	w->ruby->vm_ptr = image__room(&w->image, 8);
	w->vm = image__room(&w->image, 512);
	ractor = image__room(&w->image, 512);
	w->list = ractor + w->ruby->offsets->threads;
	image__put(w->ruby->vm_ptr, 0, w->vm, 8);
	image__put(w->vm, w->ruby->offsets->main_ractor, ractor, 8);
	image__put(w->list, 0, w->list, 8);
	image__put(w->list, 8, w->list, 8);
	w->process = (struct process){ .pid = getpid(),
				       .living = getpid(),
				       .nspid = getpid(),
				       .heap = w->heap,
				       .heap_known = true };
}

static void end(struct world *w)
{
	heap_process__free(w->heap);
	free(w->image.bytes);
}

static size_t threads_of(struct world *w, struct interp_thread *ret)
{
	return heap__threads(&env, &w->process, ret, 4);
}

static void check_threads(uint32_t version)
{
	struct interp_thread threads[4];
	uint64_t first, last;
	struct world w;

	begin(&w, version);
	is_uint(threads_of(&w, threads), 0, "%x: no thread", version);
	first = add_thread(&w, gettid());
	last = add_thread(&w, 0x7ffffffe);
	is_uint(threads_of(&w, threads), 1, "a number that no thread of it has is left out");
	is_uint(threads[0].tid, gettid(), "the other one's number");
	is_uint(threads[0].where.tstate, first, "its state");
	is_uint(threads[0].where.frame_sz, w.ruby->offsets->frame_sz,
		"whose frames are contiguous");
	ok(threads[0].where.root == threads[0].where.native_id + 32,
	   "it has only its own fiber: that one's context");
	image__put(first, w.ruby->offsets->thread.root_fiber, 0x4711, 8);
	threads_of(&w, threads);
	is_uint(threads[0].where.root, 0x4711, "or the fiber");
	image__put(last, 0, first, 8);
	is_uint(threads_of(&w, threads), LEN(threads), "a cyclic list is read up to the bound");
	image__put(first, w.ruby->offsets->thread.vm, 1, 8);
	is_uint(threads_of(&w, threads), 0, "a state of another machine is none");
	image__put(w.list, 0, 16, 8);
	is_uint(threads_of(&w, threads), 0, "unreadable memory");
	end(&w);
}

static void check_newest(uint32_t version)
{
	uint64_t first, second;
	struct world w;

	begin(&w, version);
	is_uint(heap__newest(&env, &w.process), 0, "%x: no thread yet", version);
	add_thread(&w, gettid());
	first = heap__newest(&env, &w.process);
	ok(first && first == heap__newest(&env, &w.process), "the same threads");
	add_thread(&w, 0);
	second = heap__newest(&env, &w.process);
	ok(second && second != first, "a new one");
	end(&w);
}

/* --- how far out a wait is */

static uint64_t add_string(struct world *w, const char *text, bool is_long)
{
	uint64_t ret = image__room(&w->image, 64), to = ret + w->ruby->offsets->text;

	image__put(ret, 0, 5 | (is_long ? 1u << 13 : 0), 8);
	if (is_long) {
		to = image__room(&w->image, 64);
		image__put(ret, 24, to, 8);
	}
	memcpy((void *)to, text, strlen(text));
	return ret;
}

static uint64_t add_code(struct world *w, uint64_t parent, uint64_t path)
{
	uint64_t ret = image__room(&w->image, 32), body = image__room(&w->image, 256);

	image__put(ret, 16, body, 8);
	image__put(body, w->ruby->offsets->parent, parent, 8);
	image__put(body, 64, path, 8);
	return ret;
}

static uint64_t add_array(struct world *w, uint64_t first)
{
	uint64_t ret = image__room(&w->image, 32);

	image__put(ret, 0, 7, 8);
	image__put(ret, 16, first, 8);
	return ret;
}

/* The codes, innermost first; 0 is a function in C. */
static int depth(struct world *w, const uint64_t *codes, uint32_t cnt)
{
	struct jank_script_frame frames[8] = {};
	struct script_wait wait;

	for (uint32_t i = 0; i < cnt; i++)
		frames[i].code = codes[i];
	return heap__wait(&env, &w->process, frames, cnt, &wait) ? (int)wait.depth : -1;
}

#define DEPTH(w, ...)                                                                              \
	depth(w, (const uint64_t[]){ __VA_ARGS__ },                                                \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void check_depth(uint32_t version)
{
	uint64_t path, internal, program, loop, block, inner, method, pop;
	struct world w;

	begin(&w, version);
	path = add_array(&w, add_string(&w, "/srv/shop/app.rb", true));
	internal = add_string(&w, "<internal:thread>", false);
	program = add_code(&w, 0, path);
	loop = add_code(&w, program, path);
	block = add_code(&w, loop, path);
	inner = add_code(&w, block, path);
	method = add_code(&w, 0, path);
	pop = add_code(&w, 0, internal);
	is_int(DEPTH(&w, 0, block, 0, loop), 1, "%x: Thread.new { loop { queue.pop } }", version);
	is_int(DEPTH(&w, 0, 0, inner, 0, block, 0, loop), 1,
	       "synchronize { condition.wait } in it is as far out");
	is_int(DEPTH(&w, 0, pop, block, 0, loop), 1, "so is a pop that is written in Ruby");
	is_int(DEPTH(&w, 0, block, pop, loop), 1, "and a loop");
	is_int(DEPTH(&w, 0, method, block, 0, loop), 2, "a method of the program is not");
	is_int(DEPTH(&w, 0, loop, block, 0, loop), 2, "nor is a block from elsewhere");
	is_int(DEPTH(&w, 0, 0x10, loop), -1, "an invalid code says nothing");
	end(&w);
}

int main(void)
{
	if (!ruby_offsets__of(versions[0]))
		skip_all("Ruby's frames are not known on this machine");
	for (size_t i = 0; i < LEN(versions); i++) {
		check_threads(versions[i]);
		check_newest(versions[i]);
		check_depth(versions[i]);
	}
	ok(!ruby_offsets__of(0x03000000) && !ruby_offsets__of(0x04000000),
	   "other versions are not read");
	return tap__done();
}
