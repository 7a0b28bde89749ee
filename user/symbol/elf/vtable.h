/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of a C++ object, found by its vtable: from RTTI, or else from a symbol. */
#ifndef JANK_SYMBOL_ELF_VTABLE_H
#define JANK_SYMBOL_ELF_VTABLE_H

#include "symbol/names/process.h"

#define VTABLE_NAME_MAX 1024 /* bytes of a mangled class name */

/*
 * Writes the demangled class of objects with the vtable pointer vptr to buf. *ret: the mapping that
 * holds the vtable, or NULL. 64-bit programs only. Returns the length; 0: no vtable, or no name.
 */
size_t vtable__class(struct process_env *env, const struct process *process, uint64_t vptr,
		     char *buf, size_t cap, struct mapped **ret);

/* --- one object (variable, vtable) at an address; searched on demand, since few are ever needed */

/*
 * Writes the name of the object at vaddr to buf. The name must begin with prefix and fit into cap.
 * *ret_offset: of vaddr in the object. Returns false when there is none.
 */
bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap, uint64_t *ret_offset);

/*
 * Writes the demangled name of the variable at an address to buf. *ret: the mapping of its module.
 * *ret_offset: of the address in the variable. Returns the length; 0: no variable with a name.
 */
size_t variable__name(struct process_env *env, const struct process *process, uint64_t addr,
		      char *buf, size_t cap, struct mapped **ret, uint64_t *ret_offset);

#endif
