/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects the exported constants of a file in one pass through its symbols. See v8_layout.h. */
#include "symbol/languages/v8_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PREFIX	       "v8dbg_"
#define NAMES_MAX      3
#define BYTECODE_SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
#define VERSION_MIN    V8_VERSION(9, 4, 0)
#define VERSION_END    V8_VERSION(13, 7, 0)

/* The names of a constant, without PREFIX; they differ between versions. */
static const struct {
	enum v8_field field;
	const char *names[NAMES_MAX];
} constants[] = {
	{ V8_TYPE_FUNCTION_FIRST, { "FirstJSFunctionType", "type_JSFunction__JS_FUNCTION_TYPE" } },
	{ V8_TYPE_FUNCTION_LAST, { "LastJSFunctionType" } },
	{ V8_TYPE_SHARED, { "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" } },
	{ V8_TYPE_SHARED_WRAPPER,
	  { "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE" } },
	{ V8_TYPE_SCOPE, { "type_ScopeInfo__SCOPE_INFO_TYPE" } },
	{ V8_TYPE_SCRIPT, { "type_Script__SCRIPT_TYPE" } },
	{ V8_TYPE_BYTECODE, { "type_BytecodeArray__BYTECODE_ARRAY_TYPE" } },
	{ V8_TYPE_INTERPRETER_DATA, { "type_InterpreterData__INTERPRETER_DATA_TYPE" } },
	{ V8_TYPE_BASELINE_DATA, { "type_BaselineData__BASELINE_DATA_TYPE" } },
	{ V8_TYPE_CODE, { "type_Code__CODE_TYPE" } },
	{ V8_TYPE_STREAM, { "type_InstructionStream__INSTRUCTION_STREAM_TYPE" } },
	{ V8_TYPE_NO_STRING, { "FirstNonstringType" } },
	{ V8_TYPE_BYTES, { "type_ByteArray__BYTE_ARRAY_TYPE" } },
	{ V8_TYPE_TRUSTED_BYTES, { "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE" } },
	{ V8_TYPE_ARRAY, { "type_FixedArray__FIXED_ARRAY_TYPE" } },
	{ V8_TYPE_WEAK_ARRAY, { "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE" } },
	{ V8_TYPE_TRUSTED_ARRAY, { "type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE" } },
	{ V8_TYPE_TRUSTED_WEAK_ARRAY,
	  { "type_TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE" } },
	{ V8_TYPE_PROTECTED_ARRAY, { "type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE" } },
	{ V8_STRING_FORM, { "StringRepresentationMask" } },
	{ V8_STRING_FORM_CONS, { "ConsStringTag" } },
	{ V8_STRING_FORM_THIN, { "ThinStringTag" } },
	{ V8_STRING_FORM_SLICED, { "SlicedStringTag" } },
	{ V8_STRING_FORM_EXTERNAL, { "ExternalStringTag" } },
	{ V8_STRING_WIDTH, { "StringEncodingMask" } },
	{ V8_STRING_WIDTH_ONE, { "OneByteStringTag" } },
	{ V8_MAP_TYPE, { "class_Map__instance_type__uint16_t" } },
	{ V8_FUNCTION_SHARED, { "class_JSFunction__shared__SharedFunctionInfo" } },
	{ V8_FUNCTION_CODE,
	  { "class_JSFunction__code__Tagged_Code_", "class_JSFunction__code__CodeT",
	    "class_JSFunction__raw_code__CodeT" } },
	{ V8_SHARED_NAME,
	  { "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
	    "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	    "class_SharedFunctionInfo__name_or_scope_info__Object" } },
	{ V8_SHARED_DATA, { "class_SharedFunctionInfo__function_data__Object" } },
	{ V8_SHARED_SCRIPT,
	  { "class_SharedFunctionInfo__script__Tagged_HeapObject_",
	    "class_SharedFunctionInfo__script_or_debug_info__HeapObject" } },
	{ V8_SHARED_WRAPPED,
	  { "class_SharedFunctionInfoWrapper__shared_info__Tagged_SharedFunctionInfo_" } },
	{ V8_SCRIPT_NAME, { "class_Script__name__Object" } },
	{ V8_SCRIPT_SOURCE, { "class_Script__source__Object" } },
	{ V8_SCRIPT_LINE_ENDS, { "class_Script__line_ends__Object" } },
	{ V8_BYTECODE_BEGIN, { "class_BytecodeArray__data__uintptr_t" } },
	{ V8_ARRAY_LENGTH, { "class_FixedArrayBase__length__SMI" } },
	{ V8_ARRAY_BEGIN, { "class_FixedArray__data__uintptr_t" } },
	{ V8_STRING_LENGTH, { "class_String__length__int32_t" } },
	{ V8_STRING_ONE_BYTE, { "class_SeqOneByteString__chars__char" } },
	{ V8_STRING_TWO_BYTE, { "class_SeqTwoByteString__chars__char" } },
	{ V8_STRING_FIRST, { "class_ConsString__first__String" } },
	{ V8_STRING_SECOND, { "class_ConsString__second__String" } },
	{ V8_STRING_ACTUAL, { "class_ThinString__actual__String" } },
	{ V8_STRING_PARENT, { "class_SlicedString__parent__String" } },
	{ V8_STRING_OFFSET, { "class_SlicedString__offset__SMI" } },
	{ V8_CODE_DEOPT, { "class_Code__deoptimization_data__FixedArray" } },
	{ V8_CODE_POSITIONS, { "class_Code__source_position_table__ByteArray" } },
	{ V8_CODE_START,
	  { "class_Code__instruction_start__Address",
	    "class_Code__instruction_start__uintptr_t" } },
	{ V8_CODE_SIZE, { "class_Code__instruction_size__int" } },
	{ V8_CODE_FLAGS, { "class_Code__flags__uint32_t" } },
	{ V8_KIND_MASK, { "CodeKindFieldMask" } },
	{ V8_KIND_BASELINE, { "CodeKindBaseline" } },
	{ V8_DEOPT_LITERALS, { "DeoptimizationDataLiteralArrayIndex" } },
	{ V8_DEOPT_SHARED,
	  { "DeoptimizationDataSharedFunctionInfoIndex",
	    "DeoptimizationDataWrappedSharedFunctionInfoIndex" } },
	{ V8_DEOPT_INLINING, { "DeoptimizationDataInliningPositionsIndex" } },
	{ V8_SCOPE_LOCAL_CNT, { "scopeinfo_idx_ncontextlocals" } },
	{ V8_SCOPE_LOCALS, { "scopeinfo_idx_first_vars" } },
	{ V8_FP_FUNCTION, { "off_fp_function" } },
	{ V8_FP_BYTECODE, { "off_fp_bytecode_array" } },
	{ V8_FP_OFFSET, { "off_fp_bytecode_offset" } },
	{ V8_TAGGED_SIZE, { "TaggedSize" } },
};

/*
 * What a build does not export: a value, or a distance from another member, since a version. Of the
 * rows of a member the last one that fits counts. Sources: the headers of these versions, as
 * objects/code.h, objects/js-function.tq, objects/bytecode-array.h, objects/scope-info.tq.
 */
static const struct {
	enum v8_field field;
	uint32_t since;
	int base; /* enum v8_field; -1: none */
	int32_t value;
} by_version[] = {
	{ V8_TYPE_FUNCTION_LAST, 0, V8_TYPE_FUNCTION_FIRST, 13 },
	{ V8_TYPE_FUNCTION_LAST, V8_VERSION(9, 6, 138), V8_TYPE_FUNCTION_FIRST, 14 },
	{ V8_FUNCTION_CODE, 0, V8_FUNCTION_SHARED, 24 },
	{ V8_FUNCTION_CODE, V8_VERSION(11, 7, 368), V8_FUNCTION_SHARED, -8 },
	{ V8_SHARED_DATA, 0, -1, 8 },
	{ V8_SCRIPT_SOURCE, 0, -1, 8 },
	{ V8_BYTECODE_POSITIONS, 0, -1, 32 },
	{ V8_BYTECODE_POSITIONS, V8_VERSION(12, 2, 0), -1, 24 },
	{ V8_BYTECODE_BEGIN, 0, V8_BYTECODE_POSITIONS, 22 },
	{ V8_STRING_DATA, 0, -1, 24 },
	{ V8_CODE_POSITIONS, 0, V8_CODE_SIZE, -16 },
	{ V8_CODE_POSITIONS, V8_VERSION(12, 2, 0), V8_CODE_START, -24 },
	{ V8_CODE_DEOPT, 0, V8_CODE_POSITIONS, -8 },
	{ V8_CODE_START, V8_VERSION(11, 1, 204), V8_CODE_POSITIONS, 16 },
	{ V8_CODE_IS_POINTER, 0, -1, 0 },
	{ V8_CODE_IS_POINTER, V8_VERSION(11, 1, 204), -1, 1 },
	{ V8_CODE_FLAGS, 0, V8_CODE_SIZE, 8 },
	{ V8_CODE_FLAGS, V8_VERSION(11, 1, 204), V8_CODE_START, 8 },
	{ V8_CODE_SIZE, V8_VERSION(11, 1, 204), V8_CODE_FLAGS, 8 },
	{ V8_CODE_SIZE, V8_VERSION(11, 4, 59), V8_CODE_FLAGS, 4 },
	{ V8_STREAM_CODE, 0, -1, 8 },
	{ V8_KIND_MASK, 0, -1, 15 },
	{ V8_KIND_BASELINE, 0, -1, 11 },
	{ V8_DEOPT_LITERALS, 0, -1, 2 },
	{ V8_DEOPT_SHARED, 0, -1, 6 },
	{ V8_DEOPT_INLINING, 0, -1, 7 },
	{ V8_SCOPE_RANGE, 0, -1, 0 },
	{ V8_SCOPE_RANGE, V8_VERSION(12, 8, 44), -1, 3 },
	{ V8_FP_BYTECODE, 0, V8_FP_FUNCTION, -16 },
	{ V8_FP_OFFSET, 0, V8_FP_BYTECODE, -8 },
};

static bool is_optional(unsigned field)
{
	switch (field) {
	case V8_TYPE_SHARED_WRAPPER:
	case V8_TYPE_BASELINE_DATA:
	case V8_TYPE_STREAM:
	case V8_TYPE_TRUSTED_BYTES:
	case V8_TYPE_WEAK_ARRAY:
	case V8_TYPE_TRUSTED_ARRAY:
	case V8_TYPE_TRUSTED_WEAK_ARRAY:
	case V8_TYPE_PROTECTED_ARRAY:
	case V8_SHARED_WRAPPED:
		return true;
	default:
		return false;
	}
}

struct search {
	const struct elf *elf;
	struct v8_layout *layout;
	uint8_t rank[V8_FIELD_CNT]; /* which of the names was found, plus 1 */
	uint32_t version[3];
	unsigned version_cnt;
};

static int take_constant(struct search *search, const Elf64_Sym *sym, const char *name)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		enum v8_field field = constants[i].field;

		for (unsigned k = 0; k < NAMES_MAX && constants[i].names[k]; k++) {
			if (strcmp(name, constants[i].names[k]) ||
			    (search->rank[field] && search->rank[field] <= k))
				continue;
			search->rank[field] = k + 1;
			return elf__read(search->elf, sym->st_value, &search->layout->at[field],
					 sizeof(int32_t));
		}
	}
	return 0;
}

