/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder: turns records (bytes from BPF or a journal) into events. Only this code casts record
 * bytes to structs. It checks each record against its size, so that later code does not need to.
 */
#ifndef JANK_INTAKE_DECODE_H
#define JANK_INTAKE_DECODE_H

#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the record at data (8-byte aligned). 0; -EBADMSG: its size or counts are impossible;
 * -ENOTSUP: a well-formed record of a kind from another version, to be skipped by its size.
 */
int decode__record(const void *data, size_t len, struct event *ret);

const char *record__name(uint16_t kind); /* for messages; "unknown" for other kinds */

#endif
