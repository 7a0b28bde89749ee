/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of whose.h only. */
#ifndef JANK_CATALOGUE_WHOSE_PARTS_H
#define JANK_CATALOGUE_WHOSE_PARTS_H

#include "catalogue/whose.h"

#define WHOSE_ADDRESS_MAX 48

struct symbolizer *whose__symbolizer(const struct whose *whose);

/* The wait's own address (0: unknown), then the return addresses among the note's words, at most so many in all. */
size_t whose__addresses(const struct whose *whose, const struct wait_note *note, uint64_t *ret);

#endif
