/* SPDX-License-Identifier: GPL-2.0 */
/* What of a row's messages can be read in one process: its marks in the files that it maps. */
#ifndef JANK_SESSION_FOUND_MARKS_H
#define JANK_SESSION_FOUND_MARKS_H

#include "catalogue/catalogue.h"
#include <stdbool.h>
#include <stdint.h>

/* Prints some lines; verbose: one for each mark. exe may be NULL. */
void found_marks__print(const struct catalogue *cat, const struct catalogue_row *row, uint32_t pid,
			const char *exe, bool verbose);

#endif
