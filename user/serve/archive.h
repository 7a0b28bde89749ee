/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zip files by libarchive, which is loaded when a server starts, if it is there. */
#ifndef JANK_SERVE_ARCHIVE_H
#define JANK_SERVE_ARCHIVE_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_file {
	const char *name;
	const struct strbuf *bytes;
};

/* False: this build or this machine has no libarchive. */
bool archive__load(void);
bool archive__is_available(void);

/* Adds a zip with these files, of this wall time, to ret. 0, -ENOSYS: not available; -ENOMEM. */
int archive__zip(const struct archive_file *files, size_t cnt, uint64_t real_ns,
		 struct strbuf *ret);

#endif
