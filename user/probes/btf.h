/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types (BTF) and their source: a file from the user, the kernel itself
 * (/sys/kernel/btf/vmlinux), or minimised BTF of a known release, embedded in the program. The
 * first and the last become a memory file. So the program needs no files beside it, and later
 * changes of a file do no harm.
 */
#ifndef JANK_PROBES_BTF_H
#define JANK_PROBES_BTF_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

enum btf_origin { BTF_SOURCE_KERNEL, BTF_SOURCE_FILE, BTF_SOURCE_EMBEDDED };

struct btf_source {
	enum btf_origin origin;
	int fd;		/* the memory file, or -1 */
	char path[32];	/* its name, or "" for the kernel's own: see btf_source__path */
	char what[160]; /* for users: "embedded, for 5.10.0-35-cloud-amd64"; one clean line */
};

/*
 * Chooses the source: `file` if not NULL; else the kernel's own if `own` (it exists and is not
 * switched off); else embedded BTF for the running release. Returns 0, or -errno with a message and
 * a remedy: JANK_EXIT_CANNOT when there is none, JANK_EXIT_FAILED for a bad `file`. Close *ret in
 * both cases.
 */
int btf_source__open(const char *file, bool own, struct btf_source *ret, struct err *err);

/* The same for a release other than the running kernel's. */
int btf_source__open_for(const char *file, bool own, const char *release, struct btf_source *ret,
			 struct err *err);

/* For bpf_object_open_opts.btf_custom_path; NULL: libbpf finds the types itself. */
const char *btf_source__path(const struct btf_source *src);

/* Call after load, when libbpf has read it. A second call does nothing. */
void btf_source__close(struct btf_source *src);

/*
 * --- minimised BTF of known kernels of this architecture: the files of btf/, embedded at build
 * time (mk/btf.mk).
 */

struct btf_embedded {
	const char *release; /* as in `uname -r`, or a pattern of fnmatch(3) */
	const unsigned char *data;
	size_t size;
};

extern const struct btf_embedded btf_embedded_rows[];
extern const size_t btf_embedded_row_cnt;

/*
 * The row for a release, or NULL. An exact match comes before a pattern, an earlier pattern before
 * a later one.
 */
const struct btf_embedded *btf_embedded__find(const struct btf_embedded *rows, size_t cnt,
					      const char *release);

/* --- btf_file.c: reads a kernel's BTF from a user's file: raw, or an ELF file with .BTF */

struct btf;

/*
 * Returns 0: *ret is sound and has what the probes need; or -errno with a message that quotes the
 * file.
 */
int btf_file__read(const char *path, struct btf **ret, struct err *err);

/*
 * --- checks whether a BTF from a user is safe for libbpf
 *
 * libbpf follows every reference: a missing type, or one that contains itself, would crash it.
 */

/*
 * NULL when all referenced names and types exist and no type contains itself; otherwise a text that
 * says what is wrong.
 */
const char *btf_check__unsound(const struct btf *btf);

/*
 * Whether a struct or union, by its id, has a member of that name, directly or in an anonymous
 * member. Only for a sound BTF.
 */
bool btf_check__has_member(const struct btf *btf, int id, const char *name);

/*
 * Whether something is missing that every probe needs; writes its name to buf ("task_struct.pid").
 * Only for a sound BTF.
 */
bool btf_check__lacks(const struct btf *btf, char *buf, size_t len);

#endif
