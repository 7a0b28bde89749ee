/* SPDX-License-Identifier: GPL-2.0 */
/* Names of system calls by number, of the architecture that this program is built for. */
#ifndef JANK_SYSCALL_NAME_H
#define JANK_SYSCALL_NAME_H

/* Static storage; NULL for an unknown number. */
const char *syscall__name(int nr);

#endif
