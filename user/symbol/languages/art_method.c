/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled methods without a symbol: by the ArtMethod, to which the lowest word of each compiled
 * frame points. See art.h.
 *
 * Every step is checked against another one: the code before which the method's entry point has its
 * header must contain the place; the class must have the method in its array, at the distance of
 * this layout; and the DEX file of its cache must be known, and give the method's index the class
 * that the class itself says. The collector moves classes: one that moved meanwhile fails.
 *
 * Layouts of Android 9 to 16, from art_method.h, mirror/class.h, mirror/dex_cache.h,
 * length_prefixed_array.h, oat_quick_method_header.h and stack_map.h of ART. Objects of Java have
 * the same in processes of 32 and of 64 bits. Not seen on a device.
 */
#include <string.h>
#include <xxhash.h>

#include "symbol/languages/art.h"
#include "symbol/languages/frame_places.h"
#include "symbol/languages/target_memory.h"

#define CODE_MAX     (1u << 26) /* bytes of a method */
#define FRAME_UNIT   16		/* a frame's size is a multiple of it */
#define FRAME_UNITS  (1u << 12)
#define INFO_SZ	     32 /* more than the numbers that begin a CodeInfo can take */
#define INFO_NUMBERS 7
#define INFO_SMALL   11 /* the largest number that fits its 4 bits; then bytes follow */
#define INFO_OFF     0x3fffffff
#define INFO_FLAGS   7

#define CLASS_SZ      88
#define CLASS_CACHE   16
#define CLASS_METHODS 48
#define CACHE_DEX     16
#define OBJECT_SZ     8 /* a number of 64 bits in an object, also where pointers have 32 */

/* Members of an ArtMethod, of which the first is the class. The last is its entry point. */
static const struct layout {
	uint8_t index;
	uint8_t size[2]; /* with 32 bits, with 64 */
	bool has_info;	 /* the code's header leads to a CodeInfo; else it ends with its size */
} layouts[] = {
	{ 8, { 24, 32 }, true },   /* Android 12 and later */
	{ 12, { 28, 40 }, false }, /* 9 to 11 */
};

/* Of a class: the index of its definition, before that of its type. To Android 15; 16. */
static const uint8_t class_indexes[] = { 80, 72 };

static bool get(struct art *art, uint64_t addr, void *ret, size_t len)
{
	enum target_read res = target_memory__read(art->reader->mem, addr, ret, len);

	art->reader->later |= res == TARGET_LATER;
	return res == TARGET_READ;
}

static uint32_t number32(const uint8_t *at)
{
	uint32_t ret;

	memcpy(&ret, at, sizeof(ret));
	return ret;
}

static uint64_t pointer(const struct art *art, const uint8_t *at, size_t size)
{
	uint64_t ret = 0;

	memcpy(&ret, at, size);
	return art->file->tagged ? ret << 8 >> 8 : ret;
}

/* Bytes of a pointer of C++. */
static size_t word_size(const struct art *art)
{
	return art->file->is64 ? 8 : 4;
}

static uint32_t bits_at(const uint8_t *bytes, unsigned at, unsigned cnt)
{
	uint32_t ret = 0;

	for (unsigned i = 0; i < cnt; i++)
		ret |= (uint32_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return ret;
}

/* The first numbers of a CodeInfo: flags, size of the code, size of the frame, saved registers. */
static bool parse_info(const struct art *art, const uint8_t *bytes, struct art_method *method)
{
	unsigned at = INFO_NUMBERS * 4;
	uint32_t numbers[INFO_NUMBERS];

	for (unsigned i = 0; i < INFO_NUMBERS; i++) {
		uint32_t number = bits_at(bytes, i * 4, 4);

		numbers[i] = number;
		if (number > INFO_SMALL) {
			numbers[i] = bits_at(bytes, at, (number - INFO_SMALL) * 8);
			at += (number - INFO_SMALL) * 8;
		}
	}
	method->code_sz = numbers[1];
	method->frame_sz = numbers[2] * FRAME_UNIT;
	method->saved = numbers[3];
	return numbers[0] <= INFO_FLAGS && numbers[2] && numbers[2] <= FRAME_UNITS &&
	       numbers[3] >> art->file->link & 1;
}

/* What is before the code at the entry point. */
static bool read_code(struct art *art, const struct layout *layout, struct art_method *method)
{
	uint8_t header[4], info[INFO_SZ];
	uint32_t word;

	if (!get(art, method->entry - sizeof(header), header, sizeof(header)))
		return false;
	word = number32(header);
	if (!layout->has_info) {
		method->code_sz = word & INT32_MAX;
		return true;
	}
	word &= INFO_OFF;
	return word < method->entry && get(art, method->entry - word, info, sizeof(info)) &&
	       parse_info(art, info, method);
}

static bool read_method(struct art *art, const struct layout *layout, uint64_t pc,
			struct art_method *ret)
{
	size_t word = word_size(art);
	uint8_t bytes[40];

	ret->size = layout->size[art->file->is64];
	if (!get(art, ret->at, bytes, ret->size))
		return false;
	ret->class = number32(bytes);
	ret->index = number32(bytes + layout->index);
	/* without the bit of Thumb's code */
	ret->entry = pointer(art, bytes + ret->size - word, word) & ~1ull;
	return ret->entry > CODE_MAX && pc >= ret->entry && pc - ret->entry < CODE_MAX &&
	       read_code(art, layout, ret) && pc - ret->entry < ret->code_sz;
}

bool art_method__read(struct art *art, uint64_t at, uint64_t pc, struct art_method *ret)
{
	if (!at || at % word_size(art))
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		*ret = (struct art_method){ .at = at };
		if (read_method(art, &layouts[i], pc, ret))
			return true;
	}
	return false;
}

