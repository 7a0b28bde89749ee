/* SPDX-License-Identifier: GPL-2.0 */
/* Threads and code objects of CPython 3.11 to 3.13 in memory: this process's own. */
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/python_image.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static struct process_env env = { .proc = "/proc" };
static const uint32_t versions[] = { 0x030b02f0, 0x030c01f0, 0x030d00f0 };

struct world {
	struct image_mem image;
	struct python *python;
	struct heap_process *heap;
	struct process process;
	struct pool pool;
	uint64_t runtime, interp, tstate;
};

static uint64_t add_tstate(struct world *w, uint64_t next, uint64_t native_id)
{
	const struct python_offsets *offsets = &w->image.offsets;
	uint64_t ret = image__room(&w->image, 512);

	image__put(ret, offsets->tstate.next, next, 8);
	image__put(ret, offsets->tstate.interp, w->interp, 8);
	image__put(ret, offsets->tstate.native_id, native_id, 8);
	return ret;
}

static void begin(struct world *w, uint32_t version)
{
	*w = (struct world){ .image = image__new(version) };
	w->runtime = image__room(&w->image, 4096);
	w->interp = image__room(&w->image, 16384);
	w->tstate = add_tstate(w, 0, gettid());
	image__put(w->runtime, w->image.offsets.interpreters_head, w->interp, 8);
	image__put(w->interp, w->image.offsets.threads_head, w->tstate, 8);
	w->python = calloc(1, sizeof(*w->python));
	w->python->runtime = w->runtime;
	w->python->code_type = 0x4711;
	w->python->offsets = w->image.offsets;
	w->heap = calloc(1, sizeof(*w->heap));
	*w->heap = (struct heap_process){ .language = &language_python, .state = w->python };
	w->process = (struct process){ .pid = getpid(),
				       .living = getpid(),
				       .nspid = getpid(),
				       .heap = w->heap,
				       .heap_known = true };
}

static void end(struct world *w)
{
	heap_process__free(w->heap);
	pool__free(&w->pool);
	free(w->image.bytes);
}

static void check_threads(uint32_t version)
{
	struct interp_thread threads[4];
	struct world w;
	uint64_t other;

	begin(&w, version);
	is_uint(heap__threads(&env, &w.process, threads, LEN(threads)), 1, "%x: one thread",
		version);
	is_uint(threads[0].tid, gettid(), "its number");
	is_uint(threads[0].where.tstate, w.tstate, "its state");
	is_uint(threads[0].where.native_id, gettid(), "its innermost frame");
	is_uint(threads[0].where.tgid, getpid(), "its process");
	is_uint(threads[0].where.direct, version >> 16 == 0x030d,
		"the frame is found by cframe, or not");
	other = add_tstate(&w, w.tstate, 0x7ffffffe);
	image__put(w.interp, w.image.offsets.threads_head, other, 8);
	is_uint(heap__threads(&env, &w.process, threads, LEN(threads)), 1,
		"a number that no thread of it has is left out");
	image__put(w.tstate, w.image.offsets.tstate.next, w.tstate, 8);
	is_uint(heap__threads(&env, &w.process, threads, LEN(threads)), LEN(threads),
		"a cyclic list is read up to the bound");
	image__put(w.tstate, w.image.offsets.tstate.interp, 1, 8);
	is_uint(heap__threads(&env, &w.process, threads, LEN(threads)), 0,
		"a state of another interpreter is none");
	image__put(w.runtime, w.image.offsets.interpreters_head, 16, 8);
	is_uint(heap__threads(&env, &w.process, threads, LEN(threads)), 0, "unreadable memory");
	end(&w);
}

/* How new threads are noticed. */
static void check_newest(uint32_t version)
{
	uint64_t first, second, other;
	struct world w;

	begin(&w, version);
	first = heap__newest(&env, &w.process);
	ok(first && heap__newest(&env, &w.process) == first, "%x: the same threads", version);
	other = add_tstate(&w, w.tstate, 0);
	image__put(w.interp, w.image.offsets.threads_head, other, 8);
	second = heap__newest(&env, &w.process);
	ok(second && second != first, "a new thread");
	image__put(other, w.image.offsets.tstate.native_id, gettid(), 8);
	ok(heap__newest(&env, &w.process) != second, "which has its number now");
	image__put(w.interp, w.image.offsets.threads_head, w.tstate, 8);
	is_uint(heap__newest(&env, &w.process), first, "it has ended");
	image__put(w.runtime, w.image.offsets.interpreters_head, 16, 8);
	ok(heap__newest(&env, &w.process) != first, "no list there");
	w.process.heap = NULL;
	is_uint(heap__newest(&env, &w.process), 0, "no interpreter");
	end(&w);
}

