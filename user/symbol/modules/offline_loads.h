/* SPDX-License-Identifier: GPL-2.0 */
/* Where code lay in the file that a debug file was made of. */
#ifndef JANK_SYMBOL_MODULES_OFFLINE_LOADS_H
#define JANK_SYMBOL_MODULES_OFFLINE_LOADS_H

#include "symbol/modules/module.h"

/*
 * A module of a file that has no code itself (objcopy --only-keep-debug) gets the places that its code's sections had:
 * linkers put each at the next offset that is the same as its address within a page.
 */
void offline_loads__restore(struct module *module, int fd);

#endif
