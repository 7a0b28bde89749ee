/* SPDX-License-Identifier: GPL-2.0 */
/* Bounds first: every reference is looked at once, and how deep types hold each other is measured. */
#include "probes/btf_check.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEIGHT_MAX  200 /* of types that hold each other by value; kernels' reach 33 */
#define HEIGHT_OPEN 255

struct check {
	const struct btf *btf;
	unsigned type_cnt;     /* the void type, 0, included */
	unsigned char *height; /* by type: 0 not known, HEIGHT_OPEN being looked at */
};

static bool has_name(const struct check *chk, unsigned offset)
{
	return btf__str_by_offset(chk->btf, offset);
}

/* --- every reference leads to something */

static bool members_sound(const struct check *chk, const struct btf_type *type)
{
	const struct btf_member *member = btf_members(type);

	for (unsigned i = 0; i < btf_vlen(type); i++, member++)
		if (!has_name(chk, member->name_off) || member->type >= chk->type_cnt)
			return false;
	return true;
}

static bool params_sound(const struct check *chk, const struct btf_type *type)
{
	const struct btf_param *param = btf_params(type);

	for (unsigned i = 0; i < btf_vlen(type); i++, param++)
		if (!has_name(chk, param->name_off) || param->type >= chk->type_cnt)
			return false;
	return type->type < chk->type_cnt;
}

static bool enum_sound(const struct check *chk, const struct btf_type *type)
{
	for (unsigned i = 0; i < btf_vlen(type); i++)
		if (!has_name(chk, btf_is_enum(type) ? btf_enum(type)[i].name_off
						     : btf_enum64(type)[i].name_off))
			return false;
	return true;
}

static bool datasec_sound(const struct check *chk, const struct btf_type *type)
{
	const struct btf_var_secinfo *var = btf_var_secinfos(type);

	for (unsigned i = 0; i < btf_vlen(type); i++, var++)
		if (var->type >= chk->type_cnt)
			return false;
	return true;
}

static bool array_sound(const struct check *chk, const struct btf_type *type)
{
	const struct btf_array *array = btf_array(type);

	return array->type < chk->type_cnt && array->index_type < chk->type_cnt;
}

/* Kinds that only refer to one other type. */
static bool is_reference(const struct btf_type *type)
{
	return btf_is_ptr(type) || btf_is_mod(type) || btf_is_typedef(type) || btf_is_func(type) ||
	       btf_is_var(type) || btf_is_decl_tag(type) || btf_is_type_tag(type);
}

static bool references_sound(const struct check *chk, const struct btf_type *type)
{
	if (!has_name(chk, type->name_off))
		return false;
	if (btf_is_composite(type))
		return members_sound(chk, type);
	if (btf_is_func_proto(type))
		return params_sound(chk, type);
	if (btf_is_any_enum(type))
		return enum_sound(chk, type);
	if (btf_is_datasec(type))
		return datasec_sound(chk, type);
	if (btf_is_array(type))
		return array_sound(chk, type);
	return !is_reference(type) || type->type < chk->type_cnt;
}

/* --- no type holds itself */

static unsigned measure(struct check *chk, unsigned id, unsigned depth);

static unsigned measure_members(struct check *chk, const struct btf_type *type, unsigned depth)
{
	const struct btf_member *member = btf_members(type);
	unsigned most = 0;

	for (unsigned i = 0; i < btf_vlen(type) && most <= HEIGHT_MAX; i++, member++) {
		unsigned height = measure(chk, member->type, depth);

		most = height > most ? height : most;
	}
	return most;
}

/* How many types the type holds by value, the deepest way down; more than HEIGHT_MAX: too many, or itself. */
static unsigned measure(struct check *chk, unsigned id, unsigned depth)
{
	const struct btf_type *type = btf__type_by_id(chk->btf, id);
	unsigned height = 0;

	if (!id || chk->height[id])
		return chk->height[id];
	if (depth > HEIGHT_MAX)
		return HEIGHT_OPEN;
	chk->height[id] = HEIGHT_OPEN;
	if (btf_is_composite(type))
		height = measure_members(chk, type, depth + 1);
	else if (btf_is_array(type))
		height = measure(chk, btf_array(type)->type, depth + 1);
	else if (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type))
		height = measure(chk, type->type, depth + 1);
	if (height >= HEIGHT_MAX)
		return HEIGHT_OPEN;
	chk->height[id] = height + 1;
	return height + 1;
}

static const char *check_all(struct check *chk)
{
	for (unsigned id = 1; id < chk->type_cnt; id++)
		if (!references_sound(chk, btf__type_by_id(chk->btf, id)))
			return "it refers to what it does not hold (is it a module's?)";
	for (unsigned id = 1; id < chk->type_cnt; id++)
		if (measure(chk, id, 0) > HEIGHT_MAX)
			return "a type in it holds itself";
	return NULL;
}

const char *btf_check__unsound(const struct btf *btf)
{
	struct check chk = { .btf = btf, .type_cnt = btf__type_cnt(btf) };
	const char *wrong;

	chk.height = calloc(chk.type_cnt, 1);
	if (!chk.height)
		return "out of memory";
	wrong = check_all(&chk);
	free(chk.height);
	return wrong;
}

/* --- what the probes need */

static const struct {
	const char *type, *field;
	const char *or_field; /* its name in other kernels */
} needs[] = {
	{ "task_struct", "pid", NULL },
	{ "task_struct", "tgid", NULL },
	{ "task_struct", "comm", NULL },
	{ "task_struct", "stack", NULL },
	{ "task_struct", "flags", NULL },
	{ "task_struct", "files", NULL },
	{ "task_struct", "__state", "state" }, /* 2f064a59a11f (5.14) */
	{ "files_struct", "fdt", NULL },
	{ "fdtable", "fd", NULL },
	{ "file", "f_op", NULL },
	{ "inode", "i_mode", NULL },
#if defined(__x86_64__)
	{ "pt_regs", "orig_ax", NULL },
	{ "pt_regs", "ip", NULL },
#elif defined(__aarch64__)
	{ "pt_regs", "syscallno", NULL },
	{ "user_pt_regs", "pc", NULL },
#endif
};

/* Anonymous ones are held by value, so that HEIGHT_MAX bounds this. */
bool btf_check__has_member(const struct btf *btf, int id, const char *name)
{
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *member;

	if (!type || !btf_is_composite(type))
		return false;
	member = btf_members(type);
	for (unsigned i = 0; i < btf_vlen(type); i++, member++) {
		const char *member_name = btf__name_by_offset(btf, member->name_off);

		if (!strcmp(member_name, name) ||
		    (!*member_name && btf_check__has_member(btf, member->type, name)))
			return true;
	}
	return false;
}

bool btf_check__lacks(const struct btf *btf, char *buf, size_t len)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		int id = btf__find_by_name_kind(btf, needs[i].type, BTF_KIND_STRUCT);

		if (btf_check__has_member(btf, id, needs[i].field) ||
		    (needs[i].or_field && btf_check__has_member(btf, id, needs[i].or_field)))
			continue;
		snprintf(buf, len, "%s.%s", needs[i].type, needs[i].field);
		return true;
	}
	return false;
}
