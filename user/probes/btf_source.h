/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel's types come from: a file that the user names, the kernel itself
 * (/sys/kernel/btf/vmlinux), or the minimised BTF of a known release, embedded in the program. The
 * first and the last are handed on as a memory file, so that nothing has to lie beside the program,
 * and a file that changes meanwhile does no harm.
 */
#ifndef JANK_PROBES_BTF_SOURCE_H
#define JANK_PROBES_BTF_SOURCE_H

#include "base/err.h"
#include <stdbool.h>

enum btf_origin { BTF_SOURCE_KERNEL, BTF_SOURCE_FILE, BTF_SOURCE_EMBEDDED };

struct btf_source {
	enum btf_origin origin;
	int fd;		/* the memory file, or -1 */
	char path[32];	/* its name, or "" for the kernel's own: see btf_source__path */
	char what[160]; /* for people: "embedded, for 5.10.0-35-cloud-amd64"; one clean line */
};

/*
 * Decides: `file` if not NULL; else the kernel's own if `own` (it has one, and nobody switched it
 * off); else an embedded one for the running kernel's release. 0, or -errno with a message that
 * says what can be done, and JANK_EXIT_CANNOT where there is none, JANK_EXIT_FAILED for a `file`
 * that will not do; *ret is then safe to close all the same.
 */
int btf_source__open(const char *file, bool own, struct btf_source *ret, struct err *err);

/* The same for another release than the running kernel's. */
int btf_source__open_for(const char *file, bool own, const char *release, struct btf_source *ret,
			 struct err *err);

/* For bpf_object_open_opts.btf_custom_path: NULL where libbpf finds the types by itself. */
const char *btf_source__path(const struct btf_source *src);

/* After load, when libbpf has read it. Does nothing the second time. */
void btf_source__close(struct btf_source *src);

#endif
