/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the kernel, its modules and BPF programs, from /proc/kallsyms. */
#ifndef JANK_SYMBOL_NAMES_KALLSYMS_H
#define JANK_SYMBOL_NAMES_KALLSYMS_H

#include "symbol/elf/symtab.h"

/*
 * Reads a file in the format of /proc/kallsyms into tab. The table is empty without the right to
 * see addresses. Returns 0 or -errno; tab is usable in both cases.
 */
int kallsyms__load(struct symtab *tab, const char *path);

/*
 * Name and module ("vmlinux" for the kernel itself) of a symbol of such a table. Both point into
 * buf.
 */
struct kernel_name {
	char buf[NAME_MAX_LEN];
	const char *function, *module;
};
void kallsyms__name(const struct symtab *tab, const struct symbol *sym, struct kernel_name *ret);

/*
 * The build id of "vmlinux" or a module, from /sys, as hex (BUILD_ID_HEX_SZ bytes); "": not
 * available.
 */
void kallsyms__build_id(const char *module, char *hex);

#endif
