/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads, processes and objects that take part in a fixture's scenarios, by their names in the
 * table of scenarios: for the truth.
 */
#ifndef SIMJANK_ACTORS_H
#define SIMJANK_ACTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAST_MEMBER_MAX 160
#define CAST_OBJECT_MAX 16

/* A thread. If it lives for one dispatch only: tid 0, and for a process pid 0, too. */
struct member {
	const char *name;
	pid_t pid, tid;
};

struct object {
	const char *name;
	const char *type; /* "path" or "peer" */
	char text[160];
};

struct actors {
	struct member members[CAST_MEMBER_MAX];
	struct object objects[CAST_OBJECT_MAX];
	size_t member_cnt, object_cnt;
	pid_t late_tid; /* set by a handler: the thread that lived only in this dispatch */
};

/* Strings are static, except the object's text. What does not fit is dropped. */
void actors__add(struct actors *cast, const char *name, pid_t pid, pid_t tid);
void actors__add_object(struct actors *cast, const char *name, const char *type, const char *text);

struct scenario;

/*
 * Prints the parts of a dispatch's record that name the cause, each after a comma, if they are
 * known: what, culprit, chain, preemptors, object.
 */
void actors__print(FILE *out, const struct actors *cast, const struct scenario *scenario,
		   pid_t late_tid);

#ifdef __cplusplus
}
#endif
#endif
