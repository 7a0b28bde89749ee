/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/kernel_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "probes/program_loads.h"

#define HEAD_CNT (1u << 16)
#define FILE_MAX (8 << 20) /* enough for all of them */

struct kernel_types {
	struct btf *btf;
	uint32_t *next;		     /* by type: the next one in its list, or 0 */
	uint32_t heads[HEAD_CNT];    /* by the hash of a name: its first type */
	int fd;			     /* the memory file */
	char path[32];		     /* its name, or "" */
	int handlers[2];	     /* see serve_programs */
	struct program_loads *loads; /* or NULL */
};

/* --- names */

/* FNV-1a */
static uint32_t head_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619;
	return (hash ^ hash >> 16) % HEAD_CNT;
}

/* Of the kernel's 50,000 functions only those for BPF are looked for. */
static bool is_looked_for(const struct btf_type *type, const char *name)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_TYPEDEF:
		return *name;
	case BTF_KIND_FUNC:
		return !strncmp(name, "bpf_", 4);
	default:
		return false;
	}
}

/* A list is in the order of the types: the first one of a name is the one that libbpf finds. */
static int index_names(struct kernel_types *types)
{
	uint32_t cnt = btf__type_cnt(types->btf);

	types->next = calloc(cnt, sizeof(*types->next));
	if (!types->next)
		return -ENOMEM;
	for (uint32_t id = cnt - 1; id; id--) {
		const struct btf_type *type = btf__type_by_id(types->btf, id);
		const char *name = btf__name_by_offset(types->btf, type->name_off);
		uint32_t *head;

		if (!is_looked_for(type, name))
			continue;
		head = &types->heads[head_of(name, strlen(name))];
		types->next[id] = *head;
		*head = id;
	}
	return 0;
}

static bool has_name(const struct kernel_types *types, uint32_t id, const char *name, size_t len)
{
	const struct btf_type *type = btf__type_by_id(types->btf, id);
	const char *own = btf__name_by_offset(types->btf, type->name_off);

	return !strncmp(own, name, len) && !own[len];
}

int kernel_types__find(const struct kernel_types *types, const char *name, uint32_t kind)
{
	size_t len = strlen(name);
	uint32_t id;

	if (!types)
		return -ENODATA;
	for (id = types->heads[head_of(name, len)]; id; id = types->next[id])
		if (btf_kind(btf__type_by_id(types->btf, id)) == kind &&
		    has_name(types, id, name, len))
			return id;
	return -ENOENT;
}

/*
 * --- what typed programs attach to: libbpf would read all types for it (prog_needs_vmlinux_btf in
 * its libbpf.c), unless the program becomes a typed one only when it is loaded.
 */

static int load_typed(struct bpf_program *prog, struct bpf_prog_load_opts *opts,
		      const struct kernel_types *types, const char *prefix, uint32_t kind)
{
	enum bpf_attach_type attach = kind == BTF_KIND_FUNC ? BPF_TRACE_ITER : BPF_TRACE_RAW_TP;
	const char *target = strchr(bpf_program__section_name(prog), '/');
	char name[128];
	int id;

	if (!target)
		return -EINVAL;
	snprintf(name, sizeof(name), "%s%s", prefix, target + 1);
	id = kernel_types__find(types, name, kind);
	if (id < 0)
		return id;
	opts->attach_btf_id = id;
	opts->expected_attach_type = attach;
	return bpf_program__set_expected_attach_type(prog, attach)
		       ?: bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING)
		       ?: program_loads__take(types->loads, prog, opts);
}

static int load_tracepoint(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	return load_typed(prog, opts, (void *)cookie, "btf_trace_", BTF_KIND_TYPEDEF);
}

static int load_iterator(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	return load_typed(prog, opts, (void *)cookie, "bpf_iter_", BTF_KIND_FUNC);
}

