/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who plays in a stage's scenarios, and with what, by the names that the table of scenarios has for
 * them: for the truth.
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

/* A thread. Of those that live for one dispatch only: tid 0, and of a process pid 0, too. */
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
	pid_t late_tid; /* set by a handler: the thread that lived in this dispatch only */
};

/* Static strings but for the object's text. More than there is room for are forgotten. */
void actors__add(struct actors *cast, const char *name, pid_t pid, pid_t tid);
void actors__add_object(struct actors *cast, const char *name, const char *type, const char *text);

struct scenario;

/*
 * The parts of a dispatch's record that say who is to blame, each after a comma: what, culprit,
 * chain, preemptors, object; those that there are.
 */
void actors__print(FILE *out, const struct actors *cast, const struct scenario *scenario,
		   pid_t late_tid);

#ifdef __cplusplus
}
#endif
#endif
