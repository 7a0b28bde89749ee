/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the ClickHouse of a fleet: the files of deploy/clickhouse/queries, with values in
 * the place of {NAME}, over HTTP; answers as rows. One thread.
 */
#ifndef JANK_FLEET_QUERY_H
#define JANK_FLEET_QUERY_H

#include "base/err.h"
#include "base/strbuf.h"
#include "send/http.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The server that answers. Texts are borrowed. */
struct fleet {
	struct http *http;
	struct http_settings settings;
	const char *const *urls; /* tried in order; each may be several with blanks between */
	size_t url_cnt;
	const char *database;
	unsigned ddl_timeout_s; /* in which all servers do an ON CLUSTER; 0: their own */
};

/* A value for {name}. Texts become literals; the others are put in as they are. */
struct fleet_value {
	const char *name;
	const char *text; /* a text, or NULL: */
	uint64_t number;
	const char *raw; /* NULL; or part of the question: our own words, or of literal__add */
};

/* Adds a literal of SQL: quoted, with everything escaped that could end it. */
void literal__add(struct strbuf *sb, const char *text);

/* Each adds to a list with commas. A number that is none is left out. */
void literal__add_to_list(struct strbuf *list, const char *text);
void number__add_to_list(struct strbuf *list, const char *digits);

/*
 * Adds the question of a name with its values. 0; -ENOMEM; -EINVAL: a {NAME} without a value, or no
 * such question. Comments are left out.
 */
int query__add(struct strbuf *sb, const char *name, const struct fleet_value *values,
	       size_t value_cnt);

/* Takes a row, which it borrows. 0 or -errno, with a message in err. */
typedef int fleet_row_fn(void *ctx, const json_t *row, struct err *err);

/*
 * Asks; each row of the answer goes to take (NULL: the answer has none). 0 or -errno with a
 * message; -ETIMEDOUT: the server's own time was over.
 */
int fleet__ask(struct fleet *fleet, const char *name, const struct fleet_value *values,
	       size_t value_cnt, fleet_row_fn *take, void *ctx, struct err *err);

/* Sets the error of an answer with more rows than are read. Returns it. */
int fleet__too_many(struct err *err, unsigned max, const char *what);

/* Values of a row; "" or 0 for what is missing or has another type. */
const char *row__str(const json_t *row, const char *name);
uint64_t row__u64(const json_t *row, const char *name);
uint64_t value__u64(const json_t *value);

#endif
