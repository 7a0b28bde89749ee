/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel's own types (/sys/kernel/btf/vmlinux), read once for all that a start loads.
 * libbpf alone would read all 126,000 of them for each object, and search them again for each name
 * (docs/kernel-facts.md). From one thread at a time.
 */
#ifndef JANK_PROBES_KERNEL_TYPES_H
#define JANK_PROBES_KERNEL_TYPES_H

#include <stdint.h>

struct btf;
struct kernel_types;

/*
 * Reads them. While they live, programs at typed tracepoints and iterators of every object that is
 * opened and loaded find their types here: so only one may live. NULL: errno is set; ENOENT: the
 * kernel has no such file.
 */
struct kernel_types *kernel_types__read(void);

void kernel_types__free(struct kernel_types *types);

/* The type of that name and kind (BTF_KIND_*), or -ENOENT. types NULL: -ENODATA. */
int kernel_types__find(const struct kernel_types *types, const char *name, uint32_t kind);

/* All of them, borrowed. types NULL: NULL. */
const struct btf *kernel_types__all(const struct kernel_types *types);

/*
 * For bpf_object_open_opts.btf_custom_path: a memory file, which kernel_types__choose fills.
 * Borrowed. NULL, so that libbpf reads the types itself: types is NULL, or this process's files may
 * not be that large.
 */
const char *kernel_types__path(const struct kernel_types *types);

/*
 * Puts those types into the file that `wanted` names, and those that they contain; others go. Call
 * between open and load of an object that was opened with kernel_types__path, with the object's own
 * types. 0 or -errno.
 */
int kernel_types__choose(struct kernel_types *types, const struct btf *wanted);

/*
 * Around one object's load: typed programs that it loads between the two may be loaded by threads
 * (program_loads.h). The second one waits for them: 0 or -errno.
 */
void kernel_types__begin_loads(struct kernel_types *types, unsigned threads);
int kernel_types__finish_loads(struct kernel_types *types);

#endif
