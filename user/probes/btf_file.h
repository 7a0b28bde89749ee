/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a kernel's BTF from a user's file: raw, or an ELF file with a section .BTF. */
#ifndef JANK_PROBES_BTF_FILE_H
#define JANK_PROBES_BTF_FILE_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct btf;

/*
 * Returns 0: *ret is sound and has what the probes need; or -errno with a message that quotes the
 * file.
 */
int btf_file__read(const char *path, struct btf **ret, struct err *err);

/*
 * --- checks whether a BTF from a user is safe for libbpf
 *
 * libbpf follows every reference: a missing type, or one that contains itself, would crash it.
 */

struct btf;

/*
 * NULL when all referenced names and types exist and no type contains itself; otherwise a text that
 * says what is wrong.
 */
const char *btf_check__unsound(const struct btf *btf);

/*
 * Whether a struct or union, by its id, has a member of that name, directly or in an anonymous
 * member. Only for a sound BTF.
 */
bool btf_check__has_member(const struct btf *btf, int id, const char *name);

/*
 * Whether something is missing that every probe needs; writes its name to buf ("task_struct.pid").
 * Only for a sound BTF.
 */
bool btf_check__lacks(const struct btf *btf, char *buf, size_t len);

#endif
