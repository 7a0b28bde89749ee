/* SPDX-License-Identifier: GPL-2.0 */
/* Objects of Ruby 3.1 to 3.4 in this process's own memory. */
#ifndef JANK_TEST_RUBY_IMAGE_H
#define JANK_TEST_RUBY_IMAGE_H

#include <unistd.h>

#include "symbol/languages/ruby.h"
#include "tests/unit/python_image.h"

static struct process_env env = { .proc = "/proc" };

struct world {
	struct image_mem image;
	struct ruby *ruby;
	struct heap_process *heap;
	struct process process;
	uint64_t vm, list;
};

IMAGE_FN void begin(struct world *w, uint32_t version)
{
	uint64_t ractor;

	*w = (struct world){ .image = { .bytes = calloc(1, IMAGE_SZ) } };
	memset(w->image.bytes, 0, IMAGE_SZ); /* touches each page, so that it exists */
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

IMAGE_FN void end(struct world *w)
{
	heap_process__free(w->heap);
	free(w->image.bytes);
}

IMAGE_FN uint64_t add_string(struct world *w, const char *text, bool is_long)
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

IMAGE_FN uint64_t add_code(struct world *w, uint64_t parent, uint64_t path)
{
	uint64_t ret = image__room(&w->image, 32), body = image__room(&w->image, 256);

	image__put(ret, 16, body, 8);
	image__put(body, w->ruby->offsets->parent, parent, 8);
	image__put(body, 64, path, 8);
	return ret;
}

IMAGE_FN uint64_t add_array(struct world *w, uint64_t first)
{
	uint64_t ret = image__room(&w->image, 32);

	image__put(ret, 0, 7, 8);
	image__put(ret, 16, first, 8);
	return ret;
}

#define CODE_WORDS 700

/* Its length: in the flags of a short String of 3.1, else a member. */
IMAGE_FN void set_length(struct world *w, uint64_t string, uint64_t len)
{
	uint64_t flags;

	memcpy(&flags, (void *)string, 8);
	if (w->ruby->offsets->text == 16 && !(flags & 1u << 13))
		image__put(string, 0, flags | len << 14, 8);
	else
		image__put(string, 16, len, 8);
}

/* An entry at each position that is a multiple of `every`; as iseq.c makes its succinct index. */
IMAGE_FN void add_lines(struct world *w, uint64_t body, uint32_t every)
{
	uint32_t cnt = (CODE_WORDS + every - 1) / every;
	uint64_t entries = image__room(&w->image, cnt * 12), index = image__room(&w->image, 256);
	uint64_t *words = (uint64_t *)index, *block = words + 6;
	uint64_t at = body + w->ruby->offsets->parent - 48;

	for (uint32_t i = 0; i < cnt; i++)
		image__put(entries, 12 * i, 1000 + i, 4);
	for (uint32_t x = 0; x < 54; x++)
		words[x / 9] |= (uint64_t)(x / every + 1) << x % 9 * 7;
	for (uint32_t b = 0; b < 2; b++, block += 10) {
		uint32_t first = 54 + 512 * b, rank = (first + every - 1) / every, sum = 0;

		block[0] = rank;
		for (uint32_t x = 0; x < 512; x++) {
			if (x && x % 64 == 0)
				block[1] |= (uint64_t)sum << (x / 64 - 1) * 9;
			if ((first + x) % every == 0) {
				block[2 + x / 64] |= 1ull << x % 64;
				sum++;
			}
		}
	}
	image__put(at, 0, entries, 8);
	image__put(at, 16, cnt, 4);
	image__put(at, 24, index, 8);
}

/* A method of that name; *ret_code: its instructions. */
IMAGE_FN uint64_t add_method(struct world *w, const char *name, bool is_long, uint64_t *ret_code)
{
	uint64_t text = add_string(w, name, is_long),
		 path = add_string(w, "/srv/shop/app.rb", true);
	uint64_t ret, body;

	set_length(w, text, strlen(name));
	set_length(w, path, 16);
	ret = add_code(w, 0, add_array(w, path));
	memcpy(&body, (void *)(ret + 16), 8);
	*ret_code = image__room(&w->image, 16);
	image__put(ret, 0, 0x1a | 7 << 12, 8);
	image__put(body, 4, CODE_WORDS, 4);
	image__put(body, 8, *ret_code, 8);
	image__put(body, 72, text, 8);
	add_lines(w, body, 7);
	return ret;
}

/* "function file:line"; "" without a name. */
static const char *name_of(struct world *w, uint64_t iseq, uint64_t pc)
{
	static char text[512];
	struct jank_script_frame from = { iseq, pc, 0, 0 };
	struct stack stack = { .script = &from, .script_cnt = 1 };
	struct pool pool = {};
	const struct frame *frame;

	*text = '\0';
	if (!script__add_frames(&env, &w->process, &pool, &stack) && stack.frames[0].function) {
		frame = &stack.frames[0];
		snprintf(text, sizeof(text), "%s %s:%u", frame->function, frame->file, frame->line);
	}
	free(stack.frames);
	pool__free(&pool);
	return text;
}

#endif