void kernel_types__begin_loads(struct kernel_types *types, unsigned threads)
{
	types->loads = program_loads__new(threads);
}

int kernel_types__finish_loads(struct kernel_types *types)
{
	int ret = program_loads__finish(types->loads);

	types->loads = NULL;
	return ret;
}

static int serve_programs(struct kernel_types *types)
{
	static const struct {
		const char *section;
		libbpf_prog_prepare_load_fn_t load;
	} rows[] = { { "tp_btf+", load_tracepoint }, { "iter+", load_iterator } };

	for (int i = 0; i < 2; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)types,
			    .prog_prepare_load_fn = rows[i].load);

		types->handlers[i] = libbpf_register_prog_handler(
			rows[i].section, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
		if (types->handlers[i] < 0)
			return types->handlers[i];
	}
	return 0;
}

/* --- a part of them */

struct copy {
	const struct kernel_types *from;
	struct btf *to;
	uint32_t *ids; /* by a type of `from`: the one in `to`, or 0 */
	int pointer;   /* void *, in `to` */
};

static int copy_type(struct copy *copy, uint32_t id);

/* The type exists in `to` before its members, since one may point to it. */
static int copy_members(struct copy *copy, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(copy->from->btf, id);
	const struct btf_member *members = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++) {
		int member = copy_type(copy, members[i].type);
		struct btf_type *own;

		if (member < 0)
			return member;
		/* a later type may have moved it */
		own = (struct btf_type *)btf__type_by_id(copy->to, copy->ids[id]);
		btf_members(own)[i].type = member;
	}
	return copy->ids[id];
}

static int copy_array(struct copy *copy, uint32_t id)
{
	const struct btf_array *array = btf_array(btf__type_by_id(copy->from->btf, id));
	int element = copy_type(copy, array->type);
	int index = element < 0 ? element : copy_type(copy, array->index_type);

	return index < 0 ? index : btf__add_array(copy->to, index, element, array->nelems);
}

/* A const, a typedef and the like. */
static int copy_alias(struct copy *copy, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(copy->from->btf, id);
	int target = copy_type(copy, type->type);
	int ret = target < 0 ? target : btf__add_type(copy->to, copy->from->btf, type);

	if (ret > 0)
		((struct btf_type *)btf__type_by_id(copy->to, ret))->type = target;
	return ret;
}

/*
 * Returns the type in `to`, or -errno. A pointer becomes void *: a relocation of libbpf does not
 * follow pointers (bpf_core_fields_are_compat), and they lead to most of the kernel.
 */
static int copy_type(struct copy *copy, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(copy->from->btf, id);
	int ret;

	if (!id || copy->ids[id])
		return copy->ids[id];
	if (btf_is_ptr(type))
		ret = copy->pointer;
	else if (btf_is_array(type))
		ret = copy_array(copy, id);
	else if (btf_is_mod(type) || btf_is_typedef(type))
		ret = copy_alias(copy, id);
	else
		ret = btf__add_type(copy->to, copy->from->btf, type);
	if (ret < 0)
		return ret;
	copy->ids[id] = ret;
	return btf_is_composite(type) ? copy_members(copy, id) : ret;
}

/* All of that name, as libbpf finds them. What follows ___ is no part of it (a flavor). */
static int copy_named(struct copy *copy, const char *name)
{
	const char *flavor = strstr(name, "___");
	size_t len = flavor ? (size_t)(flavor - name) : strlen(name);
	const struct kernel_types *from = copy->from;
	int ret = 0;

	for (uint32_t id = from->heads[head_of(name, len)]; id && ret >= 0; id = from->next[id])
		if (has_name(from, id, name, len))
			ret = copy_type(copy, id);
	return ret < 0 ? ret : 0;
}

