/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DIR/blocks.jsonl: whole lines, whoever else appends to it and however the last one died. Several
 * processes may share a DIR: everything that changes DIR is done under the lock of that file.
 */
#ifndef JANK_EXPORT_RECORDS_H
#define JANK_EXPORT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDS_NAME	 "blocks.jsonl"
#define RECORDS_OLD_NAME "blocks.1.jsonl"

struct records {
	int dirfd; /* borrowed */
	int fd;	   /* -1: not open */
};

/*
 * Opens or makes the file, takes its lock and cuts off a torn last line. -EPERM: it is no regular
 * file of ours.
 */
int records__lock(struct records *records);
void records__unlock(struct records *records);

/* These need the lock. */
int records__append(struct records *records, const void *line, size_t len);
uint64_t records__size(const struct records *records);
/*
 * blocks.jsonl becomes blocks.1.jsonl, in place of the one before; the lock is then the new
 * file's.
 */
int records__rotate(struct records *records);

void records__close(struct records *records);

/* Of a name in dirfd: a regular file, ours, of one name? Then its size. No link is followed. */
bool own_file__size(int dirfd, const char *name, uint64_t *ret_size);

#endif
