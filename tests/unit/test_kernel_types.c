/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types: names are found as libbpf finds them, and the chosen part is true to them. */
#include "probes/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>

#include "tests/tap.h"

static struct kernel_types *types;
static const struct btf *all;

static void test_find(void)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} names[] = {
		{ "task_struct", BTF_KIND_STRUCT },
		{ "pt_regs", BTF_KIND_STRUCT },
		{ "btf_trace_sched_switch", BTF_KIND_TYPEDEF },
		{ "bpf_iter_task", BTF_KIND_FUNC },
		{ "bpf_iter_link_info", BTF_KIND_UNION },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is_int(kernel_types__find(types, names[i].name, names[i].kind),
		       btf__find_by_name_kind(all, names[i].name, names[i].kind),
		       "%s is the type that libbpf finds", names[i].name);
	is_int(kernel_types__find(types, "task_struct", BTF_KIND_UNION), -ENOENT,
	       "another kind of that name is not there");
	is_int(kernel_types__find(types, "task_struct___x", BTF_KIND_STRUCT), -ENOENT,
	       "nor another name");
	is_int(kernel_types__find(NULL, "task_struct", BTF_KIND_STRUCT), -ENODATA,
	       "a kernel without types has none");
}

static const char *name_of(const struct btf *btf, uint32_t id)
{
	return btf__name_by_offset(btf, btf__type_by_id(btf, id)->name_off);
}

/* Has a struct or union the same members in both, at the same places, of the same sizes? */
static bool equal(const struct btf *part, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(part, id), *own;
	int own_id = btf__find_by_name_kind(all, name_of(part, id), btf_kind(type));

	own = own_id > 0 ? btf__type_by_id(all, own_id) : NULL;
	if (!own || own->size != type->size || btf_vlen(own) != btf_vlen(type))
		return false;
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *a = &btf_members(type)[i], *b = &btf_members(own)[i];

		if (strcmp(btf__name_by_offset(part, a->name_off),
			   btf__name_by_offset(all, b->name_off)) ||
		    a->offset != b->offset ||
		    btf__resolve_size(part, a->type) != btf__resolve_size(all, b->type))
			return false;
	}
	return true;
}

static const struct {
	const char *name, *wanted;
} rows[] = {
	{ "task_struct", "task_struct" }, /* contains structs, arrays, unions without a name */
	{ "mm_struct", "mm_struct___old" },
	{ "pt_regs", "pt_regs" },
	{ "iov_iter", "iov_iter___v5_14" },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static struct btf *make_wanted(void)
{
	struct btf *wanted = btf__new_empty();

	btf__add_int(wanted, "int", 4, BTF_INT_SIGNED);
	for (size_t i = 0; i < ROWS; i++)
		btf__add_struct(wanted, rows[i].wanted, 0);
	btf__add_struct(wanted, "jank_conf", 0);
	btf__add_enum(wanted, "hrtimer_restart", 4);
	btf__add_typedef(wanted, "pid_t", 1);
	return wanted;
}

static void check_part(const struct btf *part)
{
	int id;

	ok(btf__type_cnt(part) < btf__type_cnt(all) / 10, "a small part of all (%u of %u)",
	   btf__type_cnt(part), btf__type_cnt(all));
	for (size_t i = 0; i < ROWS; i++) {
		id = btf__find_by_name_kind(part, rows[i].name, BTF_KIND_STRUCT);
		ok(id > 0 && equal(part, id), "%s for %s: the members, places, sizes that it has",
		   rows[i].name, rows[i].wanted);
	}
	id = btf__find_by_name_kind(part, "hrtimer_restart", BTF_KIND_ENUM);
	ok(id > 0 && btf_vlen(btf__type_by_id(part, id)) == 2, "an enum with its values");
	ok(btf__resolve_size(part, btf__find_by_name_kind(part, "pid_t", BTF_KIND_TYPEDEF)) == 4,
	   "a typedef with what it stands for");
	ok(btf__find_by_name(part, "jank_conf") < 0 && btf__find_by_name(part, "inode") < 0,
	   "neither our own types nor those that only pointers lead to");
}

static void test_choose(void)
{
	struct btf *wanted = make_wanted(), *part;

	for (int i = 0; i < 2; i++) /* a second choice replaces the first one */
		is_int(kernel_types__choose(types, wanted), 0, "types are chosen");
	part = btf__parse(kernel_types__path(types), NULL);
	ok(part, "libbpf reads the file");
	if (part)
		check_part(part);
	btf__free(part);
	btf__free(wanted);
}

int main(void)
{
	types = kernel_types__read();
	if (!types && errno == ENOENT)
		skip_all("this kernel has no types of its own");
	all = kernel_types__all(types);
	ok(all, "the kernel's types are read");
	if (all) {
		test_find();
		test_choose();
	}
	kernel_types__free(types);
	return tap__done();
}
