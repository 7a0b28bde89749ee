/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: names, and what a thread blocked in one waits for. */
#ifndef JANK_CATALOGUE_SYSCALLS_H
#define JANK_CATALOGUE_SYSCALLS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>

/*
 * Fills in what the probes must know about system calls of this architecture and of its 32-bit
 * programs: epoll_nr, restart_nr, syscall_class.
 */
void syscalls__set(struct jank_conf *conf);

/* The class of a system call (JANK_CLASS_*); JANK_CLASS_PLAIN for an unknown number. */
unsigned syscalls__class(int nr);

/* The names in a class (JANK_CLASS_*), separated by blanks; NULL for a class without names. */
const char *syscalls__of_class(unsigned class);

#endif
