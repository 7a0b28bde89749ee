/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of system calls by number, for the architecture that this program is built for. */
#ifndef JANK_BASE_SYSCALL_NAME_H
#define JANK_BASE_SYSCALL_NAME_H

/* Returns static storage; NULL for an unknown number. */
const char *syscall__name(int nr);

/*
 * Like syscall__name, for 32-bit programs, which use other numbers (i386 on x86-64, arm on arm64).
 */
const char *syscall__name_32(int nr);

/* The number of a name of syscall__name; -1 for NULL or an unknown name. */
int syscall__nr(const char *name);

#endif
