/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small HotSpot in this process's own memory: a code heap with an nmethod and a stub, an
 * interpreter, and the class shop/Names with three methods. Readers find it as in another process.
 * Three shapes: those of JDK 17 on x86-64 and on arm64 (another frame of the interpreter), and that
 * of JDK 25 (tables and metadata apart, other numbers).
 */
#ifndef JANK_TESTS_HOTSPOT_IMAGE_H
#define JANK_TESTS_HOTSPOT_IMAGE_H

#include "symbol/languages/hotspot.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_SZ     (16u * 4096)
#define IMAGE_HEAP   0x1000u /* offsets in the image */
#define IMAGE_STUBS  0x6000u
#define IMAGE_TABLES 0x7000u
#define IMAGE_MIRROR 0x8000u /* pointers and arrays of the VM */
#define IMAGE_CLASS  0xa000u
#define IMAGE_SHIFT  7
#define IMAGE_BLOCK  (IMAGE_HEAP + 2 * 128)
#define IMAGE_CODE   (IMAGE_BLOCK + 16 + 512) /* instructions of the nmethod */
#define IMAGE_STUB   (IMAGE_HEAP + 40 * 128)  /* a block that is no nmethod */
#define IMAGE_PAIRS  8

enum image_shape { IMAGE_X86, IMAGE_APART, IMAGE_ARM64, IMAGE_SHAPES };
enum { IMAGE_HANDLE, IMAGE_CHECKOUT, IMAGE_PRICE, IMAGE_METHODS };

struct hotspot_image {
	uint8_t *mem;
	struct hs_layout layout;
	struct target_memory *target;
	struct frame_places places;
	struct language_reader reader;
	struct hotspot *hs;
	uint32_t scopes_used, pcs_used; /* bytes */
	bool apart;			/* the shape of JDK 25 */
	uint8_t bytecode_word;
};

static inline uint64_t vm__addr(const struct hotspot_image *im, uint32_t at)
{
	return (uint64_t)(uintptr_t)im->mem + at;
}

static inline void vm__set(struct hotspot_image *im, uint32_t at, uint64_t value, size_t len)
{
	memcpy(im->mem + at, &value, len);
}

/* Offsets of members, most as in JDK 17. */
static const struct {
	enum hs_field field;
	int16_t offset;
	uint8_t width;
} image_members[] = {
	{ HS_ARRAY_LENGTH, 0, 4 },	 { HS_ARRAY_DATA, 8, 8 },
	{ HS_HEAP_MEMORY, 8, 8 },	 { HS_HEAP_SEGMENTS, 120, 8 },
	{ HS_HEAP_SHIFT, 256, 4 },	 { HS_SPACE_LOW, 0, 8 },
	{ HS_SPACE_HIGH, 8, 8 },	 { HS_BLOCK_USED, 8, 1 },
	{ HS_STUBS_BUFFER, 8, 8 },	 { HS_STUBS_LIMIT, 20, 4 },
	{ HS_BLOB_HEADER, 16, 4 },	 { HS_BLOB_CODE, 32, 8 },
	{ HS_BLOB_CODE_END, 40, 8 },	 { HS_BLOB_FRAME, 84, 4 },
	{ HS_NMETHOD_METHOD, 112, 8 },	 { HS_NMETHOD_METADATA, 260, 4 },
	{ HS_NMETHOD_PCS, 268, 4 },	 { HS_NMETHOD_PCS_END, 272, 4 },
	{ HS_NMETHOD_SCOPES, 120, 8 },	 { HS_NMETHOD_ID, 304, 4 },
	{ HS_METHOD_CONST, 8, 8 },
	{ HS_METHOD_ACCESS, 40, 2 },	 { HS_CONST_POOL, 8, 8 },
	{ HS_CONST_SIZE, 24, 4 },	 { HS_CONST_FLAGS, 28, 2 },
	{ HS_CONST_CODE_SIZE, 32, 2 },	 { HS_CONST_NAME, 34, 2 },
	{ HS_POOL_TAGS, 8, 8 },		 { HS_POOL_HOLDER, 24, 8 },
	{ HS_POOL_LENGTH, 60, 4 },	 { HS_POOL_FILE, 54, 2 },
	{ HS_KLASS_NAME, 24, 8 },	 { HS_KLASS_POOL, 232, 8 },
	{ HS_SYMBOL_LENGTH, 4, 2 },	 { HS_SYMBOL_BODY, 6, 1 },
}, image_members_25[] = {
	{ HS_BLOB_CODE, 36, 4 },	 { HS_BLOB_CODE_END, 40, 4 },
	{ HS_BLOB_KIND, 56, 1 },	 { HS_BLOB_MUTABLE, 64, 8 },
	{ HS_BLOB_MUTABLE_SIZE, 48, 4 }, { HS_BLOB_RELOCATIONS, 28, 4 },
	{ HS_NMETHOD_IMMUTABLE, 96, 8 }, { HS_NMETHOD_IMMUTABLE_SIZE, 160, 4 },
	{ HS_NMETHOD_SCOPES, 200, 4 },
};

