/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the marks (and custom waits) of the catalogue's rows lie in a file: symbols → code → sites.
 */
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
	MARK_NO_SITE,	/* no instruction at which the arguments are intact may be probed */
	MARK_TAKEN,	/* a mark before it, of a user's row as a rule, is there */
};

struct mark_site {
	const struct catalogue_row *row;
	unsigned mark; /* index in the catalogue's marks; MARK_SITE_WAIT: the row's wait */
	enum mark_absence absence; /* unless MARK_THERE the rest says nothing */
	enum site_cost cost;
	uint64_t address;     /* the function's, as linked */
	uint64_t file_offset; /* what perf_event_open's uprobe wants */
};

#define MARK_SITE_WAIT UINT32_MAX

/*
 * All marks and custom waits of the rows that name the file (file->elf must be open), found or not,
 * in the order of the rows. *ret is malloc'ed. 0, -ENOMEM, or -errno when the file cannot be
 * understood.
 */
int mark_sites__find(const struct catalogue *cat, const struct catalogue_file *file,
		     struct mark_site **ret, size_t *ret_cnt);

/* "the file has no such symbol" … */
const char *mark_absence__text(enum mark_absence absence);

#endif
