/* SPDX-License-Identifier: GPL-2.0 */
/* The executable mappings of a process, from /proc/PID/maps. */
#ifndef JANK_SYMBOL_MAPS_H
#define JANK_SYMBOL_MAPS_H

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
};

struct maps {
	struct region *regions; /* by address */
	size_t cnt, cap;
	size_t line_cnt;
	struct mapped *mapped; /* uthash by key */
};

/* Reads the file. 0 or -errno (-ESRCH: it is empty, the process has no memory any more). maps
 * must be zeroed; free it in both cases. */
int maps__read(struct maps *maps, const char *path);
void maps__free(
	struct maps *maps); /* leaves it empty; the modules are the caller's to release before */

const struct region *maps__find(const struct maps *maps, uint64_t addr);

/* The same thing in another reading of the maps, or NULL. */
struct mapped *maps__same(const struct maps *maps, const struct mapped *mapped);

/* The part of an archive that a region of it lies in, by where it begins; made when it is new. NULL when out of memory. */
struct mapped *maps__part(struct maps *maps, struct mapped *archive, const struct region *region,
			  const char *name, uint64_t begin, uint64_t size);

size_t maps__bytes(const struct maps *maps);

#endif
