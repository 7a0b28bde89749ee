/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of the ring buffer that the BPF probes fill. */
#ifndef JANK_INTAKE_RING_H
#define JANK_INTAKE_RING_H

#include "base/err.h"
#include <stddef.h>

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

#endif
