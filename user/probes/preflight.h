/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this user trace at all? Asked before anything is opened, so that the answer is one sentence
 * with its remedy and not an EPERM from deep inside.
 */
#ifndef JANK_PROBES_PREFLIGHT_H
#define JANK_PROBES_PREFLIGHT_H

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/* A capability that jankbpf uses; strings for people. */
struct capability {
	int nr; /* CAP_* */
	const char *name;
	bool required;
	const char *purpose, *without;
};

extern const struct capability preflight_caps[];
extern const size_t preflight_cap_cnt;

/* Whether it is effective; CAP_SYS_ADMIN stands for those that were split off from it. */
bool preflight__has_cap(const struct capability *cap);

/*
 * The initial namespace of that kind ("pid", "user"), where the kernel's numbers and powers are
 * ours?
 */
bool preflight__in_initial_ns(const char *kind);

/*
 * Privileges, namespaces and BTF: 0, or -EPERM or -ENOTSUP with JANK_EXIT_CANNOT and the remedy.
 * Mounts tracefs where it isn't and it may; without it tracing goes on by other means.
 */
int preflight__check(struct err *err);

/* 0 when tracefs is mounted, by this call if need be; else -errno with the remedy. */
int preflight__mount_tracefs(struct err *err);
bool preflight__has_tracefs(void);

#endif
