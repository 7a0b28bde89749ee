/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the probes: the reader of their ring buffer, and the decoder. */
#ifndef JANK_INTAKE_RECORDS_H
#define JANK_INTAKE_RECORDS_H

#include "base/err.h"
#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

struct ring;

/* fn gets each record; the data is valid only during the call. The caller keeps map_fd. */
int ring__new(int map_fd, void (*fn)(void *ctx, const void *data, size_t len), void *ctx,
	      struct ring **ret, struct err *err);
void ring__free(struct ring *ring);    /* accepts NULL */
int ring__fd(const struct ring *ring); /* readable when the ring holds records */

/*
 * Pass the available records to fn. Traced programs may fill the ring as fast as it is read, so
 * neither call waits until it is empty. ring__consume ends after about 1 MiB (the descriptor stays
 * readable). ring__drain ends when everything that was there at its start is passed on. 0 or
 * -errno.
 */
int ring__consume(struct ring *ring);
int ring__drain(struct ring *ring);

/*
 * --- Decoder: turns records (bytes from BPF or a journal) into events. Only this code casts record
 * bytes to structs. It checks each record against its size, so that later code does not need to.
 */

/*
 * Decodes the record at data (8-byte aligned). 0; -EBADMSG: its size or counts are impossible;
 * -ENOTSUP: a well-formed record of a kind from another version, to be skipped by its size.
 */
int decode__record(const void *data, size_t len, struct event *ret);

const char *record__name(uint16_t kind); /* for messages; "unknown" for other kinds */

#endif