/* --- its class and file */

struct class
{
	uint8_t bytes[CLASS_SZ];
	uint64_t dex; /* begin of its DEX file */
};

/* Reads the class, which must have the method. */
static bool read_class(struct art *art, const struct art_method *method, struct class *ret)
{
	uint64_t methods, offset;
	size_t size = word_size(art); /* also of what is before the array's methods */
	uint8_t word[OBJECT_SZ];

	if (!method->class || method->class % 8 ||
	    !get(art, method->class, ret->bytes, sizeof(ret->bytes)))
		return false;
	methods = pointer(art, ret->bytes + CLASS_METHODS, OBJECT_SZ);
	offset = method->at - methods - size;
	if (!methods || method->at < methods + size || offset % method->size ||
	    !get(art, methods, word, 4) || offset / method->size >= number32(word))
		return false;
	if (!get(art, number32(ret->bytes + CLASS_CACHE) + CACHE_DEX, word, OBJECT_SZ) ||
	    !get(art, pointer(art, word, OBJECT_SZ) + size, word, size))
		return false;
	ret->dex = pointer(art, word, size); /* behind the pointer to the file's functions */
	return ret->dex;
}

/*
 * True if the file's method is of the class. A layout fits if the file has the definition of that
 * type. If both do, they must agree. Fills ret->class_def.
 */
static bool is_of_class(struct art *art, const struct art_dex *dex, const struct class *class,
			struct dex_method *ret)
{
	uint32_t type = dex_method__type(&dex->dex, &art->windows, ret);
	bool found = false;

	for (size_t i = 0; i < sizeof(class_indexes); i++) {
		const uint8_t *at = class->bytes + class_indexes[i];
		struct dex_method of = { .class_def = number32(at) };
		uint32_t own = number32(at + 4);

		if (of.class_def >= dex->dex.classes.cnt ||
		    dex_method__class(&dex->dex, &art->windows, &of) != own)
			continue;
		if (own != type)
			return false;
		ret->class_def = of.class_def;
		found = true;
	}
	return found;
}

/* Reads the names from the file that is open. */
static void name_place(struct art *art, struct art_dex *dex, const struct class *class,
		       const struct art_method *method, uint64_t key)
{
	static _Thread_local char name[DEX_NAME_MAX], file[DEX_FILE_MAX]; /* large for a stack */
	struct place_function function = { .function = name, .interpreted = true };
	struct dex_method of = { .index = method->index };

	if (method->index >= dex->dex.methods.cnt || !is_of_class(art, dex, class, &of) ||
	    !dex_method__name(&dex->dex, &art->windows, &of, name))
		return;
	dex_method__file(&dex->dex, &art->windows, &of, file);
	function.file = file[0] ? file : NULL;
	if (art->windows_left && art_dex__stands(art, dex))
		frame_places__add(art->reader->places, key, &function, 1);
}

bool art_method__place(struct art *art, const struct native_frame *frame, uint64_t *ret_key)
{
	struct art_method method;
	struct art_dex *dex;
	struct class class;

	if (!art_method__read(art, frame->method, frame->pc - !frame->exact, &method) ||
	    !read_class(art, &method, &class))
		return false;
	*ret_key = XXH64(&method, sizeof(method), class.dex);
	if (frame_places__find(art->reader->places, *ret_key))
		return true;
	dex = art_dex__open(art, class.dex);
	if (dex)
		name_place(art, dex, &class, &method, *ret_key);
	art_source__close(art);
	return art->reader->cut || frame_places__find(art->reader->places, *ret_key);
}