static inline void vm__member(struct hotspot_image *im, enum hs_field field, int16_t offset,
			      uint8_t width)
{
	uint32_t at = IMAGE_MIRROR + 0x400 + 8 * field;

	vm__set(im, at, (uint64_t)offset, 8);
	im->layout.at[field] = (int64_t)vm__addr(im, at);
	im->layout.width[field] = width;
}

static inline void vm__layout(struct hotspot_image *im)
{
	struct hs_layout *layout = &im->layout;

	for (unsigned i = 0; i < HS_FIELD_CNT; i++)
		layout->at[i] = HS_NONE;
	for (size_t i = 0; i < sizeof(image_members) / sizeof(*image_members); i++)
		vm__member(im, image_members[i].field, image_members[i].offset,
			   image_members[i].width);
	for (size_t i = 0; im->apart && i < sizeof(image_members_25) / sizeof(*image_members_25);
	     i++)
		vm__member(im, image_members_25[i].field, image_members_25[i].offset,
			   image_members_25[i].width);
	layout->major = im->apart ? 25 : 17;
	layout->bytecode_word = im->bytecode_word;
	layout->at[HS_HEAPS] = (int64_t)vm__addr(im, IMAGE_MIRROR);
	layout->at[HS_INTERPRETER] = (int64_t)vm__addr(im, IMAGE_MIRROR + 8);
	layout->at[HS_SIZE_BLOCK] = 16;
	layout->at[HS_SIZE_NMETHOD] = 352;
	layout->at[HS_SIZE_PC_DESC] = 16;
	layout->at[HS_SIZE_CONST_METHOD] = 48;
	layout->at[HS_SIZE_POOL] = 72;
	layout->at[HS_KIND_NMETHOD] = im->apart ? 1 : HS_NONE;
	layout->at[HS_HAS_LINES] = 1;
}

/* The code cache with one heap, and the interpreter. */
static inline void vm__heaps(struct hotspot_image *im)
{
	uint32_t array = IMAGE_MIRROR + 0x10, heap = IMAGE_MIRROR + 0x100, queue = heap + 0x180;

	vm__set(im, IMAGE_MIRROR, vm__addr(im, array), 8);
	vm__set(im, IMAGE_MIRROR + 8, vm__addr(im, queue), 8);
	vm__set(im, array, 1, 4);
	vm__set(im, array + 8, vm__addr(im, array + 16), 8);
	vm__set(im, array + 16, vm__addr(im, heap), 8);
	vm__set(im, heap + 8, vm__addr(im, IMAGE_HEAP), 8);
	vm__set(im, heap + 16, vm__addr(im, IMAGE_STUBS), 8);
	vm__set(im, heap + 120, vm__addr(im, 0), 8);
	vm__set(im, heap + 256, IMAGE_SHIFT, 4);
	vm__set(im, queue + 8, vm__addr(im, IMAGE_STUBS), 8);
	vm__set(im, queue + 20, 0x1000, 4);
	memset(im->mem, 0xff, 0x1000); /* segments: free */
}

/* Marks the segments of a block. */
static inline void vm__block(struct hotspot_image *im, uint32_t at, uint32_t segments)
{
	for (uint32_t i = 0; i < segments; i++)
		im->mem[((at - IMAGE_HEAP) >> IMAGE_SHIFT) + i] = i;
	vm__set(im, at + 8, 1, 1);
}

/* --- the class */

static inline uint32_t vm__symbol(struct hotspot_image *im, uint32_t at, const char *text)
{
	vm__set(im, at, 0, 8);
	vm__set(im, at + 4, strlen(text), 2);
	memcpy(im->mem + at + 6, text, strlen(text));
	return at;
}

static inline uint32_t vm__method(unsigned i)
{
	return IMAGE_CLASS + 0x800 + i * 0x200;
}

