/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the tables of structs, types and constants. Their entries are in the file, but for
 * pointers, which are relocations. See hotspot_layout.h.
 */
#include "symbol/languages/hotspot_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/languages/file_pointers.h"

#define PREFIX	    "gHotSpotVM"
#define NAME_MAX_SZ 64
#define ENTRIES_MAX 4096       /* of a table; JDK 17 has 972 types */
#define TABLES_SPAN (1u << 20) /* from the first to the last one */
#define TABLE_BYTES (256u << 10)

/* Entries of the tables: VMStructEntry, VMTypeEntry, VMIntConstantEntry. */
#define STRUCT_SZ      48
#define STRUCT_MEMBER  8
#define STRUCT_TYPE    16
#define STRUCT_STATIC  24
#define STRUCT_OFFSET  32
#define STRUCT_ADDRESS 40
#define TYPE_SZ	       40
#define TYPE_SIZE      32
#define CONSTANT_SZ    16
#define CONSTANT_VALUE 8

enum table { TABLE_STRUCTS, TABLE_TYPES, TABLE_CONSTANTS, TABLE_CNT };

static const char *const tables[TABLE_CNT] = { "Structs", "Types", "IntConstants" };

/* Type and member; a member has other names in other versions. */
static const struct member {
	enum hs_field field;
	const char *type, *name;
} members[] = {
	{ HS_VM_MAJOR, "Abstract_VM_Version", "_vm_major_version" },
	{ HS_HEAPS, "CodeCache", "_heaps" },
	{ HS_INTERPRETER, "AbstractInterpreter", "_code" },
	{ HS_ARRAY_LENGTH, "GrowableArrayBase", "_len" },
	{ HS_ARRAY_LENGTH, "GenericGrowableArray", "_len" },
	{ HS_ARRAY_DATA, "GrowableArray<int>", "_data" },
	{ HS_HEAP_MEMORY, "CodeHeap", "_memory" },
	{ HS_HEAP_SEGMENTS, "CodeHeap", "_segmap" },
	{ HS_HEAP_SHIFT, "CodeHeap", "_log2_segment_size" },
	{ HS_SPACE_LOW, "VirtualSpace", "_low_boundary" },
	{ HS_SPACE_HIGH, "VirtualSpace", "_high_boundary" },
	{ HS_BLOCK_USED, "HeapBlock::Header", "_used" },
	{ HS_STUBS_BUFFER, "StubQueue", "_stub_buffer" },
	{ HS_STUBS_LIMIT, "StubQueue", "_buffer_limit" },
	{ HS_BLOB_KIND, "CodeBlob", "_kind" },
	{ HS_BLOB_HEADER, "CodeBlob", "_header_size" },
	{ HS_BLOB_CODE, "CodeBlob", "_code_begin" },
	{ HS_BLOB_CODE, "CodeBlob", "_code_offset" },
	{ HS_BLOB_CODE_END, "CodeBlob", "_code_end" },
	{ HS_BLOB_CODE_END, "CodeBlob", "_data_offset" },
	{ HS_BLOB_FRAME, "CodeBlob", "_frame_size" },
	{ HS_BLOB_MUTABLE, "CodeBlob", "_mutable_data" },
	{ HS_BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size" },
	{ HS_BLOB_RELOCATIONS, "CodeBlob", "_relocation_size" },
	{ HS_NMETHOD_METHOD, "CompiledMethod", "_method" },
	{ HS_NMETHOD_METHOD, "nmethod", "_method" },
	{ HS_NMETHOD_METADATA, "nmethod", "_metadata_offset" },
	{ HS_NMETHOD_IMMUTABLE, "nmethod", "_immutable_data" },
	{ HS_NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size" },
	{ HS_NMETHOD_PCS, "nmethod", "_scopes_pcs_offset" },
	{ HS_NMETHOD_PCS_END, "nmethod", "_dependencies_offset" },
	{ HS_NMETHOD_SCOPES, "CompiledMethod", "_scopes_data_begin" },
	{ HS_NMETHOD_SCOPES, "nmethod", "_scopes_data_offset" },
	{ HS_NMETHOD_ID, "nmethod", "_compile_id" },
	{ HS_METHOD_CONST, "Method", "_constMethod" },
	{ HS_METHOD_ACCESS, "Method", "_access_flags" },
	{ HS_CONST_POOL, "ConstMethod", "_constants" },
	{ HS_CONST_SIZE, "ConstMethod", "_constMethod_size" },
	{ HS_CONST_FLAGS, "ConstMethod", "_flags" },
	{ HS_CONST_FLAGS, "ConstMethod", "_flags._flags" },
	{ HS_CONST_CODE_SIZE, "ConstMethod", "_code_size" },
	{ HS_CONST_NAME, "ConstMethod", "_name_index" },
	{ HS_POOL_TAGS, "ConstantPool", "_tags" },
	{ HS_POOL_HOLDER, "ConstantPool", "_pool_holder" },
	{ HS_POOL_LENGTH, "ConstantPool", "_length" },
	{ HS_POOL_FILE, "ConstantPool", "_source_file_name_index" },
	{ HS_KLASS_NAME, "Klass", "_name" },
	{ HS_KLASS_POOL, "InstanceKlass", "_constants" },
	{ HS_KLASS_FILE, "InstanceKlass", "_source_file_name_index" },
	{ HS_SYMBOL_LENGTH, "Symbol", "_length" },
	{ HS_SYMBOL_BODY, "Symbol", "_body" },
};

static const struct {
	enum hs_field field;
	const char *name;
} sizes[] = {
	{ HS_SIZE_BLOCK, "HeapBlock" },
	{ HS_SIZE_NMETHOD, "nmethod" },
	{ HS_SIZE_PC_DESC, "PcDesc" },
	{ HS_SIZE_CONST_METHOD, "ConstMethod" },
	{ HS_SIZE_POOL, "ConstantPool" },
}, constants[] = {
	{ HS_KIND_NMETHOD, "CodeBlobKind::Nmethod" },
	{ HS_HAS_LINES, "ConstMethod::_has_linenumber_table" },
	{ HS_HAS_LINES, "ConstMethodFlags::_misc_has_linenumber_table" },
};

/*
 * Widths of types, by a part of their names; other types are pointers or words. Of AccessFlags, the
 * lower half: they had four bytes before JDK 25.
 */
static const struct {
	const char *part;
	uint8_t width;
} widths[] = {
	{ "*", 8 },    { "size_t", 8 }, { "u1", 1 },	{ "bool", 1 },	{ "Kind", 1 },
	{ "char", 1 }, { "u2", 2 },	{ "int16", 2 }, { "short", 2 }, { "u4", 4 },
	{ "int", 4 },  { "Level", 1 },	{ "Flags", 2 },
};

#define CNT_OF(array) (sizeof(array) / sizeof(*(array)))

struct reading {
	const struct elf *elf;
	struct file_pointers *pointers;
	struct hs_layout *layout;
	uint64_t begins[TABLE_CNT]; /* addresses; first of the variables, then of the tables */
	char type[NAME_MAX_SZ];	    /* of the struct at type_at */
	uint64_t type_at;
};

static uint8_t width_of(const char *type)
{
	for (size_t i = 0; i < CNT_OF(widths); i++)
		if (strstr(type, widths[i].part))
			return widths[i].width;
	return 8;
}

/* A name, cut. Returns false when it is none. */
static bool read_name(const struct reading *rd, uint64_t addr, char *buf)
{
	size_t len = NAME_MAX_SZ - 1;

	memset(buf, 0, NAME_MAX_SZ);
	while (len && elf__read(rd->elf, addr, buf, len)) /* the end of the segment */
		len /= 2;
	return *buf;
}

/* Reads an entry of a table and its name. Returns false at the end. */
static bool read_entry(const struct reading *rd, uint64_t addr, uint8_t *entry, size_t size,
		       char *name)
{
	return !elf__read(rd->elf, addr, entry, size) &&
	       read_name(rd, file_pointers__at(rd->pointers, addr), name);
}

static void take_member(struct reading *rd, uint64_t addr, const uint8_t *entry)
{
	char name[NAME_MAX_SZ], type[NAME_MAX_SZ];
	struct hs_layout *layout = rd->layout;
	int32_t is_static;
	bool has_name = false;

	for (size_t i = 0; i < CNT_OF(members); i++) {
		const struct member *member = &members[i];

		if (strcmp(member->type, rd->type))
			continue;
		if (!has_name)
			has_name = read_name(
				rd, file_pointers__at(rd->pointers, addr + STRUCT_MEMBER), name);
		if (!has_name || strcmp(member->name, name))
			continue;
		memcpy(&is_static, entry + STRUCT_STATIC, sizeof(is_static));
		if (is_static)
			layout->at[member->field] =
				file_pointers__at(rd->pointers, addr + STRUCT_ADDRESS);
		else
			layout->at[member->field] = (int64_t)addr + STRUCT_OFFSET;
		read_name(rd, file_pointers__at(rd->pointers, addr + STRUCT_TYPE), type);
		layout->width[member->field] = width_of(type);
		return;
	}
}

static void read_structs(struct reading *rd)
{
	uint64_t addr = rd->begins[TABLE_STRUCTS], type_at;
	uint8_t entry[STRUCT_SZ];

	for (unsigned i = 0; i < ENTRIES_MAX; i++, addr += STRUCT_SZ) {
		type_at = file_pointers__at(rd->pointers, addr);
		if (elf__read(rd->elf, addr, entry, sizeof(entry)))
			return;
		/* The compiler shares equal texts, so most entries need no reading. */
		if (type_at != rd->type_at && !read_name(rd, type_at, rd->type))
			return;
		rd->type_at = type_at;
		take_member(rd, addr, entry);
	}
}

static void read_types(struct reading *rd)
{
	uint64_t addr = rd->begins[TABLE_TYPES], size;
	uint8_t entry[TYPE_SZ];
	char name[NAME_MAX_SZ];

	for (unsigned i = 0; i < ENTRIES_MAX; i++, addr += TYPE_SZ) {
		if (!read_entry(rd, addr, entry, sizeof(entry), name))
			return;
		memcpy(&size, entry + TYPE_SIZE, sizeof(size));
		for (size_t k = 0; k < CNT_OF(sizes); k++)
			if (!strcmp(sizes[k].name, name))
				rd->layout->at[sizes[k].field] = (int64_t)size;
	}
}

static void read_constants(struct reading *rd)
{
	uint64_t addr = rd->begins[TABLE_CONSTANTS];
	uint8_t entry[CONSTANT_SZ];
	char name[NAME_MAX_SZ];
	int32_t value;

	for (unsigned i = 0; i < ENTRIES_MAX; i++, addr += CONSTANT_SZ) {
		if (!read_entry(rd, addr, entry, sizeof(entry), name))
			return;
		memcpy(&value, entry + CONSTANT_VALUE, sizeof(value));
		for (size_t k = 0; k < CNT_OF(constants); k++)
			if (!strcmp(constants[k].name, name))
				rd->layout->at[constants[k].field] = value;
	}
}

/* --- where the tables are */

static int take_variable(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *rd = ctx;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	for (unsigned i = 0; i < TABLE_CNT; i++)
		if (!strcmp(name + strlen(PREFIX), tables[i]))
			rd->begins[i] = sym->st_value;
	return 0;
}

/* From the addresses of pointers to what they point to. */
static int follow(struct reading *rd, uint64_t size)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (unsigned i = 0; i < TABLE_CNT; i++) {
		from = rd->begins[i] < from ? rd->begins[i] : from;
		to = rd->begins[i] > to ? rd->begins[i] : to;
	}
	if (!from || to - from > TABLES_SPAN)
		return -ENOTSUP;
	return file_pointers__load(rd->pointers, rd->elf, from, to + size);
}

static int find_tables(struct reading *rd)
{
	int res = elf__each_named(rd->elf, SHT_DYNSYM, take_variable, rd);

	for (unsigned i = 0; i < TABLE_CNT && !res; i++)
		res = rd->begins[i] ? 0 : -ENOENT;
	res = res ?: follow(rd, sizeof(uint64_t));
	for (unsigned i = 0; i < TABLE_CNT && !res; i++)
		rd->begins[i] = file_pointers__at(rd->pointers, rd->begins[i]);
	return res ?: follow(rd, TABLE_BYTES);
}

/* --- what a build must have */

static bool is_optional(const struct hs_layout *layout, enum hs_field field)
{
	bool apart = hs_layout__has(layout, HS_NMETHOD_IMMUTABLE); /* JDK 23 and later */

	switch (field) {
	case HS_NMETHOD_METADATA:
	case HS_NMETHOD_PCS_END:
		return apart;
	case HS_NMETHOD_IMMUTABLE:
	case HS_NMETHOD_IMMUTABLE_SIZE:
	case HS_BLOB_MUTABLE:
	case HS_BLOB_MUTABLE_SIZE:
	case HS_BLOB_RELOCATIONS:
	case HS_BLOB_KIND:
	case HS_KIND_NMETHOD:
		return !apart;
	case HS_POOL_FILE:
	case HS_KLASS_FILE:
		return hs_layout__has(layout, HS_POOL_FILE) ||
		       hs_layout__has(layout, HS_KLASS_FILE);
	default:
		return false;
	}
}

/* JDK 19 and 20 write numbers differently, 22 to 24 have other parts of compiled methods. */
static bool is_supported(uint32_t major)
{
	return (major >= 11 && major <= 18) || major == 21 || major == 25;
}

static int check(const struct reading *rd)
{
	struct hs_layout *layout = rd->layout;
	int32_t major;

	for (unsigned i = 0; i < HS_FIELD_CNT; i++)
		if (!hs_layout__has(layout, i) && !is_optional(layout, i))
			return -ENOTSUP;
	if (elf__read(rd->elf, layout->at[HS_VM_MAJOR], &major, sizeof(major)))
		return -ENOTSUP;
	layout->major = (uint32_t)major;
	layout->bytecode_word = rd->elf->machine == EM_AARCH64 ? 8 : 7;
	return is_supported(layout->major) && layout->at[HS_SIZE_PC_DESC] == 16 ? 0 : -ENOTSUP;
}

int hs_layout__read(const struct elf *elf, struct hs_layout *ret)
{
	struct reading rd = { .elf = elf, .layout = ret, .pointers = file_pointers__new() };
	int res = rd.pointers ? 0 : -ENOMEM;

	*ret = (struct hs_layout){};
	for (unsigned i = 0; i < HS_FIELD_CNT; i++)
		ret->at[i] = HS_NONE;
	if (!res)
		res = elf->is64 ? find_tables(&rd) : -ENOENT;
	if (!res) {
		read_structs(&rd);
		read_types(&rd);
		read_constants(&rd);
		res = check(&rd);
	}
	file_pointers__free(rd.pointers);
	return res;
}
