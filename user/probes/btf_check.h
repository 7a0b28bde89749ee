/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a BTF that somebody gave us fit to be handed to libbpf? libbpf follows what it reads: a type that
 * is not there, or one that holds itself, would take it down.
 */
#ifndef JANK_PROBES_BTF_CHECK_H
#define JANK_PROBES_BTF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct btf;

/* NULL when every name and type that it refers to is there and no type holds itself; else what is wrong. */
const char *btf_check__unsound(const struct btf *btf);

/* Whether a struct or union, by its id, has a member of that name, if only in an anonymous one. A sound BTF only. */
bool btf_check__has_member(const struct btf *btf, int id, const char *name);

/* Whether something is not there that no probe can do without; its name goes to buf ("task_struct.pid").
 * Only for one that is sound. */
bool btf_check__lacks(const struct btf *btf, char *buf, size_t len);

#endif