static int copy_wanted(struct copy *copy, const struct btf *wanted)
{
	int ret = 0;

	copy->pointer = btf__add_ptr(copy->to, 0);
	if (copy->pointer < 0)
		return copy->pointer;
	for (uint32_t id = 1; id < btf__type_cnt(wanted) && !ret; id++) {
		const struct btf_type *type = btf__type_by_id(wanted, id);
		const char *name = btf__name_by_offset(wanted, type->name_off);

		if (*name && !btf_is_func(type) && is_looked_for(type, name))
			ret = copy_named(copy, name);
	}
	return ret;
}

static int write_file(const struct kernel_types *types, const struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	if (!data)
		return -ENOMEM;
	if (ftruncate(types->fd, 0) || lseek(types->fd, 0, SEEK_SET))
		return -errno;
	return file__write_all(types->fd, data, size);
}

int kernel_types__choose(struct kernel_types *types, const struct btf *wanted)
{
	struct copy copy = { .from = types };
	int ret = -ENOMEM;

	if (!*types->path)
		return 0;
	copy.to = btf__new_empty();
	copy.ids = calloc(btf__type_cnt(types->btf), sizeof(*copy.ids));
	if (copy.to && copy.ids)
		ret = copy_wanted(&copy, wanted);
	if (!ret)
		ret = write_file(types, copy.to);
	btf__free(copy.to);
	free(copy.ids);
	return ret;
}

/* --- all of them */

const struct btf *kernel_types__all(const struct kernel_types *types)
{
	return types ? types->btf : NULL;
}

const char *kernel_types__path(const struct kernel_types *types)
{
	return types && *types->path ? types->path : NULL;
}

/*
 * MADV_DONTFORK: a process that is forked meanwhile (jankbpf-apart) would keep the 6 MB that we
 * free soon. MADV_DOFORK before they are freed: they may be used again.
 */
static void advise(const struct btf *btf, int advice)
{
	uintptr_t page_sz = sysconf(_SC_PAGESIZE), begin, end;
	uint32_t size;

	if (!btf)
		return;
	begin = (uintptr_t)btf__raw_data(btf, &size);
	end = (begin + size) & -page_sz;
	begin = (begin + page_sz - 1) & -page_sz;
	madvise((void *)begin, end - begin, advice);
}

/* A write beyond RLIMIT_FSIZE would end the process. */
static int open_file(struct kernel_types *types)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < FILE_MAX)
		return 0;
	types->fd = memfd_create("jankbpf-types", MFD_CLOEXEC);
	if (types->fd < 0)
		return -errno;
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
	return 0;
}

/* From 6.16 on (a539e2a6d51d): half the time of libbpf's reads and copies. */
static struct btf *read_mapped(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct btf *ret = NULL;
	struct stat st;
	void *data;

	if (fd < 0)
		return NULL;
	data = fstat(fd, &st) ? MAP_FAILED : mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return NULL;
	ret = btf__new(data, st.st_size);
	munmap(data, st.st_size);
	return ret;
}

static int open_types(struct kernel_types *types)
{
	types->btf = read_mapped() ?: btf__load_vmlinux_btf();
	if (!types->btf)
		return -errno;
	advise(types->btf, MADV_DONTFORK);
	return index_names(types) ?: open_file(types) ?: serve_programs(types);
}

struct kernel_types *kernel_types__read(void)
{
	struct kernel_types *types = calloc(1, sizeof(*types));
	int res;

	if (!types)
		return NULL;
	types->fd = types->handlers[0] = types->handlers[1] = -1;
	res = open_types(types);
	if (!res)
		return types;
	kernel_types__free(types);
	errno = -res;
	return NULL;
}

void kernel_types__free(struct kernel_types *types)
{
	if (!types)
		return;
	for (int i = 0; i < 2; i++)
		if (types->handlers[i] >= 0)
			libbpf_unregister_prog_handler(types->handlers[i]);
	if (types->fd >= 0)
		close(types->fd);
	advise(types->btf, MADV_DOFORK);
	btf__free(types->btf);
	free(types->next);
	free(types);
}
