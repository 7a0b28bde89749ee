/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of the process that makes names, beyond those of every process. */
#ifndef JANK_NAME_CALLS_H
#define JANK_NAME_CALLS_H

#include "base/syscall_filter.h"

/* Once it has given up its privileges. Its start needs what deliver_start_calls allow. */
extern const struct syscall_list name_calls;

#endif
