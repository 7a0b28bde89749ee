/* SPDX-License-Identifier: GPL-2.0 */
/* The logs in a directory, ours alone. */
#ifndef JANK_EXPORT_LISTING_H
#define JANK_EXPORT_LISTING_H

#include <stddef.h>
#include <stdint.h>

struct listed {
	uint64_t mtime_ns, size;
	char name[48];
};

struct listing {
	struct listed *logs; /* oldest first */
	size_t cnt, cap;
	uint64_t bytes;
};

/* Reads dirfd's logs; deletes half-made ones on the way: under the lock nobody is making one. */
int listing__read(struct listing *listing, int dirfd);
void listing__free(struct listing *listing);

#endif
