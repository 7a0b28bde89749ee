/* SPDX-License-Identifier: GPL-2.0 */
/* The vdso: an ELF file that is in no file system, only in processes. */
#ifndef JANK_SYMBOL_NAMES_VDSO_H
#define JANK_SYMBOL_NAMES_VDSO_H

#include <stddef.h>
#include <stdint.h>

/* Copies [start, end) from the process's memory (PROC/PID/mem), malloc'ed. 0 or -errno. */
int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size);

#endif