/* The frame of an instruction of the code object. */
static struct frame name(struct world *w, uint64_t code, int64_t instr, uint32_t first_line)
{
	struct jank_script_frame from = { code, code + w->image.offsets.code.bytecode + instr,
					  JANK_SCRIPT_ENTRY,
					  first_line * JANK_SCRIPT_CHECK + HASH };
	struct stack stack = { .script = &from, .script_cnt = 1 };
	struct frame ret = {};

	is_int(script__add_frames(&env, &w->process, &w->pool, &stack), 0, "a frame more");
	if (ok(stack.frame_cnt == 1, "one"))
		ret = stack.frames[0];
	free(stack.frames);
	return ret;
}

static void check_names(uint32_t version)
{
	struct frame frame;
	struct world w;
	uint64_t code, text;

	begin(&w, version);
	code = image__code(&w.image, 0x4711,
			   image__ascii(&w.image, "Shop.handle.<locals>.<lambda>"),
			   image__ascii(&w.image, "/srv/shop/app.py"), 40, 10);
	frame = name(&w, code, 6, 40);
	is_str(frame.function, "Shop.handle.<locals>.<lambda>", "%x: qualified name", version);
	is_str(frame.file, "/srv/shop/app.py", "file");
	is_str(frame.module, "/srv/shop/app.py", "as the module");
	is_str(frame.language, "python", "language");
	is_uint(frame.line, 43, "line");
	is_uint(frame.offset, 6, "offset");
	ok(frame.app, "it is the program's own");
	is_uint(name(&w, code, -2, 40).line, 40, "about to begin: the first line");
	is_str(name(&w, code, 20, 40).function, NULL, "after its end: not this one");
	is_str(name(&w, code, -4, 40).function, NULL, "before its begin: not this one");
	is_str(name(&w, code, 6, 41).function, NULL, "another first line: not this one");
	is_str(name(&w, code, 6, 41).module, "[python]", "but Python's");
	text = image__ascii(&w.image, "handle");
	image__put(text, w.image.offsets.unicode.hash, HASH + 1, 8);
	image__put(code, w.image.offsets.code.name, text, 8);
	python_code__forget_all(w.python);
	is_str(name(&w, code, 6, 40).function, NULL, "another name: not this one");
	end(&w);
}

static void check_changed(void)
{
	const struct timespec pause = { .tv_nsec = 120000000 };
	struct world w;
	uint64_t code;

	begin(&w, versions[0]);
	code = image__code(&w.image, 0x4711, image__ascii(&w.image, "one"),
			   image__ascii(&w.image, "a.py"), 1, 10);
	is_str(name(&w, code, 0, 1).function, "one", "a name");
	image__put(code, w.image.offsets.code.qualname, image__ascii(&w.image, "two"), 8);
	is_str(name(&w, code, 0, 1).function, "one", "the result is cached for a moment");
	nanosleep(&pause, NULL);
	is_str(name(&w, code, 0, 1).function, "two", "and then read again");
	image__put(code, 8, 0x4712, 8);
	nanosleep(&pause, NULL);
	is_str(name(&w, code, 0, 1).function, NULL, "no code object any more");
	image__put(code, 8, 0x4711, 8);
	nanosleep(&pause, NULL);
	is_str(name(&w, code, 0, 1).function, "two", "one again");
	ok(heap_process__bytes(w.heap) > sizeof(*w.heap) + sizeof(*w.python),
	   "the cache's size is counted");
	python_code__forget_all(w.python);
	is_uint(heap_process__bytes(w.heap), sizeof(*w.heap) + sizeof(*w.python), "to the byte");
	end(&w);
}

static void check_texts(void)
{
	static const uint16_t two[] = { 'n', 0xe4, 0x3b1, 0xd800 };
	static const uint32_t four[] = { 'x', 0x1f600, 0x110000, 0x7ff };
	static const uint8_t one[] = { 'n', 0xe4, 'h' };
	const struct {
		const void *chars;
		size_t cnt;
		unsigned size;
		const char *want, *what;
	} rows[] = {
		{ one, LEN(one), 1, "n\xc3\xa4h", "Latin-1" },
		{ two, LEN(two), 2, "n\xc3\xa4\xce\xb1\xef\xbf\xbd", "2 bytes, one no character" },
		{ four, LEN(four), 4, "x\xf0\x9f\x98\x80\xef\xbf\xbd\xdf\xbf", "4 bytes" },
		{ "a\0b", 3, 1, "a", "up to a NUL" },
		{ "", 0, 1, "", "empty" },
	};

	for (size_t v = 0; v < LEN(versions); v++)
		for (size_t i = 0; i < LEN(rows); i++) {
			struct world w;
			uint64_t text;

			begin(&w, versions[v]);
			text = image__str(&w.image, rows[i].chars, rows[i].cnt, rows[i].size,
					  false);
			text = image__code(&w.image, 0x4711, text, image__ascii(&w.image, "a.py"),
					   1, 1);
			is_str(name(&w, text, 0, 1).function, rows[i].want, "%x: %s", versions[v],
			       rows[i].what);
			end(&w);
		}
}

