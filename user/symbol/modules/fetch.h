/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads of debug files from debuginfod servers, which a thread of their own waits for; each
 * build id is asked for once, whatever the answer. Nothing is asked without DEBUGINFOD_URLS.
 *
 * A traced program chooses its build ids, so it could make us download any file of the server. The
 * limits are: FETCHES_OF_PROCESS and FETCHES_OF_USER requests, FETCHES_MAX in total; those of
 * debuginfod.h for a file; 4 GiB in total. What a limit leaves out is counted: UNREAD_FETCH.
 */
#ifndef JANK_SYMBOL_MODULES_FETCH_H
#define JANK_SYMBOL_MODULES_FETCH_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define FETCHES_MAX	   1024
#define FETCHES_OF_USER	   256
#define FETCHES_OF_PROCESS 64

struct fetch;

/* The process that has mapped the module. */
struct fetch_asker {
	uint32_t pid, uid;
};

/* Who downloads. get: as debuginfod__get; stop (NULL: none): any thread, get returns soon. */
struct fetch_source {
	int (*get)(void *ctx, const char *build_id);
	void (*stop)(void *ctx);
	void *ctx;
};

/*
 * source: copied; NULL: this process downloads. Returns NULL if no servers are set, with a message
 * if there is no library, or if memory is out. The thread starts with the first request.
 */
struct fetch *fetch__new(const struct fetch_source *source, struct err *err);
void fetch__free(struct fetch *fetch); /* accepts NULL; aborts a running download */

/* Requests the debug file of a build id, once. Accepts NULL. */
void fetch__want(struct fetch *fetch, const char *build_id, struct fetch_asker asker);

/*
 * The file of a build id: a descriptor that the caller owns, or -1: not there, or not yet. Accepts
 * NULL.
 */
int fetch__open(struct fetch *fetch, const char *build_id);

/* Increases with each file that arrives. 0 for NULL. */
unsigned fetch__cnt(struct fetch *fetch);

#endif
