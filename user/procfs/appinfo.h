/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process's environment says of its application, by the variables of OpenTelemetry's
 * resource: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES. No other variable is kept.
 */
#ifndef JANK_PROCFS_APPINFO_H
#define JANK_PROCFS_APPINFO_H

#include "model/block.h"
#include <stddef.h>
#include <sys/types.h>

#define APPINFO_VALUE_MAX 256 /* bytes of a value; longer ones are cut at a character */

/*
 * Reads the environment as it was when the program started, which lies in the process's memory,
 * through the helper process (files/apart.h): half a second and 64 KiB at most. Sets the texts of
 * ret but its build id; NULL: not there, or not readable. 0 or -ENOMEM. Any thread except the
 * intake thread.
 */
int appinfo__read(pid_t pid, Jankbpf__Identity *ret);

/*
 * Parses variables that each end in a zero byte; a last one without it is cut off and does not
 * count. 0 or -ENOMEM.
 */
int appinfo__parse(const char *words, size_t len, Jankbpf__Identity *ret);

#endif
