/* SPDX-License-Identifier: GPL-2.0 */
/* The three variables by which an ELF file is CPython, whether a library or a program. */
#ifndef JANK_SYMBOL_SCRIPT_ELF_H
#define JANK_SYMBOL_SCRIPT_ELF_H

#include "symbol/elf.h"

struct script_elf {
	uint64_t runtime, code_type; /* of _PyRuntime and PyCode_Type, as linked */
	uint32_t version;	     /* what Py_Version holds: since 3.11 */
};

/* 0; -ENOENT: it has not all of them; or -errno. */
int script_elf__find(const struct elf *elf, struct script_elf *ret);

#endif
