/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimised BTF of known kernels of this architecture: the files of btf/, made part of the
 * program at build time (mk/btf.mk).
 */
#ifndef JANK_PROBES_BTF_EMBEDDED_H
#define JANK_PROBES_BTF_EMBEDDED_H

#include <stddef.h>

struct btf_embedded {
	const char *release; /* as `uname -r` says it, or a pattern as fnmatch(3) takes it */
	const unsigned char *data;
	size_t size;
};

extern const struct btf_embedded btf_embedded_rows[];
extern const size_t btf_embedded_row_cnt;

/*
 * The row for a release: an exact one before a pattern, the first pattern before the next; or NULL.
 */
const struct btf_embedded *btf_embedded__find(const struct btf_embedded *rows, size_t cnt,
					      const char *release);

#endif
