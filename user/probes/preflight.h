/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks whether this user can trace at all, before anything is opened. So the error is one
 * sentence with a remedy, and not an EPERM from deep inside.
 */
#ifndef JANK_PROBES_PREFLIGHT_H
#define JANK_PROBES_PREFLIGHT_H

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/* A capability that jankbpf uses; strings for users. */
struct capability {
	int nr; /* CAP_* */
	const char *name;
	bool required;
	const char *purpose, *without;
};

extern const struct capability preflight_caps[];
extern const size_t preflight_cap_cnt;

/* Whether the capability is effective; CAP_SYS_ADMIN includes those that were split off from it. */
bool preflight__has_cap(const struct capability *cap);

/*
 * Are we in the initial namespace of that kind ("pid", "user")? Elsewhere the kernel's numbers and
 * privileges are not ours.
 */
bool preflight__in_initial_ns(const char *kind);

/* Are the numbers in /proc those of our pid namespace? True without /proc. */
bool preflight__has_own_proc(void);

/*
 * Checks privileges, namespaces and BTF. Mounts tracefs if it is missing and we may; without it
 * tracing works by other means. Returns 0, or -EPERM or -ENOTSUP with JANK_EXIT_CANNOT and the
 * remedy.
 */
int preflight__check(struct err *err);

/*
 * Does /proc/kallsyms show addresses? Not without CAP_SYSLOG, with kptr_restrict=2, or where a
 * container or a service's ProtectKernelTunables=yes hides the file. Without them frames of the
 * kernel have no names.
 */
bool preflight__sees_kernel_addresses(void);

/* Mounts tracefs if needed. Returns 0, or -errno with the remedy. */
int preflight__mount_tracefs(struct err *err);
bool preflight__has_tracefs(void);

#endif
