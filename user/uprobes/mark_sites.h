/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the sites of the catalogue's marks and custom waits in a file: symbol → code → site. */
#ifndef JANK_UPROBES_MARK_SITES_H
#define JANK_UPROBES_MARK_SITES_H

#include "catalogue/catalogue.h"
#include "symbol/elf/elffunc.h"
#include "uprobes/targets.h"
#include <stddef.h>
#include <stdint.h>

/* Why a mark has no site. */
enum mark_absence {
	MARK_THERE,
	MARK_NO_SYMBOL, /* the file has no such symbol: stripped, or another version */
	MARK_NO_CODE,	/* the symbol leads to no code */
	MARK_NO_SITE,	/* no instruction with intact arguments can be probed */
	MARK_TAKEN,	/* an earlier mark, usually of a user's row, has this site */
};

struct mark_site {
	const struct catalogue_row *row;
	unsigned mark; /* index in the catalogue's marks; MARK_SITE_WAIT: the row's wait */
	enum mark_absence absence; /* the fields below are valid only with MARK_THERE */
	enum site_cost cost;
	uint64_t address;     /* of the function, as linked */
	uint64_t file_offset; /* offset for the uprobe of perf_event_open */
};

#define MARK_SITE_WAIT UINT32_MAX

/*
 * All marks and custom waits of the rows that name the file, found or not, in the order of the
 * rows. file->elf must be open. *ret is malloc'ed, owned by the caller. Returns 0, -ENOMEM, or
 * -errno when the file cannot be parsed.
 */
int mark_sites__find(const struct catalogue *cat, const struct catalogue_file *file,
		     struct mark_site **ret, size_t *ret_cnt);

/* Text for users: "the file has no such symbol" … */
const char *mark_absence__text(enum mark_absence absence);

#endif