static int take_sizes(struct search *search, const Elf64_Sym *sym)
{
	struct v8_layout *layout = search->layout;

	if (sym->st_size % 3 || sym->st_size > sizeof(layout->sizes))
		return 0;
	layout->bytecode_cnt = sym->st_size / 3;
	return elf__read(search->elf, sym->st_value, layout->sizes, sym->st_size);
}

static int take(void *ctx, const Elf64_Sym *sym, const char *name)
{
	static const char *const versions[] = { "_ZN2v88internal7Version6major_E",
						"_ZN2v88internal7Version6minor_E",
						"_ZN2v88internal7Version6build_E" };
	struct search *search = ctx;

	if (!sym->st_value)
		return 0;
	if (!strncmp(name, PREFIX, strlen(PREFIX)))
		return take_constant(search, sym, name + strlen(PREFIX));
	if (strncmp(name, "_ZN2v88internal", 15))
		return 0;
	if (!strcmp(name, BYTECODE_SIZES))
		return take_sizes(search, sym);
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(name, versions[i]))
			continue;
		search->version_cnt++;
		return elf__read(search->elf, sym->st_value, &search->version[i],
				 sizeof(*search->version));
	}
	return 0;
}

static int take_local(void *ctx, const Elf64_Sym *sym, const char *name)
{
	return sym->st_value && !strcmp(name, BYTECODE_SIZES) ? take_sizes(ctx, sym) : 0;
}

