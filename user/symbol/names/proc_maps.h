/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process, from /proc/PID/maps. */
#ifndef JANK_SYMBOL_NAMES_PROC_MAPS_H
#define JANK_SYMBOL_NAMES_PROC_MAPS_H

#include "symbol/names/mapping.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

struct module;

enum mapped_kind {
	MAPPED_FILE,
	MAPPED_ANON, /* of a JIT compiler, most likely */
	MAPPED_VDSO,
	MAPPED_SPECIAL, /* [vsyscall], [uprobes]: `path` is all there is to say */
};

/* Something mapped, maybe by several regions. */
struct mapped {
	UT_hash_handle hh;
	enum mapped_kind kind;
	dev_t dev;
	uint64_t inode;
	uint64_t start, end;	/* of one of its regions: names it in map_files */
	struct module *module;	/* set by the user of this; NULL when there is none */
	char *path;		/* decoded, without " (deleted)"; of a part "ARCHIVE!/ENTRY" */
	struct mapped *archive; /* the file that this is a part of, in the same maps; or NULL */
	bool is_archive;	/* its regions were looked at for parts; has no module of its own */
	uint64_t begin, size;	/* of a part, in the archive */
	size_t key_len;
	char key[]; /* the line's text from the device on: what makes it the same thing */
};

struct region {
	uint64_t start, end;
	uint64_t offset; /* in what is mapped: in the file, or in the part of it */
	struct mapped *mapped;
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: before it was first read */
};

/* One that is there no more. */
struct past_region {
	struct region region;
	uint64_t until_ns; /* at most */
};

#define MAPS_PAST_MAX 128 /* the last ones */

struct proc_maps {
	struct region *regions; /* by address */
	size_t cnt, cap;
	size_t line_cnt;
	struct mapped *mapped;	  /* uthash by key */
	struct past_region *past; /* a ring, NULL: none yet */
	size_t past_cnt;	  /* those that it has had */
	uint64_t changed_ns;	  /* when the last of them ended */
	uint64_t at_ns;		  /* the time that proc_maps__find looks at; 0: now */
};

/* Reads the file. 0 or -errno (-ESRCH: it is empty, the process has no memory any more). maps
 * must be zeroed; free it in both cases. */
int proc_maps__read(struct proc_maps *maps, const char *path);
void proc_maps__free(
	struct proc_maps
		*maps); /* leaves it empty; the modules are the caller's to release before */

/* The region of an address, as of maps->at_ns; NULL: none. */
const struct region *proc_maps__find(const struct proc_maps *maps, uint64_t addr);

/* Whether they were others at maps->at_ns. */
bool proc_maps__is_past(const struct proc_maps *maps);

/*
 * Adds one; what it lies over is past. Gets what was mapped, without a module when it is new; NULL:
 * it is known already. 0, -ENOMEM, or -EINVAL: the maps are to be read again (an archive, or too
 * much that is past).
 */
int proc_maps__add(struct proc_maps *maps, const struct mapping *mapping, struct mapped **ret);

/*
 * Takes what is past from the reading before this one, and what is no longer there (since now_ns at
 * most).
 */
void proc_maps__keep_past(struct proc_maps *maps, struct proc_maps *before, uint64_t now_ns);

/* The same thing in another reading of the maps, or NULL. */
struct mapped *proc_maps__same(const struct proc_maps *maps, const struct mapped *mapped);

/*
 * The part of an archive that a region of it lies in, by where it begins; made when it is new. NULL
 * when out of memory.
 */
struct mapped *proc_maps__part(struct proc_maps *maps, struct mapped *archive,
			       const struct region *region, const char *name, uint64_t begin,
			       uint64_t size);

size_t proc_maps__bytes(const struct proc_maps *maps);

#endif
