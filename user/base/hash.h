/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uthash, which does not end the program when memory runs out. If HASH_ADD cannot add an entry, it
 * frees the entry and sets the caller's variable to NULL. So free what the entry owns, or let it
 * own something only afterwards.
 */
#ifndef JANK_BASE_HASH_H
#define JANK_BASE_HASH_H

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry)                                                                 \
	do {                                                                                       \
		free(entry);                                                                       \
		(entry) = NULL;                                                                    \
	} while (0)

#include <uthash.h>

#endif
