/* SPDX-License-Identifier: GPL-2.0 */
/* A BlockCanary log appears in the directory whole, or not at all. */
#ifndef JANK_EXPORT_LOG_FILE_H
#define JANK_EXPORT_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes a log of this time under a name that no other has, mtime = the time. Under the records'
 * lock.
 */
int log_file__write(int dirfd, const void *log, size_t len, uint64_t real_ns);

#endif
