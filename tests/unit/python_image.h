/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPython in this process's own memory: the objects that the symbolizer reads, in the layout of one
 * version. The layouts of 3.11 and 3.12 are fixed; 3.13 publishes its offsets, here with the values
 * of 3.13.0.
 */
#ifndef JANK_PYTHON_IMAGE_H
#define JANK_PYTHON_IMAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/languages/python.h"
#include "tests/tap.h"

#define IMAGE_FN static inline __attribute__((unused))
#define IMAGE_SZ (256 << 10)
#define HASH	 77 /* of each str */

/* The part of 3.13.0's published offsets that the symbolizer reads. */
IMAGE_FN void image__offsets_313(uint8_t published[SCRIPT_OFFSETS_SZ])
{
	static const struct {
		unsigned at;
		uint64_t value;
	} rows[] = {
		{ 1, 0x030d00f0 }, { 2, 0 },	{ 5, 632 },  { 8, 7264 }, { 9, 7344 }, { 21, 8 },
		{ 22, 16 },	   { 23, 72 },	{ 25, 160 }, { 29, 8 },	  { 30, 0 },   { 31, 56 },
		{ 33, 70 },	   { 35, 112 }, { 36, 120 }, { 37, 128 }, { 38, 136 }, { 39, 68 },
		{ 43, 200 },	   { 65, 16 },	{ 66, 32 },  { 68, 32 },  { 69, 16 },  { 70, 40 },
	};

	memset(published, 0, SCRIPT_OFFSETS_SZ);
	memcpy(published, "xdebugpy", 8);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		memcpy(published + rows[i].at * 8, &rows[i].value, 8);
}

IMAGE_FN struct python_offsets image__offsets(uint32_t version)
{
	struct python_offsets ret = {};
	uint8_t published[SCRIPT_OFFSETS_SZ];

	if (python_offsets__told(version)) {
		image__offsets_313(published);
		ok(python_offsets__read(published, version, &ret),
		   "%x: the published offsets are read", version);
	} else {
		ok(python_offsets__of(version, &ret), "%x: offsets are known", version);
	}
	return ret;
}

struct image_mem {
	uint8_t *bytes;
	size_t used;
	struct python_offsets offsets;
};

IMAGE_FN struct image_mem image__new(uint32_t version)
{
	struct image_mem ret = { .bytes = malloc(IMAGE_SZ), .offsets = image__offsets(version) };

	memset(ret.bytes, 0, IMAGE_SZ); /* touches each page, so that it exists */
	return ret;
}

IMAGE_FN uint64_t image__room(struct image_mem *image, size_t size)
{
	uint64_t ret = (uint64_t)(image->bytes + image->used);

	image->used += (size + 15) & ~(size_t)15;
	if (image->used > IMAGE_SZ)
		abort();
	return ret;
}

IMAGE_FN void image__put(uint64_t addr, uint32_t at, uint64_t value, size_t size)
{
	memcpy((void *)(addr + at), &value, size);
}

/* A str with characters of 1, 2 or 4 bytes. */
IMAGE_FN uint64_t image__str(struct image_mem *image, const void *chars, size_t cnt, unsigned size,
			     bool ascii)
{
	uint32_t begin =
		ascii ? image->offsets.unicode.ascii_sz : image->offsets.unicode.compact_sz;
	uint64_t ret = image__room(image, begin + (cnt + 1) * size);

	image__put(ret, image->offsets.unicode.length, cnt, 8);
	image__put(ret, image->offsets.unicode.hash, HASH, 8);
	image__put(ret, image->offsets.unicode.state, size << 2 | 1u << 5 | (unsigned)ascii << 6,
		   4);
	memcpy((void *)(ret + begin), chars, cnt * size);
	return ret;
}

IMAGE_FN uint64_t image__ascii(struct image_mem *image, const char *text)
{
	return image__str(image, text, strlen(text), 1, true);
}

/* Its line table: first_line, and one line more with each code unit. */
IMAGE_FN uint64_t image__code(struct image_mem *image, uint64_t type, uint64_t name, uint64_t file,
			      uint32_t first_line, uint32_t units)
{
	const struct python_offsets *offsets = &image->offsets;
	uint64_t table = image__room(image, offsets->bytes.data + units * 3);
	uint64_t ret = image__room(image, offsets->code.bytecode + units * 2);

	image__put(table, offsets->bytes.size, units * 3, 8);
	for (uint32_t i = 0; i < units; i++) {
		image__put(table, offsets->bytes.data + i * 3, i ? 0xd8 : 0xd0, 1);
		image__put(table, offsets->bytes.data + i * 3 + 1, 0x0101, 2);
	}
	image__put(ret, 8, type, 8);
	image__put(ret, offsets->code.units, units, 8);
	image__put(ret, offsets->code.filename, file, 8);
	image__put(ret, offsets->code.name, name, 8);
	image__put(ret, offsets->code.qualname, name, 8);
	image__put(ret, offsets->code.linetable, table, 8);
	image__put(ret, offsets->code.first_line, first_line, 4);
	return ret;
}

#endif
