/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ArtMethods of a class of a DEX file, with their code's headers, in this process's own memory
 * (art_image.h), in the layouts of Android 9 to 11, 12 to 15, and 16, with 64 bits and with 32.
 */
#ifndef JANK_TESTS_ART_METHOD_IMAGE_H
#define JANK_TESTS_ART_METHOD_IMAGE_H

#include "tests/unit/art_image.h"
#include "tests/unit/dex_image.h"

/* Offsets in the image; the DEX file is at ART_FILES. */
#define AM_CLASS    (ART_FILES + 0x5000)
#define AM_CACHE    (AM_CLASS + 0x100)
#define AM_DEX_FILE (AM_CLASS + 0x200)
#define AM_METHODS  (AM_CLASS + 0x300) /* the array: a word, and its methods */
#define AM_CODE	    (AM_CLASS + 0x1000)
#define AM_CODE_SZ  128u /* of each method, after 64 bytes of what is before it */
#define AM_CNT	    4u	 /* methods of com.example.Main, the first ones of the file */
#define AM_FRAME    48u

/* An Android's layouts; with AM_32 in a process of 32 bits. */
enum am_version { AM_9, AM_12, AM_16, AM_32 = 4 };

static inline enum am_version am__android(enum am_version version)
{
	return version & 3;
}

static inline uint32_t am__word(enum am_version version)
{
	return version & AM_32 ? 4 : 8;
}

static inline uint32_t am__size(enum am_version version)
{
	return (am__android(version) == AM_9 ? 24 : 16) + 2 * am__word(version) -
	       (version == (AM_9 | AM_32) ? 4 : 0);
}

/* On x86: the return address, r15, r14 (or edi) and the frame pointer. */
static inline uint32_t am__saved(enum am_version version)
{
	return version & AM_32 ? 0x1a0 : 0x1c020;
}

static inline uint64_t am__method(const struct art_image *im, enum am_version version, unsigned nr)
{
	return ai__addr(im, AM_METHODS + am__word(version) + nr * am__size(version));
}

static inline uint32_t am__code(unsigned nr)
{
	return AM_CODE + nr * (AM_CODE_SZ + 64) + 64;
}

/* The numbers of a CodeInfo: 4 bits each, and bytes of large ones behind all of them. */
static inline void am__info(struct art_image *im, uint32_t at, const uint32_t numbers[7])
{
	unsigned bit = 28;

	memset(im->mem + at, 0, 32);
	for (unsigned i = 0; i < 7; i++) {
		unsigned bytes = 0;

		while (numbers[i] > 11 && bytes < 4 && numbers[i] >> 8 * bytes)
			bytes++;
		im->mem[at + i / 2] |= (bytes ? 11 + bytes : numbers[i]) << i % 2 * 4;
		for (unsigned k = 0; k < 8 * bytes; k++, bit++)
			im->mem[at + bit / 8] |= (numbers[i] >> k & 1) << bit % 8;
	}
}

static inline void am__fill_code(struct art_image *im, enum am_version version, unsigned nr)
{
	const uint32_t numbers[7] = { 1, AM_CODE_SZ, AM_FRAME / 16, am__saved(version), 0, 300, 0 };
	uint32_t code = am__code(nr);

	if (am__android(version) == AM_9) {
		ai__set(im, code - 4, AM_CODE_SZ | 1u << 31, 4);
		return;
	}
	am__info(im, code - 64, numbers);
	ai__set(im, code - 4, 64 | (am__android(version) == AM_12 ? 3u << 30 : 0), 4);
}

/* A process with the class com.example.Main, its DEX file in ART's list. */
static inline void am__fill(struct art_image *im, const struct dex_image *dex,
			    enum am_version version)
{
	bool is64 = !(version & AM_32), is16 = am__android(version) == AM_16;
	const struct art_file file = { .is64 = is64, .wide = is64, .link = is64 ? 16 : 8 };
	uint32_t indexes = is16 ? 72 : 80, word = am__word(version), size = am__size(version);

	ai__fill(im, file, ART_ANDROID2);
	frame_places__free(&im->places);
	im->art.jit.descriptor = 0;
	im->art.dex_list.descriptor = ai__addr(im, ART_DESCRIPTOR);
	memcpy(im->mem + ART_FILES, dex->bytes, dex->len);
	ai__add(im, 0, dex->len, 1);
	ai__set(im, AM_CLASS + 16, ai__addr(im, AM_CACHE), 4);
	ai__set(im, AM_CLASS + 48, ai__addr(im, AM_METHODS), 8);
	ai__set(im, AM_CLASS + 72, 500, 4); /* a size, but for Android 16 */
	ai__set(im, AM_CLASS + indexes, 0, 8);
	ai__set(im, AM_CACHE + 16, ai__addr(im, AM_DEX_FILE), 8);
	ai__set(im, AM_DEX_FILE + word, ai__addr(im, ART_FILES), word);
	ai__set(im, AM_METHODS, AM_CNT, 4);
	if (is16)
		ai__set(im, AM_CLASS + 80, 500, 4);
	for (unsigned i = 0; i < AM_CNT; i++) {
		uint32_t at = AM_METHODS + word + i * size;

		ai__set(im, at, ai__addr(im, AM_CLASS), 4);
		ai__set(im, at + (am__android(version) == AM_9 ? 12 : 8), i, 4);
		ai__set(im, at + size - word, ai__addr(im, am__code(i)), word);
		am__fill_code(im, version, i);
	}
}

/* The function of a frame with this ArtMethod; NULL: none. */
static inline const struct place_function *am__place(struct art_image *im, uint64_t pc,
						     uint64_t method, uint64_t t_ns)
{
	struct native_frame frame = { .pc = pc, .exact = true, .in_file = true, .method = method };
	const struct frame_place *place;
	bool found;
	uint64_t key;

	im->reader.at_ns = t_ns;
	target_memory__begin(im->target, "/proc", getpid());
	do {
		im->reader.later = im->reader.cut = false;
		found = language_art.place(&im->art, &frame, &key);
	} while (im->reader.later && target_memory__fetch(im->target));
	place = found ? frame_places__find(&im->places, key) : NULL;
	return place ? &place->functions[0] : NULL;
}

#endif
