/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools/btf/table generates the table at build time; it may be empty. */
#include "probes/btf_embedded.h"

#include <fnmatch.h>
#include <string.h>

#include "btf_embedded.inc"

const size_t btf_embedded_row_cnt = sizeof(btf_embedded_rows) / sizeof(*btf_embedded_rows) - 1;

const struct btf_embedded *btf_embedded__find(const struct btf_embedded *rows, size_t cnt,
					      const char *release)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(rows[i].release, release))
			return &rows[i];
	for (size_t i = 0; i < cnt; i++)
		if (!fnmatch(rows[i].release, release, 0))
			return &rows[i];
	return NULL;
}
