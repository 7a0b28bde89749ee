/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records (bytes from BPF or a journal) become events. The only place that casts wire memory: a
 * record is checked against its size here, so that nothing behind it has to.
 */
#ifndef JANK_INTAKE_DECODE_H
#define JANK_INTAKE_DECODE_H

#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the record at data (8-byte aligned). 0; -EBADMSG: its size or counts are impossible;
 * -ENOTSUP: a kind from another version, well-formed, to be skipped by its size.
 */
int decode__record(const void *data, size_t len, struct event *ret);

const char *record__name(uint16_t kind); /* for messages; "unknown" */

#endif
