/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions shared by the files of the modules. */
#ifndef JANK_SYMBOL_MODULES_MODULE_PARTS_H
#define JANK_SYMBOL_MODULES_MODULE_PARTS_H

#include "symbol/modules/module.h"

/* --- module.c: the descriptor of a file that is not read yet */
/* Takes over fd; closes it when it is of no use or many are kept. The module may be NULL. */
void module__keep_fd(struct modules *modules, struct module *module, int fd);
void module__drop_fd(struct modules *modules, struct module *module);

#endif
