/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filter of this process's system calls, by libseccomp: a list of allowed calls. All others fail
 * with ENOSYS, so that the C library uses an older one if it can, or end the process. Threads and
 * processes that start later inherit the filter, also across an exec; their own filters can only
 * forbid more.
 */
#ifndef JANK_BASE_SYSCALL_FILTER_H
#define JANK_BASE_SYSCALL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* A mask of 0 fits every argument. */
struct syscall_arg {
	unsigned nr;	      /* 0 is the first */
	uint64_t mask, value; /* fits if (argument & mask) == value */
};

/* A call that is allowed if both arguments fit. Several rules of one call: any of them. */
struct syscall_rule {
	const char *name;
	struct syscall_arg args[2];
};

struct syscall_list {
	const char *calls; /* names, separated by spaces; others than those of the rules */
	const struct syscall_rule *rules; /* the last has no name; NULL: none */
};

/* For a process that parses hostile input: one that makes another call is not ours any more. */
struct syscall_end {
	_Atomic uint32_t *forbidden; /* gets the number + 1 of the call; for the process's life */
	const char *failing;	     /* names: these fail, because libraries try them; NULL: none */
};

/* For every process: memory without new code, time, the end. */
extern const struct syscall_list syscalls_base;
/* Code from files, which is not writable at the same time: the dynamic loader, also after exec. */
extern const struct syscall_list syscalls_file_code;

/* False: this build has no libseccomp, or the kernel has no filters. */
bool syscall_filter__is_available(void);

/*
 * Allows the calls of all lists, in all threads; the last is NULL. A name that libseccomp or this
 * architecture does not know is ignored. Needs no_new_privs in the calling thread. 0, or -errno
 * without a filter; -EOPNOTSUPP: not available.
 * end: NULL, or then any other call ends the process by SIGSYS.
 */
int syscall_filter__install(const struct syscall_list *const lists[],
			    const struct syscall_end *end);

/* Name of a call of this machine; NULL: not known. The caller frees it. */
char *syscall_filter__call_name(uint32_t nr);

#endif
