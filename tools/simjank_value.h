/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of simjank's options. An invalid value ends the program with status 2. */
#ifndef SIMJANK_VALUE_H
#define SIMJANK_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "simjank_scenario.h"

_Noreturn void usage__fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "40ms", "1.5s", "40": milliseconds where no unit is given; up to 24 h. */
void time__need(const char *name, const char *text, uint64_t *ns);

/* "40ms" or "30ms-120ms", the first len bytes of text. */
void range__need(const char *name, const char *text, size_t len, struct range *range);

uint64_t number__need(const char *name, const char *text, uint64_t min, uint64_t max);

/* The index of the word that the first len bytes of text are. */
unsigned word__need(const char *name, const char *text, size_t len, const char *const *words);

#endif
