/* SPDX-License-Identifier: GPL-2.0 */
/* System calls: their names, and what a thread blocked in one waits for. */
#ifndef JANK_SYSCALLS_H
#define JANK_SYSCALLS_H

#include <stdint.h>

#include "bpf/jank_abi.h"

/* Fills the table by number with JANK_CLASS_*, for this architecture. */
void syscalls__classes(uint8_t classes[JANK_SYSCALL_MAX]);

#endif
