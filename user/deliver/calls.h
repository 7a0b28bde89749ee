/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of the process that writes records, beyond those of every process. */
#ifndef JANK_DELIVER_CALLS_H
#define JANK_DELIVER_CALLS_H

#include "base/syscall_filter.h"

/* The sinks: once the process has given up its privileges. */
extern const struct syscall_list deliver_calls;
/* Its start: from the tracer's clone to the filter of its own. */
extern const struct syscall_list deliver_start_calls;

#endif
