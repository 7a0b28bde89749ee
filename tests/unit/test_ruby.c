/* SPDX-License-Identifier: GPL-2.0 */
/* Threads and code of Ruby 3.1 to 3.4 in memory: this process's own. */
#include "tests/unit/ruby_image.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const uint32_t versions[] = { 0x03010200, 0x03020400, 0x03030500, 0x03040500 };

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

/* --- names */

#define LONG_NAME "a_method_whose_name_is_longer_than_a_short_string_of_ruby"

static void check_names(uint32_t version)
{
	static const struct {
		uint32_t word, line;
	} places[] = { { 0, 1000 },   { 1, 1000 },   { 7, 1000 },   { 8, 1001 },
		       { 54, 1007 },  { 55, 1007 },  { 57, 1008 },  { 300, 1042 },
		       { 566, 1080 }, { 567, 1080 }, { 568, 1081 }, { CODE_WORDS, 1099 } };
	uint64_t method, other, code, other_code;
	char want[128];
	struct world w;

	begin(&w, version);
	method = add_method(&w, "handle", false, &code);
	for (size_t i = 0; i < LEN(places); i++) {
		snprintf(want, sizeof(want), "handle /srv/shop/app.rb:%u", places[i].line);
		is_str(name_of(&w, method, code + 8 * places[i].word), want, "%x: word %u", version,
		       places[i].word);
	}
	other = add_method(&w, LONG_NAME, true, &other_code);
	is_str(name_of(&w, other, other_code + 8), LONG_NAME " /srv/shop/app.rb:1000",
	       "a long name");
	is_str(name_of(&w, other, code), "", "a pc of other code");
	is_str(name_of(&w, method, code - 8), "", "a pc before the code");
	is_str(name_of(&w, method, code + 8 * CODE_WORDS + 8), "", "a pc behind it");
	is_str(name_of(&w, 0x10, code), "", "no memory");
	image__put(method, 0, 0x1a | 6 << 12, 8);
	is_str(name_of(&w, method, code + 16), "", "another object");
	image__put(method, 0, 0x05 | 7 << 12, 8);
	is_str(name_of(&w, method, code + 24), "", "a String");
	end(&w);
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
		check_names(versions[i]);
	}
	ok(!ruby_offsets__of(0x03000000) && !ruby_offsets__of(0x04000000),
	   "other versions are not read");
	return tap__done();
}
