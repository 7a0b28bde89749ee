/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools/loops/table generates the table at build time. */
#include "catalogue/catalogue_embedded.h"

#include "loops_embedded.inc"

const size_t catalogue_embedded_cnt =
	sizeof(catalogue_embedded_files) / sizeof(*catalogue_embedded_files);
