/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the encoder of OTLP (docs/otlp.md). A part makes one message of a batch in
 * an arena. Its data are grouped by resource, in the order in which the batch has them, so that the
 * same batch has the same bytes. One thread at a time for each struct otlp.
 */
#ifndef JANK_EXPORT_OTLP_OTLP_H
#define JANK_EXPORT_OTLP_OTLP_H

#include "export/arena.h"
#include "export/backend.h"
#include "schema/otlp.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTLP_TEXT_MAX 4096	 /* bytes of an attribute's text */
#define OTLP_BODY_MAX (1u << 20) /* bytes of a log record's body */
#define OTLP_TABLES   7		 /* of the dictionary of profiles */

/* A growing array in the arena. */
struct list {
	void **at;
	size_t cnt, cap;
};

/* The data of one resource. */
struct group {
	uint32_t nr; /* in o->resources */
	Otlp__Resource *resource;
	struct list *lists; /* of otlp__list_cnt(): one for each metric; other signals have one */
};

struct otlp {
	struct arena arena;
	const struct batch *batch;
	struct intern *resources;	    /* encoded; number n is groups.at[n - 1] */
	struct list groups;		    /* of struct group */
	struct intern *tables[OTLP_TABLES]; /* made by otlp__number */
};

/* The parts. Each is `encode` of struct backend_part. */
int otlp__logs(const struct batch *batch, struct strbuf *ret);
int otlp__metrics(const struct batch *batch, struct strbuf *ret);
int otlp__profiles(const struct batch *batch, struct strbuf *ret);

/* --- values.c */

/* Adds the message of a part: `make` returns NULL if there is none. 0, -ENODATA or -ENOMEM. */
int otlp__encode(const struct batch *batch, ProtobufCMessage *(*make)(struct otlp *o),
		 struct strbuf *ret);

/* When out of memory, these do not return (longjmp of the arena). */

#define OTLP_NEW(o, type) arena__message(&(o)->arena, &otlp__##type##__descriptor)

void list__add(struct otlp *o, struct list *list, void *item);

/* The number of a key in a table, from 1 on in the order of first calls. */
uint32_t otlp__number(struct otlp *o, size_t table, const void *key, size_t len, bool *ret_new);

/* Text of an attribute: UTF-8, at most OTLP_TEXT_MAX bytes. NULL for NULL. */
char *otlp__text(struct otlp *o, const char *text);

/* OTLP's integers are signed. */
int64_t otlp__int(uint64_t value);

Otlp__AnyValue *otlp__text_value(struct otlp *o, char *text);

/* Each adds an attribute; nothing for a text that is NULL or empty. */
void attr__text(struct otlp *o, struct list *list, const char *key, const char *text);
void attr__int(struct otlp *o, struct list *list, const char *key, uint64_t value);
void attr__double(struct otlp *o, struct list *list, const char *key, double value);
void attr__bool(struct otlp *o, struct list *list, const char *key, bool value);

/* "jankbpf" with its version, as the scope of all data. */
Otlp__InstrumentationScope *otlp__scope(struct otlp *o);

/* --- points.c */

size_t otlp__list_cnt(void); /* of a group */

/* --- resource.c */

/* Where data come from; each may be NULL. */
struct origin {
	const Jankbpf__Host *host;
	const char *process, *unit, *container, *pod;
	const char *service, *version, *namespace, *environment;
	const Jankbpf__Block *block; /* NULL: not of a single process */
};

/* The group of these data, made when it is new. */
struct group *otlp__group(struct otlp *o, const struct origin *origin);

/* All of a block, with its process; a loop of an interval, without it. */
struct origin origin__of_block(const Jankbpf__Block *block);
struct origin origin__of_loop(const Jankbpf__Host *host, const Jankbpf__Loop *loop);

#endif
