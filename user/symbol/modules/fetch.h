/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from debuginfod servers, when DEBUGINFOD_URLS names some: in a thread of its own,
 * each build id once. They land in the client's usual cache. Without libdebuginfod at build time
 * there is none.
 */
#ifndef JANK_SYMBOL_MODULES_FETCH_H
#define JANK_SYMBOL_MODULES_FETCH_H

#include "base/err.h"
#include <stdbool.h>

struct fetch;

/*
 * NULL: no servers are named, or there is no memory. No thread is started before something is
 * wanted.
 */
struct fetch *fetch__new(struct err *err);
void fetch__free(struct fetch *fetch); /* accepts NULL; breaks off what is under way */

/* Asks for a build id's debug file, if that has not been done. Accepts NULL. */
void fetch__want(struct fetch *fetch, const char *build_id);

/*
 * The file of a build id: a descriptor of the caller's own, or -1: it isn't there, or not yet.
 * Accepts NULL.
 */
int fetch__open(struct fetch *fetch, const char *build_id);

/* Grows with each file that came. 0 for NULL. */
unsigned fetch__cnt(struct fetch *fetch);

#endif
