/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Minimised BTF of known kernels of this architecture: the files of btf/, embedded at build time
 * (mk/btf.mk).
 */
#ifndef JANK_PROBES_BTF_EMBEDDED_H
#define JANK_PROBES_BTF_EMBEDDED_H

#include <stddef.h>

struct btf_embedded {
	const char *release; /* as in `uname -r`, or a pattern of fnmatch(3) */
	const unsigned char *data;
	size_t size;
};

extern const struct btf_embedded btf_embedded_rows[];
extern const size_t btf_embedded_row_cnt;

/*
 * The row for a release, or NULL. An exact match comes before a pattern, an earlier pattern before
 * a later one.
 */
const struct btf_embedded *btf_embedded__find(const struct btf_embedded *rows, size_t cnt,
					      const char *release);

#endif
