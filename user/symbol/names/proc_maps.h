/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process, from /proc/PID/maps. */
#ifndef JANK_SYMBOL_NAMES_PROC_MAPS_H
#define JANK_SYMBOL_NAMES_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

struct mapping; /* symbolize.h */
struct module;

enum mapped_kind {
	MAPPED_FILE,
	MAPPED_ANON, /* most likely from a JIT compiler */
	MAPPED_VDSO,
	MAPPED_SPECIAL, /* [vsyscall], [uprobes]: only `path` is known */
};

/* A mapped object, in one or more regions. */
struct mapped {
	UT_hash_handle hh;
	enum mapped_kind kind;
	dev_t dev;
	uint64_t inode;
	uint64_t start, end;	/* of one of its regions: its name in map_files */
	struct module *module;	/* set by the user of this struct; NULL: none */
	char *path;		/* decoded, without " (deleted)"; for a part: "ARCHIVE!/ENTRY" */
	struct mapped *archive; /* the archive that contains this part, in the same maps; or NULL */
	bool is_art_jit;	/* code of Android's JIT compiler, which keeps no frame pointer */
	bool is_archive;	/* its regions were split into parts; it has no module itself */
	uint64_t begin, size;	/* of a part: position in the archive */
	size_t key_len;
	char key[]; /* the line's text from the device on: identifies the object */
};

struct region {
	uint64_t start, end;
	uint64_t offset; /* in the mapped object: in the file, or in its part */
	struct mapped *mapped;
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: before the first reading */
};

/* A region that no longer exists. */
struct past_region {
	struct region region;
	uint64_t until_ns; /* upper limit of its end */
};

#define MAPS_PAST_MAX 128 /* the most recent ones */

struct proc_maps {
	struct region *regions; /* sorted by address */
	size_t cnt, cap;
	size_t line_cnt;
	struct mapped *mapped;	  /* uthash by key */
	struct past_region *past; /* a ring; NULL: none yet */
	size_t past_cnt;	  /* total number ever added */
	uint64_t changed_ns;	  /* end time of the most recent past region */
	uint64_t at_ns;		  /* time for which proc_maps__find searches; 0: now */
};

/*
 * Reads the file. maps must be zeroed; free it in both cases. Returns 0 or -errno (-ESRCH: the file
 * is empty, the process has no memory any more).
 */
int proc_maps__read(struct proc_maps *maps, const char *path);
void proc_maps__free(
	struct proc_maps *maps); /* leaves it empty; the caller releases the modules first */

/* The region that contains an address at maps->at_ns, or NULL. */
const struct region *proc_maps__find(const struct proc_maps *maps, uint64_t addr);

/* Whether the mappings at maps->at_ns differ from the current ones. */
bool proc_maps__is_past(const struct proc_maps *maps);

/*
 * Adds a mapping; regions that it covers become past regions. *ret: the mapped object, without a
 * module when it is new; NULL: known already. Returns 0, -ENOMEM, or -EINVAL: read the maps again
 * (an archive, or too many past regions).
 */
int proc_maps__add(struct proc_maps *maps, const struct mapping *mapping, struct mapped **ret);

/*
 * Takes over the past regions of the reading before. Regions that have disappeared since then
 * become past regions; they ended at now_ns at the latest.
 */
void proc_maps__keep_past(struct proc_maps *maps, struct proc_maps *before, uint64_t now_ns);

/* The same object in another reading of the maps, or NULL. */
struct mapped *proc_maps__same(const struct proc_maps *maps, const struct mapped *mapped);

size_t proc_maps__bytes(const struct proc_maps *maps);

#endif
