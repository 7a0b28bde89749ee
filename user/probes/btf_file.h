/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with a kernel's BTF, as a user may give it: raw, or an ELF file with a section .BTF. */
#ifndef JANK_PROBES_BTF_FILE_H
#define JANK_PROBES_BTF_FILE_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct btf;

/*
 * 0, and *ret is sound and holds what the probes need; or -errno with a message that quotes the
 * file.
 */
int btf_file__read(const char *path, struct btf **ret, struct err *err);

/*
 * Is a BTF that somebody gave us fit to be handed to libbpf? libbpf follows what it reads: a type
 * that is not there, or one that holds itself, would take it down.
 */

struct btf;

/*
 * NULL when every name and type that it refers to is there and no type holds itself; else what is
 * wrong.
 */
const char *btf_check__unsound(const struct btf *btf);

/*
 * Whether a struct or union, by its id, has a member of that name, if only in an anonymous one. A
 * sound BTF only.
 */
bool btf_check__has_member(const struct btf *btf, int id, const char *name);

/*
 * Whether something is not there that no probe can do without; its name goes to buf
 * ("task_struct.pid"). Only for one that is sound.
 */
bool btf_check__lacks(const struct btf *btf, char *buf, size_t len);

#endif
