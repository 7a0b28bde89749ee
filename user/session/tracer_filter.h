/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of the tracer's system calls. */
#ifndef JANK_SESSION_TRACER_FILTER_H
#define JANK_SESSION_TRACER_FILTER_H

#include "base/syscall_filter.h"
#include "deliver/deliver.h"
#include <stdbool.h>

/* Its own, beyond those of jankbpf-deliver and jankbpf-name. */
extern const struct syscall_list tracer_calls;

/*
 * Forbids all system calls but those of the tracer and of its processes, which may be started again
 * and inherit the filter. Call it after COMMAND and
 * jankbpf-fetch are started, after privileges__drop, and before there are threads. 0, or -errno
 * without a filter; -EOPNOTSUPP: no libseccomp in this build, or no filters in this kernel.
 */
int tracer_filter__start(enum deliver_kind kind, bool control);
/*
 * Then forbids all commands of bpf(2) but those on objects that are open: no program, map or type
 * is loaded, and no object of another process is opened. For all threads; not for a jankbpf-apart
 * that runs. Call it once the probes are loaded and attached. Returns as above.
 */
int tracer_filter__run(enum deliver_kind kind, bool control);

#endif
