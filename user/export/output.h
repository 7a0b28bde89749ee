/* SPDX-License-Identifier: GPL-2.0 */
/* Records leave whole or not at all. */
#ifndef JANK_EXPORT_OUTPUT_H
#define JANK_EXPORT_OUTPUT_H

#include <stddef.h>

/*
 * Writes a whole record at the end of fd, or at its position. 0, or -errno: then of a regular
 * file the part that was written is taken back, file position included. A pipe, socket or
 * terminal can't be taken back: there the record is pushed out until it is complete (a
 * non-blocking one is waited for) or the descriptor fails. The caller ignores SIGPIPE and
 * SIGXFSZ, else they end the program before the errors (EPIPE, EFBIG) are seen.
 */
int output__write(int fd, const void *data, size_t len);

#endif
