/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The class of a C++ object, by its vtable: from the type's own description (RTTI), else from a
 * symbol.
 */
#ifndef JANK_SYMBOL_ELF_VTABLE_H
#define JANK_SYMBOL_ELF_VTABLE_H

#include "symbol/names/process.h"

#define VTABLE_NAME_MAX 1024 /* of a class, mangled */

/*
 * The class of objects whose vtable pointer is vptr, demangled into buf. Its length, or 0: there is
 * no vtable, or nothing names it. *ret: what it is mapped from, or NULL. Only of 64-bit programs.
 */
size_t vtable__class(struct process_env *env, const struct process *process, uint64_t vptr,
		     char *buf, size_t cap, struct mapped **ret);

#endif