/* The rows of by_version refer to each other: repeat until none adds anything. */
static void add_by_version(struct v8_layout *layout, const uint8_t *rank)
{
	for (size_t round = 0; round < sizeof(by_version) / sizeof(*by_version); round++) {
		for (size_t i = 0; i < sizeof(by_version) / sizeof(*by_version); i++) {
			int base = by_version[i].base;

			if (rank[by_version[i].field] || layout->version < by_version[i].since)
				continue;
			if (base >= 0 && layout->at[base] == V8_NONE)
				continue;
			layout->at[by_version[i].field] =
				by_version[i].value + (base >= 0 ? layout->at[base] : 0);
		}
	}
}

int v8_layout__read(const struct elf *elf, struct v8_layout *ret)
{
	struct search search = { .elf = elf, .layout = ret };
	int res;

	*ret = (struct v8_layout){};
	for (unsigned i = 0; i < V8_FIELD_CNT; i++)
		ret->at[i] = V8_NONE;
	if (!elf->is64)
		return -ENOENT;
	res = elf__each_named(elf, SHT_DYNSYM, take, &search);
	if (!res && !search.version_cnt)
		res = elf__each_named(elf, SHT_SYMTAB, take, &search);
	if (res || search.version_cnt != 3)
		return res ?: -ENOENT;
	if (!ret->bytecode_cnt) /* not exported since Node 24.11 */
		elf__each_named(elf, SHT_SYMTAB, take_local, &search);
	ret->version = V8_VERSION((search.version[0] & 0xff), (search.version[1] & 0xff),
				  (search.version[2] & 0xffff));
	if (ret->version < VERSION_MIN || ret->version >= VERSION_END)
		return -ENOTSUP;
	add_by_version(ret, search.rank);
	for (unsigned i = 0; i < V8_FIELD_CNT; i++)
		if (ret->at[i] == V8_NONE && !is_optional(i))
			return -ENOTSUP;
	return ret->at[V8_TAGGED_SIZE] == 8 ? 0 : -ENOTSUP;
}
