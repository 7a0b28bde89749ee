/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes over the broker's socket. Both sides run the same program file: structs as they are. */
#ifndef JANK_FILES_BROKER_REQUEST_H
#define JANK_FILES_BROKER_REQUEST_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#define BROKER_TEXT_MAX (2 * PATH_MAX) /* a path and a root, each with its NUL */
#define BROKER_DATA_MAX (64u << 10)

/* The text follows: a path, and behind its NUL the root; or a build id; or addresses. */
struct broker_request {
	uint32_t op; /* enum broker_op */
	uint32_t pid;
	uint64_t at, len; /* of a reading; at: a thread's number; len: of BROKER_PIECES a count */
};

/* The bytes of a reading follow; a descriptor comes with it. */
struct broker_answer {
	int64_t res;   /* 0, the number of bytes, a number, or -errno */
	uint32_t read; /* BROKER_PIECES: a bit for each that was read; the bytes have all */
	struct stat st;
};

#endif
