/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process that delivers records gives up. Called once, with one thread. */
#ifndef JANK_DELIVER_CONFINE_H
#define JANK_DELIVER_CONFINE_H

#include "base/err.h"
#include <signal.h>
#include <stdbool.h>

#define CONFINE_ORPHANED SIGUSR1 /* the signal of the parent's death */

/*
 * Becomes the user of sudo, if there is one; drops all capabilities and the means to get new ones;
 * limits descriptors and system calls; asks for CONFINE_ORPHANED. Returns 0, or -errno with a
 * message; then the process must end.
 */
int confine(struct err *err);

/*
 * --- syscall_filter.c: allows the system calls of the sinks; others fail with ENOSYS, so that the
 * C library uses an older one if it can
 */

/* False: this build has no libseccomp, or the kernel has no filters. */
bool syscall_filter__is_available(void);
/* 0 or -errno. Does nothing where it is not available. Needs no_new_privs. */
int syscall_filter__install(void);

#endif
