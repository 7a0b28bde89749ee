/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File of records in DIR: blocks.jsonl or blocks.pb. It holds whole records, whoever else appends
 * to it and however the last writer ended. Several processes may share a DIR: everything that
 * changes DIR is done under the lock of that file.
 */
#ifndef JANK_EXPORT_RECORD_FILE_H
#define JANK_EXPORT_RECORD_FILE_H

#include "export/stream.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_file {
	int dirfd; /* borrowed */
	int fd;	   /* -1: not open */
	enum record_format format;
	uint64_t whole; /* bytes from the file's begin that are known to be whole records */
};

const char *record_file__name(const struct record_file *file);	   /* "blocks.jsonl" */
const char *record_file__old_name(const struct record_file *file); /* "blocks.1.jsonl" */

/*
 * Opens or makes the file, takes its lock and cuts off a torn last record. -EPERM: it is no regular
 * file of ours.
 */
int record_file__lock(struct record_file *file);
void record_file__unlock(struct record_file *file);

/* These need the lock. */
int record_file__append(struct record_file *file, const void *record, size_t len);
uint64_t record_file__size(const struct record_file *file);
/*
 * The file gets its old name, in place of the one before; the lock is then the new file's.
 */
int record_file__rotate(struct record_file *file);

void record_file__close(struct record_file *file);

/* Of a name in dirfd: a regular file, ours, of one name? Then its size. No link is followed. */
bool own_file__size(int dirfd, const char *name, uint64_t *ret_size);

#endif
