/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's functions, its modules' and BPF programs', by /proc/kallsyms. */
#ifndef JANK_SYMBOL_NAMES_KALLSYMS_H
#define JANK_SYMBOL_NAMES_KALLSYMS_H

#include "symbol/elf/symtab.h"

/* Reads a file in the format of /proc/kallsyms into tab. Without the right to see addresses the
 * table is empty. 0 or -errno; tab is usable in both cases. */
int kallsyms__load(struct symtab *tab, const char *path);

/* The name and the module ("vmlinux" for the kernel itself) of a symbol of such a table. Both
 * point into buf. */
struct kernel_name {
	char buf[NAME_MAX_LEN];
	const char *function, *module;
};
void kallsyms__name(const struct symtab *tab, const struct symbol *sym, struct kernel_name *ret);

/* The build id of "vmlinux" or a module as hex (of BUILD_ID_HEX_SZ bytes), from /sys; "" when it
 * cannot be had. */
void kallsyms__build_id(const char *module, char *hex);

#endif
