/* SPDX-License-Identifier: GPL-2.0 */
/* The variables by which an ELF file is CPython or Ruby, whether a library or a program. */
#ifndef JANK_SYMBOL_INTERPRETERS_SCRIPT_ELF_H
#define JANK_SYMBOL_INTERPRETERS_SCRIPT_ELF_H

#include "symbol/elf/elf.h"

struct script_elf {
	bool is_ruby;
	uint64_t runtime;   /* of _PyRuntime, or of ruby_current_vm_ptr, as linked */
	uint64_t code_type; /* of PyCode_Type */
	uint32_t
		version; /* what Py_Version holds: since 3.11; or ruby_version's text in the same form */
	uint64_t lock_begin,
		lock_end; /* of the code by which Ruby waits for a Mutex; 0: not found */
};

/* 0; -ENOENT: it has not all of them; or -errno. */
int script_elf__find(const struct elf *elf, struct script_elf *ret);

#endif
