/* SPDX-License-Identifier: GPL-2.0 */
/* Does a process map a library whose loop waits in poll or its kin? By the catalogue's rows. */
#ifndef JANK_CATALOGUE_POLLERS_H
#define JANK_CATALOGUE_POLLERS_H

#include "catalogue/catalogue.h"
#include <stdbool.h>
#include <sys/types.h>

/* Reads /proc/PID/maps; false also when pid is gone. */
bool pollers__is_one(const struct catalogue *cat, pid_t pid);

#endif