/* The bytecode of a method: 20 bytes; line 10 * (i + 1) from 0 on, the next one from 10 on. */
static inline uint64_t vm__bytecode(const struct hotspot_image *im, unsigned i)
{
	return vm__addr(im, vm__method(i) + 0x80 + 48);
}

static inline void vm__class(struct hotspot_image *im)
{
	static const char *const texts[] = { "", "handle", "checkout", "price", "Names.java" };
	uint32_t pool = IMAGE_CLASS, klass = pool + 0x100, tags = pool + 0x280;
	uint32_t name = vm__symbol(im, pool + 0x300, "shop/Names");

	vm__set(im, pool + 8, vm__addr(im, tags), 8);
	vm__set(im, pool + 24, vm__addr(im, klass), 8);
	vm__set(im, pool + 60, 5, 4);
	vm__set(im, pool + 54, 4, 2);
	vm__set(im, klass + 24, vm__addr(im, name), 8);
	vm__set(im, klass + 232, vm__addr(im, pool), 8);
	for (unsigned i = 1; i < 5; i++) {
		uint32_t symbol = vm__symbol(im, pool + 0x300 + 0x40 * i, texts[i]);

		im->mem[tags + 4 + i] = 1;
		vm__set(im, pool + 72 + 8 * i, vm__addr(im, symbol), 8);
	}
	for (unsigned i = 0; i < IMAGE_METHODS; i++) {
		uint32_t method = vm__method(i), constant = method + 0x80;
		uint8_t lines[] = { (uint8_t)(0 << 3 | 7), 0xff, 0, 0, (uint8_t)(10 << 3 | 1), 0 };

		/* From line 7 to 10 * (i + 1), by a long pair without a step of the index. */
		lines[2] = im->apart;
		lines[3] = (uint8_t)(2 * (10 * (i + 1) - 7) + im->apart);
		vm__set(im, method + 8, vm__addr(im, constant), 8);
		vm__set(im, constant + 8, vm__addr(im, pool), 8);
		vm__set(im, constant + 24, (48 + 20 + sizeof(lines) + 7) / 8, 4);
		vm__set(im, constant + 28, 1, 2);
		vm__set(im, constant + 32, 20, 2);
		vm__set(im, constant + 34, i + 1, 2);
		memcpy(im->mem + constant + 48 + 20, lines, sizeof(lines));
	}
}

/* --- the nmethod: its method is handle */

static inline uint32_t vm__scopes_at(const struct hotspot_image *im)
{
	return im->apart ? IMAGE_TABLES + 0x100 : IMAGE_BLOCK + 16 + 1024 + 64;
}

/* Adds a scope. Returns where it is; outer: the same of its caller, or 0. */
static inline uint32_t vm__scope(struct hotspot_image *im, uint32_t outer, unsigned method,
				 int32_t bci)
{
	uint8_t bytes[] = { (uint8_t)outer, (uint8_t)(method + 1), (uint8_t)(bci + 1) };
	uint32_t ret = im->scopes_used;

	for (unsigned i = 0; i < 3; i++)
		im->mem[vm__scopes_at(im) + ret + i] = bytes[i] + im->apart;
	im->scopes_used += 3;
	return ret;
}

/* Where the table of addresses begins: apart it ends at the scopes, else it follows them. */
static inline uint32_t vm__pcs_at(const struct hotspot_image *im)
{
	return im->apart ? vm__scopes_at(im) - im->pcs_used : vm__scopes_at(im) + 64;
}

static inline void vm__bound_pcs(struct hotspot_image *im)
{
	uint32_t blob = IMAGE_BLOCK + 16, at = vm__pcs_at(im);

	if (im->apart)
		vm__set(im, blob + 268, at - IMAGE_TABLES, 4);
	else
		vm__set(im, blob + 272, at + im->pcs_used - blob, 4);
}

/* Adds an entry behind those there. */
static inline void vm__pc(struct hotspot_image *im, int32_t offset, uint32_t scope)
{
	uint32_t entry[4] = { (uint32_t)offset, scope }, before = vm__pcs_at(im);

	im->pcs_used += sizeof(entry);
	memmove(im->mem + vm__pcs_at(im), im->mem + before, im->pcs_used - sizeof(entry));
	memcpy(im->mem + vm__pcs_at(im) + im->pcs_used - sizeof(entry), entry, sizeof(entry));
	vm__bound_pcs(im);
}

