/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: their names, and what a thread blocked in one waits for. */
#ifndef JANK_CATALOGUE_SYSCALLS_H
#define JANK_CATALOGUE_SYSCALLS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>

/*
 * Fills in what the probes must know of this architecture's system calls, and of those of 32-bit
 * programs on it: epoll_nr, restart_nr, syscall_class.
 */
void syscalls__set(struct jank_conf *conf);

/* Its class (JANK_CLASS_*); JANK_CLASS_PLAIN for a number that is none. */
unsigned syscalls__class(int nr);

/* The names in a class (JANK_CLASS_*), with blanks between them; NULL for one that has none. */
const char *syscalls__of_class(unsigned class);

#endif
