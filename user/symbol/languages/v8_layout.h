/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of V8's objects in one build: offsets, type numbers and bit masks. A build exports most of
 * them as constants named v8dbg_* (V8's tools/gen-postmortem-metadata.py); the others come from a
 * table by version. Supported: V8 9.4 to 13.6 without pointer compression (Node 16 to 24).
 */
#ifndef JANK_SYMBOL_LANGUAGES_V8_LAYOUT_H
#define JANK_SYMBOL_LANGUAGES_V8_LAYOUT_H

#include "symbol/elf/elf.h"
#include <stdint.h>

/* In bytes from the begin of the object, if not stated otherwise. */
enum v8_field {
	/* types of objects */
	V8_TYPE_FUNCTION_FIRST,
	V8_TYPE_FUNCTION_LAST,
	V8_TYPE_SHARED, /* SharedFunctionInfo: what all closures of a function have in common */
	V8_TYPE_SHARED_WRAPPER,
	V8_TYPE_SCOPE,
	V8_TYPE_SCRIPT,
	V8_TYPE_BYTECODE,
	V8_TYPE_INTERPRETER_DATA,
	V8_TYPE_BASELINE_DATA,
	V8_TYPE_CODE,
	V8_TYPE_STREAM, /* InstructionStream: the instructions of a Code, if that points to them */
	V8_TYPE_NO_STRING, /* the first that is no string */
	V8_TYPE_BYTES,
	V8_TYPE_TRUSTED_BYTES,
	V8_TYPE_ARRAY,
	V8_TYPE_WEAK_ARRAY,
	V8_TYPE_TRUSTED_ARRAY,
	V8_TYPE_TRUSTED_WEAK_ARRAY,
	V8_TYPE_PROTECTED_ARRAY,
	/* of a string's type: masks and values */
	V8_STRING_FORM,
	V8_STRING_FORM_CONS,
	V8_STRING_FORM_THIN,
	V8_STRING_FORM_SLICED,
	V8_STRING_FORM_EXTERNAL,
	V8_STRING_WIDTH,
	V8_STRING_WIDTH_ONE,
	/* members */
	V8_MAP_TYPE,
	V8_FUNCTION_SHARED,
	V8_FUNCTION_CODE,
	V8_SHARED_NAME,
	V8_SHARED_DATA,
	V8_SHARED_SCRIPT,
	V8_SHARED_WRAPPED,
	V8_SCRIPT_NAME,
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_LINE_ENDS,
	V8_BYTECODE_POSITIONS,
	V8_BYTECODE_BEGIN,
	V8_ARRAY_LENGTH,
	V8_ARRAY_BEGIN,
	V8_STRING_LENGTH,
	V8_STRING_ONE_BYTE,
	V8_STRING_TWO_BYTE,
	V8_STRING_FIRST,
	V8_STRING_SECOND,
	V8_STRING_ACTUAL,
	V8_STRING_PARENT,
	V8_STRING_OFFSET,
	V8_STRING_DATA, /* of an external string: pointer to its characters */
	V8_CODE_DEOPT,
	V8_CODE_POSITIONS,
	V8_CODE_START,	    /* of the instructions, or a pointer to them */
	V8_CODE_IS_POINTER, /* the latter */
	V8_CODE_SIZE,
	V8_CODE_FLAGS,
	V8_STREAM_CODE,
	/* of the code's flags */
	V8_KIND_MASK,
	V8_KIND_BASELINE,
	/* indices in the deoptimisation data */
	V8_DEOPT_LITERALS,
	V8_DEOPT_SHARED,
	V8_DEOPT_INLINING,
	/* indices in a ScopeInfo, without its map */
	V8_SCOPE_LOCAL_CNT,
	V8_SCOPE_LOCALS,
	V8_SCOPE_RANGE, /* of the source; 0: behind the name */
	/* from the frame pointer */
	V8_FP_FUNCTION,
	V8_FP_BYTECODE,
	V8_FP_OFFSET,
	V8_TAGGED_SIZE, /* of a pointer within objects */
	V8_FIELD_CNT
};

#define V8_NONE		INT32_MIN /* a member that this build does not have */
#define V8_BYTECODE_MAX 256

struct v8_layout {
	uint32_t version; /* V8_VERSION */
	int32_t at[V8_FIELD_CNT];
	/* Sizes of bytecodes: plain, with 16-bit and with 32-bit operands; 0 of each: not known. */
	uint8_t sizes[3 * V8_BYTECODE_MAX];
	uint32_t bytecode_cnt;
};

#define V8_VERSION(major, minor, build) ((major) << 24 | (minor) << 16 | (build))

/*
 * Reads the layout of a file. 0; -ENOENT: the file has no V8; -ENOTSUP: a version that is not
 * supported (ret->version), or constants are missing; or -errno.
 */
int v8_layout__read(const struct elf *elf, struct v8_layout *ret);

#endif
