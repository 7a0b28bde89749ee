/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ART as a language: its frames in JIT code, and those of its interpreters. See art.h. */
#include "symbol/languages/art.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "symbol/elf/elf.h"
#include "symbol/languages/frame_places.h"
#include "symbol/unwind/cfi.h"

static int take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct art_file *file = ctx;

	if (sym->st_value && !strcmp(name, "__jit_debug_descriptor"))
		file->jit = sym->st_value;
	if (sym->st_value && !strcmp(name, "__dex_debug_descriptor"))
		file->dex = sym->st_value;
	return 0;
}

static uint8_t link_of(uint16_t machine)
{
	switch (machine) {
	case EM_AARCH64:
		return 30;
	case EM_ARM:
		return 14;
	}
	return machine == EM_386 ? 8 : 16; /* behind the registers */
}

/* Other runtimes may have that symbol, too, by GDB's interface; so the file's name counts. */
static int open_file(const struct elf *elf, void **ret)
{
	struct art_file file = { .is64 = elf->is64,
				 .wide = elf->machine != EM_386,
				 .tagged = elf->machine == EM_AARCH64,
				 .link = link_of(elf->machine) };
	int res = elf__each_named(elf, SHT_DYNSYM, take_symbol, &file);

	if (res || !file.jit)
		return res ?: -ENOENT;
	*ret = malloc(sizeof(file));
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, &file, sizeof(file));
	return 0;
}

static void *start(const void *file, uint64_t bias, struct language_reader *reader)
{
	struct art *art = calloc(1, sizeof(*art));

	if (!art)
		return NULL;
	art->file = file;
	art->reader = reader;
	art->jit.descriptor = art->file->jit + bias;
	if (art->file->dex)
		art->dex_list.descriptor = art->file->dex + bias;
	return art;
}

/* Walks the list once for each stack. Returns false when known methods may have been replaced. */
static bool update(struct art *art)
{
	if (art->walked && art->stack_ns == art->reader->at_ns)
		return art->jit.current;
	if (art_list__forget(art, &art->jit))
		art_jit__drop(art);
	art->reads_left = art->walked ? ART_READS : ART_READS_FIRST;
	art->checks_left = ART_CHECKS;
	art->walked = true;
	art->stack_ns = art->reader->at_ns;
	art_list__walk(art, &art->jit, art_jit__take);
	return art->jit.current;
}

/*
 * The list was not read whole by this stack: the frame may be a method of which the name is
 * missing. A key without a name counts as cut short. Another stack of the same code may have one.
 */
static bool miss(const struct native_frame *frame, uint64_t *ret_key)
{
	*ret_key = XXH64(&frame->pc, sizeof(frame->pc), 0);
	return true;
}

/* A name without a class is that of ART's own code, such as art_jni_trampoline. */
static bool find_place(void *state, const struct native_frame *frame, uint64_t *ret_key)
{
	struct art *art = state;
	struct place_function function = {};
	const struct symbol *sym;
	struct art_symfile *file;
	char name[ART_NAME_MAX];
	uint64_t key[2];

	if (frame->dex) {
		art_dex__place(art, frame, ret_key);
		return true;
	}
	if (frame->in_file)
		return art_method__place(art, frame, ret_key);
	if (!update(art))
		return miss(frame, ret_key);
	sym = art_jit__find(art, frame->pc - !frame->exact, art->stack_ns, &file);
	if (!sym && !art->jit.complete)
		return miss(frame, ret_key);
	if (!sym)
		return art_method__place(art, frame, ret_key);
	if (!names__get(&file->tab.names, sym->name, name, sizeof(name)))
		return false;
	key[0] = sym->addr;
	key[1] = file->ts_ns;
	*ret_key = XXH64(key, sizeof(key), XXH64(name, strlen(name), 0));
	function.function = name;
	function.glue = !strchr(name, '.');
	if (!frame_places__find(art->reader->places, *ret_key))
		frame_places__add(art->reader->places, *ret_key, &function, 1);
	return true;
}

/* Code that ART compiles keeps no frame pointer. */
static const struct cfi_row *find_row(void *state, uint64_t pc, bool exact, struct cfi **ret_cfi)
{
	struct art *art = state;
	struct art_symfile *file;

	*ret_cfi = NULL;
	if (update(art) && art_jit__find(art, pc - !exact, art->stack_ns, &file))
		*ret_cfi = art_jit__cfi(art, file);
	return *ret_cfi ? cfi__row(*ret_cfi, pc, exact) : NULL;
}

static uint32_t frame_size(void *state, uint64_t pc, uint64_t top, uint32_t *ret_saved)
{
	struct art_method method;

	if (!art_method__read(state, top, pc, &method))
		return 0;
	*ret_saved = method.saved;
	return method.frame_sz;
}

static size_t bytes(const void *state)
{
	const struct art *art = state;

	return sizeof(*art) + art->bytes + art->file_cap * sizeof(*art->files) +
	       art->jit.cap * sizeof(*art->jit.known) + art_dex__bytes(art);
}

static void end(void *state)
{
	struct art *art = state;

	for (size_t i = 0; i < art->file_cnt; i++)
		art_symfile__free(&art->files[i]);
	free(art->files);
	free(art->jit.known);
	art_dex__free(art);
	free(art);
}

const struct language language_art = {
	.name = "java",
	.file = "art", /* libart.so; libartd.so of builds for debugging */
	.reads_dex = true,
	.open = open_file,
	.start = start,
	.place = find_place,
	.row = find_row,
	.frame_size = frame_size,
	.bytes = bytes,
	.end = end,
};
