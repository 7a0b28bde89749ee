/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of loops/, compiled into the program (mk/loops.mk). */
#ifndef JANK_CATALOGUE_CATALOGUE_EMBEDDED_H
#define JANK_CATALOGUE_CATALOGUE_EMBEDDED_H

#include <stddef.h>

struct catalogue_embedded {
	const char *name; /* "loops/qt.loop" */
	const unsigned char *text;
	size_t size;
};

extern const struct catalogue_embedded catalogue_embedded_files[];
extern const size_t catalogue_embedded_cnt;

#endif
