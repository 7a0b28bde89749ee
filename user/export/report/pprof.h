/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the pprof report: the profile's tables, which are written as they grow. */
#ifndef JANK_EXPORT_REPORT_PPROF_H
#define JANK_EXPORT_REPORT_PPROF_H

#include "base/gzip.h"
#include "export/report/report.h"
#include "schema/pprof.pb-c.h"

/* Lines of a location: functions that the compiler put into each other. */
#define PPROF_LINES_MAX 32

/* A gzip'ed profile: parts of a Profile message, one after the other, are the message. */
struct pprof_tables {
	struct report_out *out; /* borrowed */
	struct gzip zip;
	struct strbuf plain; /* not compressed yet */
	/* Numbers of texts begin at 1 here and at 0 in the profile; ids are the same. */
	struct intern *texts, *functions, *mappings, *locations;
	struct strbuf text; /* the last one made */
	uint64_t cut_cnt;
};

int pprof_tables__init(struct pprof_tables *tables, struct report_out *out);
void pprof_tables__free(struct pprof_tables *tables);

/* Adds a part of the profile. 0 or -errno. */
int pprof_tables__add(struct pprof_tables *tables, const Perftools__Profiles__Profile *part);
/* Compresses the rest, and ends the file. */
int pprof_tables__end(struct pprof_tables *tables);

/*
 * The number of a text in the string table; text may be NULL or hold any bytes. A text without room
 * is "[cut]".
 */
int64_t pprof__text(struct pprof_tables *tables, const char *text);

/*
 * Sets the locations of a stack, innermost first; ret has room for cnt. Returns their number:
 * inlined frames are lines of the next frame's location.
 */
size_t pprof__locations(struct pprof_tables *tables, Jankbpf__Frame *const *stack, size_t cnt,
			uint64_t *ret);
/* Makes the executable's mapping the first one, which readers take for the program. */
void pprof__main_mapping(struct pprof_tables *tables, const Jankbpf__Block *block);

/* The location of time without a stack. */
uint64_t pprof__no_stack(struct pprof_tables *tables, const char *label);

#endif
