/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `janitor` removes what the fixtures made (directories, cgroups, swap) when the
 * program ends in any way.
 */
#ifndef SIMJANK_CLEANUP_H
#define SIMJANK_CLEANUP_H

#include <stddef.h>

#define JANITOR_NAME_SZ 32

/* The name of a fixture's directory and cgroups, for the program with this pid. */
void cleanup__name(char *name, size_t size, int pid, unsigned index);

/*
 * Starts it; call this before anything is made. It cleans up below dir, for `cnt` fixtures of this
 * program. Returns 0 or -errno.
 */
int cleanup__start(const char *dir, unsigned cnt);

#endif
