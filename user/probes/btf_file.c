/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Most of this file produces errors. A file from a user is often compressed, a kernel image, or of
 * another machine, and libbpf reports "Invalid argument" for all of them.
 */
#include "probes/btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "probes/bpf_log.h"

/* --- soundness: checks each reference once, then how deep types contain each other */

#define HEIGHT_MAX  200 /* levels of types that contain each other by value; kernels reach 33 */
#define HEIGHT_OPEN 255

struct check {
	const struct btf *btf;
	unsigned type_cnt;     /* including type 0, void */
	unsigned char *height; /* by type: 0: unknown, HEIGHT_OPEN: being measured */
};

static bool has_name(const struct check *chk, unsigned offset)
{
	return btf__str_by_offset(chk->btf, offset);
}

/* --- every reference is valid */

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

/* --- no type contains itself */

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

/*
 * Number of types on the longest path of containment by value. More than HEIGHT_MAX: too many, or
 * the type contains itself.
 */
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

/* Anonymous members are contained by value, so HEIGHT_MAX bounds the recursion. */
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

#define HEAD_LEN   1024
#define RAW_MAX	   (64 << 20) /* bytes; BTF of a kernel with all drivers built in has about 20 MB */
#define NAME_SHOWN 200

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "SWAPPED");

/* A file format recognised by a few bytes at a fixed offset. */
struct form {
	size_t offset;
	const char *magic;
	size_t len;
	const char *is; /* error text with the remedy */
};

#define FORM(offset, magic, is)                                                                    \
	{                                                                                          \
		offset, magic, sizeof(magic) - 1, (is)                                             \
	}
#define PACKED(by, tool) "is compressed by " by ": unpack it first (" tool ")"
#define SWAPPED		 "is BTF of a machine with the other byte order"
#define IMAGE		 "is a kernel's boot image: extract its vmlinux (scripts/extract-vmlinux)"

static const struct form refused[] = {
	FORM(0, "\x1f\x8b", PACKED("gzip", "gzip -d")),
	FORM(0, "\xfd\x37zXZ", PACKED("xz", "xz -d")),
	FORM(0, "\x28\xb5\x2f\xfd", PACKED("zstd", "zstd -d")),
	FORM(0, "\x04\x22\x4d\x18", PACKED("lz4", "lz4 -d")),
	FORM(0, "BZh", PACKED("bzip2", "bzip2 -d")),
	FORM(0, "PK\x03\x04", PACKED("zip", "unzip")),
	FORM(257, "ustar", "is an archive: unpack it first (tar -xf)"),
	FORM(0x202, "HdrS", IMAGE),
	FORM(56, "ARM\x64", IMAGE),
	FORM(0, "\xeb\x9f", SWAPPED),
};

static bool has_form(const struct form *form, const char *head, size_t len)
{
	return form->offset + form->len <= len &&
	       !memcmp(head + form->offset, form->magic, form->len);
}

static int refuse(struct err *err, int code, const char *path, const char *why)
{
	return err__set(err, code, "--btf '%.*s' %s", NAME_SHOWN, path, why);
}

static int refuse_unreadable(struct err *err, const char *path, int code)
{
	return err__set(err, code, "--btf '%.*s' cannot be read: %s", NAME_SHOWN, path,
			strerror(code));
}

static int read_raw(int fd, const char *path, struct btf **ret, struct err *err)
{
	struct strbuf raw = STRBUF_INIT;
	char name[32];
	int code;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	code = file__read(name, RAW_MAX, &raw);
	if (code == -EFBIG)
		code = refuse(err, EFBIG, path, "is too large for a kernel's BTF");
	else if (code)
		code = refuse_unreadable(err, path, -code);
	else if (!(*ret = btf__new(raw.data, raw.len)))
		code = refuse(err, EINVAL, path,
			      "is damaged, or BTF of a kind that this jankbpf is too old for");
	strbuf__free(&raw);
	return code;
}

static int read_elf(int fd, const char *path, struct btf **ret, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*ret = btf__parse_elf(name, NULL);
	if (*ret)
		return 0;
	if (errno == ENOENT || errno == ENODATA)
		return refuse(err, ENODATA, path,
			      "has no section .BTF: where it has DWARF, `pahole -J` adds one");
	return refuse(err, EINVAL, path, "is a damaged ELF file, or its section .BTF is");
}

static int read_any(int fd, const char *path, struct btf **ret, struct err *err)
{
	const unsigned short magic = BTF_MAGIC;
	char head[HEAD_LEN] = "";
	ssize_t len = pread(fd, head, sizeof(head), 0);

	if (len < 0)
		return refuse_unreadable(err, path, errno);
	if (len >= (ssize_t)sizeof(magic) && !memcmp(head, &magic, sizeof(magic)))
		return read_raw(fd, path, ret, err);
	if (len >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		return read_elf(fd, path, ret, err);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (has_form(&refused[i], head, len))
			return refuse(err, EINVAL, path, refused[i].is);
	return refuse(err, EINVAL, path,
		      "is no BTF: give a kernel's, raw or in an ELF file (vmlinux)");
}

static int check(const struct btf *btf, const char *path, struct err *err)
{
	const char *wrong = btf_check__unsound(btf);
	char lacking[64];

	if (wrong)
		return err__set(err, EINVAL, "--btf '%.*s' is damaged: %s", NAME_SHOWN, path,
				wrong);
	if (btf_check__lacks(btf, lacking, sizeof(lacking)))
		return err__set(err, EINVAL,
				"--btf '%.*s' lacks %s: it is not this architecture's kernel's, or "
				"was minimised for another program",
				NAME_SHOWN, path, lacking);
	return 0;
}

/* O_NONBLOCK: do not block on a FIFO. */
static int open_regular(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return refuse_unreadable(err, path, errno);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return refuse(err, EINVAL, path, "is not a regular file");
}

int btf_file__read(const char *path, struct btf **ret, struct err *err)
{
	struct btf *btf = NULL;
	int fd = open_regular(path, err), code;

	if (fd < 0)
		return fd;
	bpf_log__capture(); /* libbpf's messages go into our own error */
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	code = read_any(fd, path, &btf, err);
	close(fd);
	if (!code && btf__endianness(btf) != BTF_LITTLE_ENDIAN)
		code = refuse(err, EINVAL, path, SWAPPED);
	if (!code)
		code = check(btf, path, err);
	if (code)
		btf__free(btf);
	else
		*ret = btf;
	return code;
}
