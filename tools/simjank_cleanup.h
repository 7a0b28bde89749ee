/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `janitor` removes what the stages made (directories, cgroups, swap) when the program
 * is gone, however it ended.
 */
#ifndef SIMJANK_CLEANUP_H
#define SIMJANK_CLEANUP_H

#include <stddef.h>

#define JANITOR_NAME_SZ 32

/* What a stage's directory and its cgroups are called: of the program with this pid. */
void cleanup__name(char *name, size_t size, int pid, unsigned index);

/*
 * Before anything is made. It looks below dir for what `cnt` stages of this program made. -errno.
 */
int cleanup__start(const char *dir, unsigned cnt);

#endif