static inline void vm__nmethod(struct hotspot_image *im)
{
	uint32_t block = IMAGE_BLOCK, blob = block + 16,
		 metadata = im->apart ? IMAGE_TABLES + 0x208 : blob + 1024;

	vm__block(im, block, 12);
	vm__set(im, blob + 16, 352, 4);
	vm__set(im, blob + 112, vm__addr(im, vm__method(IMAGE_HANDLE)), 8);
	vm__set(im, blob + 304, 4711, 4);
	if (im->apart) {
		vm__set(im, blob + 36, 512, 4);
		vm__set(im, blob + 40, 1024, 4);
		vm__set(im, blob + 56, 1, 1);
		vm__set(im, blob + 64, vm__addr(im, IMAGE_TABLES + 0x200), 8);
		vm__set(im, blob + 48, 8 + 24, 4);
		vm__set(im, blob + 28, 8, 4);
		vm__set(im, blob + 96, vm__addr(im, IMAGE_TABLES), 8);
		vm__set(im, blob + 160, 0x200, 4);
		vm__set(im, blob + 200, 0x100, 4);
	} else {
		vm__set(im, blob + 32, vm__addr(im, blob + 512), 8);
		vm__set(im, blob + 40, vm__addr(im, blob + 1024), 8);
		vm__set(im, blob + 120, vm__addr(im, vm__scopes_at(im)), 8);
		vm__set(im, blob + 260, 1024, 4);
		vm__set(im, blob + 268, vm__pcs_at(im) - blob, 4);
	}
	for (unsigned i = 0; i < IMAGE_METHODS; i++)
		vm__set(im, metadata + 8 * i, vm__addr(im, vm__method(i)), 8);
	im->scopes_used = 1; /* 0: no scope */
	im->pcs_used = 0;
	vm__bound_pcs(im);
}

/* A stub: a block that is no nmethod. */
static inline void vm__stub(struct hotspot_image *im)
{
	uint32_t blob = IMAGE_STUB + 16;

	vm__block(im, IMAGE_STUB, 4);
	vm__set(im, blob + 16, 104, 4);
	if (im->apart) {
		vm__set(im, blob + 36, 128, 4);
		vm__set(im, blob + 40, 256, 4);
	} else {
		vm__set(im, blob + 32, vm__addr(im, blob + 128), 8);
		vm__set(im, blob + 40, vm__addr(im, blob + 256), 8);
	}
}

/* Writes everything anew, and forgets what was read. */
static inline void vm__fill(struct hotspot_image *im)
{
	memset(im->mem, 0, IMAGE_SZ);
	vm__layout(im);
	vm__heaps(im);
	vm__class(im);
	vm__nmethod(im);
	vm__stub(im);
	frame_places__free(&im->places);
	if (im->hs)
		language_hotspot.end(im->hs);
	im->hs = language_hotspot.start(&im->layout, 0, &im->reader);
}

static inline void vm__begin(struct hotspot_image *im, enum image_shape shape)
{
	*im = (struct hotspot_image){ .apart = shape == IMAGE_APART,
				      .bytecode_word = shape == IMAGE_ARM64 ? 8 : 7,
				      .target = target_memory__new() };
	im->mem = aligned_alloc(4096, IMAGE_SZ);
	im->reader = (struct language_reader){ .mem = im->target, .places = &im->places };
	vm__fill(im);
}

static inline void vm__end(struct hotspot_image *im)
{
	language_hotspot.end(im->hs);
	frame_places__free(&im->places);
	target_memory__free(im->target);
	free(im->mem);
}

/* Reads a frame in rounds, as language.c does. NULL: it has no name. */
static inline const struct frame_place *vm__read(struct hotspot_image *im,
						 const struct native_frame *frame)
{
	uint64_t key = 0;
	bool named = false;

	target_memory__begin(im->target, "/proc", getpid());
	for (unsigned round = 0; round < 16; round++) {
		if (round && !target_memory__fetch(im->target))
			break;
		im->reader.later = false;
		named = language_hotspot.place(im->hs, frame, &key);
		if (!im->reader.later)
			break;
	}
	return named && !im->reader.later ? frame_places__find(&im->places, key) : NULL;
}

/* As language__frame_size. */
static inline uint32_t vm__frame_size(struct hotspot_image *im, uint32_t at)
{
	uint32_t ret;

	target_memory__begin(im->target, "/proc", getpid());
	do {
		im->reader.later = false;
		ret = language_hotspot.frame_size(im->hs, vm__addr(im, at), 0, NULL);
	} while (im->reader.later && target_memory__fetch(im->target));
	return ret;
}

#endif
