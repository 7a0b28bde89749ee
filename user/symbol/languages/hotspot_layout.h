/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of HotSpot's objects in one build of libjvm.so, from the tables that the library exports
 * for the serviceability agent (gHotSpotVM*, runtime/vmStructs.cpp in OpenJDK). Names, sizes,
 * constants and addresses of globals are read from the file: the texts are seldom in the memory of
 * a process. The library writes the offsets of members into the table when it is loaded: of these
 * the file has only the places. Supported: JDK 11 to 18, 21 and 25.
 */
#ifndef JANK_SYMBOL_LANGUAGES_HOTSPOT_LAYOUT_H
#define JANK_SYMBOL_LANGUAGES_HOTSPOT_LAYOUT_H

#include "symbol/elf/elf.h"
#include <stdint.h>

enum hs_field {
	/* addresses of globals, without bias */
	HS_VM_MAJOR,
	HS_HEAPS,
	HS_INTERPRETER,
	/* sizes of types */
	HS_SIZE_BLOCK,
	HS_SIZE_NMETHOD,
	HS_SIZE_PC_DESC,
	HS_SIZE_CONST_METHOD,
	HS_SIZE_POOL,
	/* constants */
	HS_KIND_NMETHOD,
	HS_HAS_LINES,
	/* members */
	HS_MEMBER_FIRST,
	HS_ARRAY_LENGTH = HS_MEMBER_FIRST, /* of a GrowableArray */
	HS_ARRAY_DATA,
	HS_HEAP_MEMORY,
	HS_HEAP_SEGMENTS,
	HS_HEAP_SHIFT,
	HS_SPACE_LOW,
	HS_SPACE_HIGH,
	HS_BLOCK_USED,
	HS_STUBS_BUFFER,
	HS_STUBS_LIMIT,
	HS_BLOB_KIND,
	HS_BLOB_HEADER,
	HS_BLOB_CODE, /* an address, or an offset in the blob; as HS_BLOB_CODE_END */
	HS_BLOB_CODE_END,
	HS_BLOB_FRAME, /* in words */
	HS_BLOB_MUTABLE,
	HS_BLOB_MUTABLE_SIZE,
	HS_BLOB_RELOCATIONS,
	HS_NMETHOD_METHOD,
	HS_NMETHOD_METADATA,
	HS_NMETHOD_IMMUTABLE,
	HS_NMETHOD_IMMUTABLE_SIZE,
	HS_NMETHOD_PCS,
	HS_NMETHOD_PCS_END,
	HS_NMETHOD_SCOPES, /* an address, or an offset in the immutable data */
	HS_NMETHOD_ID,
	HS_METHOD_CONST,
	HS_METHOD_ACCESS,
	HS_CONST_POOL,
	HS_CONST_SIZE,
	HS_CONST_FLAGS,
	HS_CONST_CODE_SIZE,
	HS_CONST_NAME,
	HS_POOL_TAGS,
	HS_POOL_HOLDER,
	HS_POOL_LENGTH,
	HS_POOL_FILE,
	HS_KLASS_NAME,
	HS_KLASS_POOL,
	HS_KLASS_FILE,
	HS_SYMBOL_LENGTH,
	HS_SYMBOL_BODY,
	HS_FIELD_CNT
};

#define HS_NONE INT64_MIN /* a member that this build does not have */

struct hs_layout {
	uint32_t major;		     /* version of the JDK */
	int64_t at[HS_FIELD_CNT];    /* of members: address of their offset */
	uint8_t width[HS_FIELD_CNT]; /* of members, in bytes */
	uint8_t bytecode_word;	     /* of an interpreter's frame: see native_frame.words */
};

static inline bool hs_layout__has(const struct hs_layout *layout, enum hs_field field)
{
	return layout->at[field] != HS_NONE;
}

/*
 * Reads the layout of a file. 0; -ENOENT: it is not HotSpot; -ENOTSUP: a version that is not
 * supported, or members are missing; or -errno.
 */
int hs_layout__read(const struct elf *elf, struct hs_layout *ret);

#endif