static void check_hostile(void)
{
	struct world w;
	uint64_t text, code;

	begin(&w, versions[0]);
	text = image__ascii(&w.image, "f");
	code = image__code(&w.image, 0x4711, text, image__ascii(&w.image, "a.py"), 1, 1);
	image__put(text, w.image.offsets.unicode.length, UINT64_MAX, 8);
	name(&w, code, 0, 1); /* as much as there is, up to the bound */
	python_code__forget_all(w.python);
	image__put(text, w.image.offsets.unicode.state, 7 << 2 | 1 << 5, 4);
	is_str(name(&w, code, 0, 1).function, NULL, "characters of 7 bytes");
	image__put(code, w.image.offsets.code.linetable, 8, 8);
	image__put(code, w.image.offsets.code.qualname, image__ascii(&w.image, "g"), 8);
	python_code__forget_all(w.python);
	is_str(name(&w, code, 0, 1).function, "g", "a name without lines");
	is_uint(name(&w, code, 0, 1).line, 0, "has no line");
	is_str(name(&w, 8, 0, 1).function, NULL, "no memory there");
	end(&w);
}

static void check_app(void)
{
	static const struct {
		const char *file;
		bool app;
	} rows[] = {
		{ "app.py", true },
		{ "/usr/lib/python3.11/asyncio/events.py", false },
		{ "/usr/lib/python3/dist-packages/requests/api.py", true },
		{ "/venv/lib/python3.12/site-packages/flask/app.py", true },
		{ "<frozen importlib._bootstrap>", false },
		{ "<string>", true },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct world w;
		uint64_t code;

		begin(&w, versions[1]);
		code = image__code(&w.image, 0x4711, image__ascii(&w.image, "f"),
				   image__ascii(&w.image, rows[i].file), 1, 1);
		ok(name(&w, code, 0, 1).app == rows[i].app, "%s", rows[i].file);
		end(&w);
	}
}

/* --- how far out a wait is */

static int depth(struct world *w, const uint64_t *codes, uint32_t cnt, bool *for_caller)
{
	struct jank_script_frame frames[8] = {};
	struct script_wait wait;

	for (uint32_t i = 0; i < cnt; i++) {
		frames[i].code = codes[i];
		frames[i].check = 40 * JANK_SCRIPT_CHECK + HASH;
	}
	if (!heap__wait(&env, &w->process, frames, cnt, &wait))
		return -1;
	*for_caller = wait.for_caller;
	return wait.depth;
}

static uint64_t code_of(struct world *w, const char *file)
{
	return image__code(&w->image, 0x4711, image__ascii(&w->image, "f"),
			   image__ascii(&w->image, file), 40, 4);
}

static void check_depth(uint32_t version)
{
	uint64_t worker, handler, wait, get, own;
	bool for_caller;
	struct world w;

	begin(&w, version);
	worker = code_of(&w, "/srv/shop/app.py");
	handler = code_of(&w, "/srv/shop/orders.py");
	wait = code_of(&w, "/usr/lib/python3.11/threading.py");
	get = code_of(&w, "/usr/lib/python3.11/queue.py");
	own = code_of(&w, "/srv/shop/queue.py");
	is_int(depth(&w, (const uint64_t[]){ wait, get, worker }, 3, &for_caller), 1,
	       "%x: queue.get() is as far out as its caller", version);
	ok(for_caller, "and waits for it");
	is_int(depth(&w, (const uint64_t[]){ handler, 0, worker }, 3, &for_caller), 2,
	       "a lock in a handler is deeper; an entry from C is no frame");
	ok(!for_caller, "and waits for itself");
	is_int(depth(&w, (const uint64_t[]){ handler, get, worker }, 3, &for_caller), 3,
	       "what the library calls is not the library's");
	is_int(depth(&w, (const uint64_t[]){ own, worker }, 2, &for_caller), 2,
	       "nor is a file of that name in the program");
	is_int(depth(&w, (const uint64_t[]){ 0x10, worker }, 2, &for_caller), -1,
	       "an invalid code object says nothing");
	end(&w);
}

int main(void)
{
	for (size_t i = 0; i < LEN(versions); i++) {
		check_threads(versions[i]);
		check_newest(versions[i]);
		check_depth(versions[i]);
		check_names(versions[i]);
	}
	check_changed();
	check_texts();
	check_hostile();
	check_app();
	return tap__done();
}
