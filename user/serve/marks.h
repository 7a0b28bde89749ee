/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks were read, and which signatures are muted: kept in the file serve.marks of the
 * directory, a line for each: "read HASH" (record_index__hash of the block's id), or
 * "muted SIGNATURE". Other lines are ignored. One thread.
 */
#ifndef JANK_SERVE_MARKS_H
#define JANK_SERVE_MARKS_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

#define MARKS_READ_MAX (1u << 17) /* beyond it, the oldest marks are dropped */
#define MARKS_MUTE_MAX 1000
#define SIGNATURE_MAX  64 /* hexadecimal digits */

struct read_mark;
struct mute;

struct marks {
	struct read_mark *read;
	struct mute *muted;
	bool changed;	 /* since marks__save */
	int save_error;	 /* -errno of the last marks__save */
	uint64_t due_ns; /* CLOCK_MONOTONIC: when to save; 0: nothing to save */
};

/* Reads the file in dirfd; a missing or too large one is empty. 0 or -errno. */
int marks__load(struct marks *marks, int dirfd);
/* Replaces the file. Errors are kept in save_error, and the marks stay in memory. 0 or -errno. */
int marks__save(struct marks *marks, int dirfd);
void marks__free(struct marks *marks);

bool marks__is_read(const struct marks *marks, uint64_t id);
/* 0 or -ENOMEM. */
int marks__set_read(struct marks *marks, uint64_t id);

/* sig: the hash of a signature. */
bool marks__is_muted(const struct marks *marks, uint64_t sig);
bool marks__is_signature(const char *text);
/* 0; -EINVAL: not a signature; -ENOSPC: too many; -ENOMEM. */
int marks__mute(struct marks *marks, const char *signature, bool on);
/* Calls fn for each muted signature. */
void marks__each_muted(const struct marks *marks, void (*fn)(void *ctx, const char *signature),
		       void *ctx);

/* Forgets the marks of blocks for which is_known returns false. */
void marks__prune(struct marks *marks, bool (*is_known)(void *ctx, uint64_t id), void *ctx);

#endif
